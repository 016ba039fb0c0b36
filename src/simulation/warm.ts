import { ZeroAddress, isAddress, isHexString, toQuantity } from "ethers";
import { bytesToHexString } from "@nomicfoundation/hardhat-utils/hex";
import { setTimeout as sleep } from "node:timers/promises";

import {
  checksumAddress,
  describeInput,
  parseAccount,
  parseAddress,
} from "../client/inputs.js";
import type { AccountLike } from "../client/inputs.js";
import { hexWord } from "../client/words.js";
import { invalidArgument } from "../errors.js";
import type { VaultHost } from "../host.js";
import { asRecord, listOf } from "../json.js";
import type { Address } from "../protocol/index.js";
import type { CallRequest } from "../rpc/calls.js";
import type { RpcClient } from "../rpc/rpc-client.js";
import { findRoute } from "../settlement-call/guarded.js";
import { settlementCall } from "../settlement-call/route.js";
import type { SettlementRoute } from "../settlement-call/route.js";
import { PATIENCE_MS } from "./block-cache.js";
import type { BlockCache } from "./block-cache.js";
import type { UpstreamCall } from "./upstream.js";
import { findContracts, makeWatchList } from "./watch-list.js";
import type { WatchList } from "./watch-list.js";

/** A call whose state a fork fetches beforehand. Nothing is executed on the fork. */
export interface WarmCall {
  readonly to: string;
  /** Call data, 0x hex. */
  readonly data: string;
  /** Default: the sender of reads. */
  readonly from?: AccountLike | undefined;
}

/** Hardhat's own, which it gives a fork: to derive them takes longer than all else here. */
const hardhatsAccounts: readonly Address[] = [
  "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266",
  "0x70997970C51812dc3A010C7d01b50e0d17dc79C8",
  "0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC",
  "0x90F79bf6EB2c4f870365E785982E1f101E93b906",
  "0x15d34AAf54267DB7D7c367839AAf71A00a2C6A65",
  "0x9965507D1a55bcC2695C58ba16FB37d819B0A4dc",
  "0x976EA74026E726554dB657fA54763abd0C3a0aa9",
  "0x14dC79964da2C08b23698B3D3cc7Ca32193d9955",
  "0x23618e81E3f5cdF7f54C3d65f7FBc0aBf5B21E8f",
  "0xa0Ee7A142d267C1f36714E4a8F75612F20a79720",
  "0xBcd4042DE499D14e55001CcbB24a551F3b954096",
  "0x71bE63f3384f5fb98995898A86B02Fb2426c5788",
  "0xFABB0ac9d68B0B445fB7357272Ff202C5651694a",
  "0x1CBd3b2770909D4e10f157cABC84C7264073C9Ec",
  "0xdF3e18d64BC6A983f673Ab319CCaE4f1a57C7097",
  "0xcd3B766CCDd6AE721141F452C550Ca635964ce71",
  "0x2546BcD3c84621e976D8185a91A922aE77ECEc30",
  "0xbDA5747bFD65F08deb54cb465eB87D40e51B197E",
  "0xdD2FD4581271e230360230F9337D5c0430Bf44C0",
  "0x8626f6940E2eb28930eFb4CeF49B2d1F2C9C1199",
];

/** The lens asks it for the number of the block, on any chain. */
const ARB_SYS = "0x0000000000000000000000000000000000000064";

/** State to fetch before it is needed. */
export interface WarmPlan {
  /** Each is made on the state of the block. */
  readonly calls: readonly CallRequest[];
  /** Accounts that are read without a call. */
  readonly accounts: readonly string[];
}

type UnsentCall = Omit<CallRequest, "from"> & Partial<CallRequest>;

/** Plans for a snapshot, a settlement, and the calls of the caller. */
export async function planForFork(
  vault: VaultHost,
  coinbase: Uint8Array,
  block: number,
  more: readonly UnsentCall[],
): Promise<WarmPlan> {
  const { from } = vault.readContext({});
  // As the fork's vault finds it.
  const sender = checksumAddress(
    vault.connection.networkConfig.from ?? hardhatsAccounts[0] ?? from,
  );
  const contracts = await findContracts(vault);
  const holders = hardhatsAccounts;
  const watched = makeWatchList(vault.networkName, contracts, sender, {
    holders,
  });
  const route = contracts.some(({ role }) => role === "vault")
    ? await findRoute(vault, sender, block)
    : undefined;
  const { calls, accounts } = planForSimulation(
    vault,
    coinbase,
    watched,
    route,
  );
  const named = more.map((call) => ({ from, ...call }));
  return { calls: [...calls, ...named], accounts };
}

export function planForSimulation(
  vault: VaultHost,
  coinbase: Uint8Array,
  watched: WatchList,
  route: SettlementRoute | undefined,
): WarmPlan {
  const { from } = vault.readContext({});
  const settlement = route === undefined ? [] : [settlementCall(route)];
  // Of the lens, only the simulator has the code.
  const reads = watched.reads.map(({ target: to, data }) => ({
    from,
    to,
    data,
  }));
  return {
    calls: [...reads, ...settlement],
    accounts: [
      ...watched.accounts,
      from,
      ZeroAddress,
      ARB_SYS,
      bytesToHexString(coinbase),
    ],
  };
}

/** @throws VaultError VAULT_INVALID_ADDRESS, VAULT_INVALID_ARGUMENT */
export function parseWarmCall({ to, data, from }: WarmCall): UnsentCall {
  if (!isHexString(data, true)) {
    throw invalidArgument("warm", `${describeInput(data)} is not 0x hex data`);
  }
  return {
    data,
    to: parseAddress(to, "warm.to"),
    ...(from !== undefined && { from: parseAccount(from, "warm.from") }),
  };
}

/** A place in a contract's storage, with its value. */
export interface Slot {
  readonly address: string;
  readonly slot: string;
  readonly value: string;
}

/**
 * Fills the cache in two steps: accounts and what the calls read, then the values of that.
 * A node answers each step in two batches at a time. Nothing depends on it, and nothing
 * waits for it: what is missing is asked for when it is needed, and by itself. To ask for the
 * seven slots behind each, too, saved 21 % of the waves of a settlement that pays 60
 * orders, for four times as many values, and none where the node has access lists.
 *
 * @returns The storage that the calls read.
 */
export async function warm(
  cache: BlockCache,
  block: number,
  { calls, accounts }: WarmPlan,
): Promise<readonly Slot[]> {
  const at = toQuantity(block);
  const known = new Set(
    [...accounts, ...calls.flatMap(({ from, to }) => [from, to])].map(
      (address) => address.toLowerCase(),
    ),
  );
  const [found] = await Promise.all([
    slotsOf(cache, at, calls),
    // Else the search for slots would go on behind a warming that has ended.
    cache.prefetch(readsOfAccounts(known, at)).catch(() => undefined),
  ]);
  const others = found
    .map(([address]) => address)
    .filter((address) => !known.has(address));
  const places = found.flatMap(([address, slots]) =>
    slots.map((slot) => ({ address, slot })),
  );
  const readOf = ({ address, slot }: Omit<Slot, "value">): UpstreamCall => ({
    method: "eth_getStorageAt",
    params: [address, slot, at],
  });
  await cache.prefetch([
    ...readsOfAccounts(new Set(others), at),
    ...places.map(readOf),
  ]);
  await cache.save();
  return places.flatMap((place) => {
    const value = cache.valueOf(readOf(place));
    return typeof value === "string" ? [{ ...place, value }] : [];
  });
}

/**
 * Puts storage into a fork: the simulator would ask for it over HTTP, one value after the
 * other, which takes ten times as long. What is not there soon, it asks for.
 *
 * @param slots Values of the fork's block.
 */
export async function fill(
  fork: RpcClient,
  slots: Promise<readonly Slot[]>,
): Promise<void> {
  const none: readonly Slot[] = [];
  const late = sleep(PATIENCE_MS, none, { ref: false });
  const found = await Promise.race([slots.catch(() => none), late]);
  await Promise.all(
    found.map(
      async ({ address, slot, value }) =>
        await fork.request("hardhat_setStorageAt", [
          address,
          slot,
          `0x${hexWord(value)}`,
        ]),
    ),
  );
}

function readsOfAccounts(
  addresses: ReadonlySet<string>,
  block: string,
): readonly UpstreamCall[] {
  return [...addresses].flatMap((address) =>
    ["eth_getBalance", "eth_getTransactionCount", "eth_getCode"].map(
      (method) => ({ method, params: [address, block] }),
    ),
  );
}

/** @returns The accounts that the calls read, each with slots of its storage. */
async function slotsOf(
  cache: BlockCache,
  block: string,
  calls: readonly CallRequest[],
): Promise<ReadonlyArray<readonly [string, readonly string[]]>> {
  const ask = async (
    method: string,
    asked: readonly CallRequest[],
    ...more: readonly object[]
  ) => {
    const answers = await cache.ask(
      asked.map((call) => ({ method, params: [call, block, ...more] })),
    );
    return answers.map((answer) =>
      asRecord("result" in answer ? answer.result : undefined),
    );
  };
  const lists = await ask("eth_createAccessList", calls);
  // Some nodes lack the method, others refuse a call that reverts.
  const others = calls.filter(
    (_, index) => !Array.isArray(lists[index]?.["accessList"]),
  );
  const tracer = { tracer: "prestateTracer" };
  const traces = await ask("debug_traceCall", others, tracer);
  const listed = lists
    .flatMap(({ accessList }) => listOf(accessList))
    .map(asRecord)
    .map(({ address, storageKeys }) => [address, listOf(storageKeys)] as const);
  const traced = traces.flatMap(Object.entries).map(([address, state]) => {
    const { storage } = asRecord(state);
    return [address, Object.keys(asRecord(storage))] as const;
  });
  return [...listed, ...traced].flatMap(([address, keys]) =>
    isAddress(address)
      ? [
          [
            address.toLowerCase(),
            // As quantities, which is how the simulator asks for them.
            keys
              .filter((key) => isHexString(key, 32))
              .map((key) => toQuantity(key)),
          ] as const,
        ]
      : [],
  );
}

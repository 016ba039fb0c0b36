import { bytesToHexString } from "@nomicfoundation/hardhat-utils/hex";
import { ZeroAddress, isAddress, isHexString, toQuantity } from "ethers";

import {
  checksumAddress,
  describeInput,
  parseAccount,
  parseAddress,
} from "../client/inputs.js";
import type { AccountLike } from "../client/inputs.js";
import { invalidArgument } from "../errors.js";
import type { VaultHost } from "../host.js";
import { asRecord, listOf } from "../json.js";
import type { CallRequest } from "../rpc/calls.js";
import { findRoute, settlementCall } from "../guard/call.js";
import type { SettlementRoute } from "../guard/call.js";
import type { Memo, UpstreamCall } from "./memo.js";
import { findContracts, makeWatchList } from "./watch-list.js";
import type { Watched } from "./engines/engine.js";

/** A call whose state a fork fetches beforehand. Nothing is executed on the fork. */
export interface WarmCall {
  readonly to: string;
  /** Call data, 0x hex. */
  readonly data: string;
  /** Default: the sender of reads. */
  readonly from?: AccountLike | undefined;
}

/** Hardhat's own, which it gives a fork: to derive them takes longer than all else here. */
const hardhatsAccounts: readonly string[] = [
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
  const sender = checksumAddress(
    vault.connection.networkConfig.from ?? hardhatsAccounts[0] ?? from,
  );
  const contracts = await findContracts(vault);
  const watched = makeWatchList(vault.networkName, contracts, sender, {});
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
  return {
    calls: [...calls, ...named],
    accounts: [...accounts, ...hardhatsAccounts],
  };
}

export function planForSimulation(
  vault: VaultHost,
  coinbase: Uint8Array,
  watched: Watched,
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

/**
 * Fetches what calls read, in two steps: the access lists of the calls, then the values that
 * they name. The fork works without it: what is missing is read when it is needed.
 */
export async function warm(
  memo: Memo,
  block: number,
  { calls, accounts }: WarmPlan,
): Promise<void> {
  const at = toQuantity(block);
  const [lists] = await Promise.all([
    memo.ask(
      calls.map((call) => ({
        method: "eth_createAccessList",
        params: [call, at],
      })),
    ),
    memo.probe(),
  ]);
  const listed = lists
    .flatMap((list) => listOf(asRecord(list)["accessList"]))
    .map(asRecord)
    .flatMap(({ address, storageKeys }) =>
      isAddress(address)
        ? [{ address: address.toLowerCase(), keys: listOf(storageKeys) }]
        : [],
    );
  const known = [
    ...[...accounts, ...calls.flatMap(({ from, to }) => [from, to])],
    ...listed.map(({ address }) => address),
  ].map((address) => address.toLowerCase());
  const ofAccounts = [...new Set(known)].flatMap((address) =>
    ["eth_getBalance", "eth_getTransactionCount", "eth_getCode"].map(
      (method): UpstreamCall => ({ method, params: [address, at] }),
    ),
  );
  const slots = new Set(
    listed.flatMap(({ address, keys }) =>
      keys
        .filter((key) => isHexString(key, 32))
        .map((key) => `${address} ${key}`),
    ),
  );
  const ofStorage = [...slots].map((slot): UpstreamCall => ({
    method: "eth_getStorageAt",
    params: [...slot.split(" "), at],
  }));
  await memo.fetch([...ofAccounts, ...ofStorage]);
}

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
import { findRoute } from "../settlement-call/guarded.js";
import { settlementCall } from "../settlement-call/route.js";
import type { SettlementRoute } from "../settlement-call/route.js";
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

/** The first of Hardhat's own accounts, which settles on a fork unless told otherwise. */
const FIRST_ACCOUNT = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266";

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
    vault.connection.networkConfig.from ?? FIRST_ACCOUNT,
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
  return { calls: [...calls, ...named], accounts };
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

import { ZeroAddress, isHexString } from "ethers";
import { bytesToHexString } from "@nomicfoundation/hardhat-utils/hex";

import { describeInput, parseAccount, parseAddress } from "../client/inputs.js";
import type { AccountLike } from "../client/inputs.js";
import { invalidArgument } from "../errors.js";
import type { VaultHost } from "../host.js";
import type { CallRequest } from "../rpc/rpc-client.js";
import { settlementCall } from "./engine.js";
import { findRoute } from "./guarded.js";
import type { Needs } from "./warm.js";
import { findContracts, makeWatchList, readsOf } from "./watch-list.js";
import type { WatchList } from "./watch-list.js";

/** A call whose state a fork fetches beforehand. Nothing is executed on the fork. */
export interface WarmCall {
  readonly to: string;
  /** Call data, 0x hex. */
  readonly data: string;
  /** Default: the sender of reads. */
  readonly from?: AccountLike | undefined;
}

/** The lens asks it for the number of the block, on any chain. */
const ARB_SYS = "0x0000000000000000000000000000000000000064";

type NamedCall = Omit<CallRequest, "from"> & Partial<CallRequest>;

/** The state that a snapshot, a settlement, and the calls of the caller read. */
export async function needsOfFork(
  vault: VaultHost,
  coinbase: Uint8Array,
  more: readonly NamedCall[],
): Promise<Needs> {
  const { from } = vault.readContext({});
  const [contracts, sender] = await Promise.all([
    findContracts(vault),
    vault.defaultSender(),
  ]);
  const target = contracts.find(({ role }) => role === "vault");
  const watched = makeWatchList(contracts, sender, {});
  const needs = needsOfReads(vault, coinbase, watched);
  const settlement =
    target === undefined
      ? []
      : [settlementCall(await findRoute(vault, sender))];
  const named = more.map((call) => ({ from, ...call }));
  return { ...needs, calls: [...needs.calls, ...settlement, ...named] };
}

export function needsOfReads(
  vault: VaultHost,
  coinbase: Uint8Array,
  watched: WatchList,
): Needs {
  const { from } = vault.readContext({});
  return {
    // The first read is of the lens, which only the simulator has.
    calls: readsOf(watched, from)
      .slice(1)
      .map(({ target: to, data }) => ({ from, to, data })),
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
export function parseWarmCall({ to, data, from }: WarmCall): NamedCall {
  if (!isHexString(data, true)) {
    throw invalidArgument("warm", `${describeInput(data)} is not 0x hex data`);
  }
  return {
    data,
    to: parseAddress(to, "warm.to"),
    ...(from !== undefined && { from: parseAccount(from, "warm.from") }),
  };
}

import { Buffer } from "node:buffer";

import { decodeAnswer } from "../client/answer.js";
import type { LocatedAddress } from "../client/addresses.js";
import { encodeCall } from "../client/codec.js";
import type { EncodedCall } from "../client/codec.js";
import { failedReading, isFailedReading } from "../client/failed-reading.js";
import {
  countFactsCalls,
  factsCalls,
  parseFacts,
} from "../client/lens/rehearsal-lens.js";
import type { LensFacts } from "../client/lens/rehearsal-lens.js";
import type { ReadCall } from "../client/lens/lens.js";
import { prepareReading } from "../client/snapshot.js";
import { VaultError } from "../errors.js";
import type { VaultHost } from "../host.js";
import { standaloneReadings } from "../protocol/index.js";
import type { VaultRound } from "../protocol/index.js";
import { invalidResponse } from "../rpc/errors.js";
import { RevertedCall } from "../rpc/request.js";
import { decodeRevertReason } from "../rpc/revert-reason.js";
import type { RevertReason } from "../rpc/revert-reason.js";
import { NATIVE, encodeBalanceOf, parseTokenBalance } from "./balances.js";
import type { Balance, BalanceSubjects } from "./balances.js";
import { compareValues } from "./compare-readings.js";
import type { StateSubjects } from "./compare-readings.js";
import type { ReadingChange } from "./types.js";

/** A reading that is taken before and after. */
export interface WatchedReading {
  /** As in `round` or `orders.7`. */
  readonly reading: string;
  readonly call: EncodedCall;
  readonly target: LocatedAddress;
}

/** All that is read before and after a settlement. */
export interface WatchList extends StateSubjects {
  /** Those whose contract is known. */
  readonly readings: readonly WatchedReading[];
  readonly orders: readonly WatchedReading[];
  /** The contracts that are read or called, each once. */
  readonly contracts: readonly string[];
  /** Those and the accounts, each once: whom the lens is asked about. */
  readonly witnessed: readonly string[];
}

/** What a node answered to one of the reads. */
export interface ReadAnswer {
  readonly succeeded: boolean;
  /** What it returned or reverted with, 0x hex. */
  readonly data: string;
}

/** The answers to all reads, in the order of {@link readsOf}. */
export type ReadAnswers = readonly ReadAnswer[];

/**
 * Finds out where everything that is watched is read.
 *
 * @param target The contract that is to settle.
 * @throws VaultError that only a defect of ours has
 */
export async function makeWatchList(
  vault: VaultHost,
  target: LocatedAddress,
  subjects: StateSubjects,
): Promise<WatchList> {
  const { orderIDs } = subjects;
  const [prepared, trading] = await Promise.all([
    Promise.all(
      standaloneReadings.map(
        async (reading) => await prepareReading(vault, reading),
      ),
    ),
    orderIDs.length === 0 ? undefined : findTrading(vault),
  ]);
  const readings = prepared.flatMap((reading) =>
    "call" in reading
      ? [
          {
            reading: reading.path.join("."),
            call: reading.call,
            target: reading.target,
          },
        ]
      : [],
  );
  const orders =
    trading === undefined
      ? []
      : orderIDs.map((orderID) => ({
          reading: `orders.${orderID}`,
          call: encodeCall("getOrderInfo", [orderID]),
          target: trading,
        }));
  const contracts = [
    ...new Set([
      target.address,
      ...[...readings, ...orders].map((watched) => watched.target.address),
    ]),
  ];
  return {
    ...subjects,
    readings,
    orders,
    contracts,
    witnessed: [...new Set([...contracts, ...subjects.accounts])],
  };
}

async function findTrading(
  vault: VaultHost,
): Promise<LocatedAddress | undefined> {
  try {
    return await vault.addressOf("trading");
  } catch (error) {
    if (!VaultError.isVaultError(error) || error.kind === "bug") {
      throw error;
    }
    return undefined;
  }
}

/**
 * The calls that take all of it, but for the orders.
 *
 * @param lens Where code is that knows native balances and sizes of code.
 */
export function readsOf(list: WatchList, lens: string): readonly ReadCall[] {
  return [
    ...list.readings.map(readOf),
    ...factsCalls(lens, list.witnessed),
    ...tokenBalancesOf(list).map(({ account, token }) => ({
      target: token,
      data: encodeBalanceOf(account),
    })),
  ];
}

/**
 * What the lens says, among the answers to {@link readsOf}.
 *
 * @returns Undefined where it was not the lens that answered.
 */
export function factsOf(
  { readings, witnessed }: WatchList,
  answers: ReadAnswers,
): LensFacts | undefined {
  return parseFacts(
    answers
      .slice(readings.length, readings.length + countFactsCalls(witnessed))
      .map(({ succeeded, data }) =>
        succeeded ? Buffer.from(data.slice(2), "hex") : undefined,
      ),
    witnessed,
  );
}

/** The call that takes one reading. */
export function readOf({ call, target }: WatchedReading): ReadCall {
  return { target: target.address, data: call.data };
}

/** What the answers before and after come to. */
export interface Compared {
  readonly roundBefore: VaultRound | undefined;
  readonly roundAfter: VaultRound | undefined;
  readonly changes: readonly ReadingChange[];
  readonly before: readonly Balance[];
  readonly after: readonly Balance[];
  /** Those of the contracts that are none. */
  readonly withoutCode: readonly string[];
}

/**
 * Decodes what differs, and the round.
 *
 * @param before Of {@link readsOf}, and then of the orders.
 * @throws VaultError VAULT_NOT_A_TOKEN, VAULT_RPC_INVALID_RESPONSE
 */
export async function compareAnswers(
  vault: VaultHost,
  list: WatchList,
  blockNumber: number,
  before: ReadAnswers,
  after: ReadAnswers,
): Promise<Compared> {
  const { readings, orders, contracts, witnessed, accounts, tokens } = list;
  const reasons = await explainAll(vault, [...before, ...after]);
  const rawAnswer = ({
    succeeded = false,
    data = "0x",
  }: Partial<ReadAnswer> = {}): string | RevertedCall =>
    succeeded
      ? data
      : new RevertedCall(reasons.get(data) ?? decodeRevertReason(data));
  const firstToken = readings.length + countFactsCalls(witnessed);
  const firstOrder = firstToken + accounts.length * tokens.length;
  const [factsBefore, factsAfter] = [
    factsOf(list, before),
    factsOf(list, after),
  ];
  const hasCode = (contract: string): boolean =>
    factsBefore?.accounts.get(contract)?.hasCode !== false;
  const valueOf = (
    { call, target }: WatchedReading,
    answer: ReadAnswer | undefined,
  ): unknown =>
    decode(vault, {
      call,
      target,
      raw: rawAnswer(answer),
      blockNumber,
      hasCode: hasCode(target.address),
    });
  const changesOf = (
    watched: readonly WatchedReading[],
    first: number,
  ): readonly ReadingChange[] =>
    watched.flatMap((reading, index) => {
      const [one, other] = [before[first + index], after[first + index]];
      return one?.data === other?.data && one?.succeeded === other?.succeeded
        ? []
        : compareValues(
            reading.call.operation,
            reading.reading,
            valueOf(reading, one),
            valueOf(reading, other),
          );
    });
  const roundIndex = readings.findIndex(({ reading }) => reading === "round");
  const roundOf = (answers: ReadAnswers): VaultRound | undefined => {
    const watched = readings[roundIndex];
    if (watched === undefined) {
      return undefined;
    }
    const value = valueOf(watched, answers[roundIndex]);
    // eslint-disable-next-line @typescript-eslint/consistent-type-assertions -- what getLatestRoundInfo decodes to, if it does
    return isFailedReading(value) ? undefined : (value as VaultRound);
  };
  const balances = (
    answers: ReadAnswers,
    facts: LensFacts | undefined,
  ): readonly Balance[] =>
    accounts.flatMap((account, index) => {
      const amount = facts?.accounts.get(account)?.balance;
      if (amount === undefined) {
        // Our own code says it, where the node lets it.
        throw invalidResponse(
          vault.networkName,
          "eth_call",
          "no native balance",
        );
      }
      return [
        { account, token: NATIVE, amount },
        ...tokens.map((token, place) => ({
          account,
          token,
          amount: parseTokenBalance(
            rawAnswer(answers[firstToken + index * tokens.length + place]),
            token,
            vault.networkName,
          ),
        })),
      ];
    });
  return {
    roundBefore: roundOf(before),
    roundAfter: roundOf(after),
    changes: [...changesOf(readings, 0), ...changesOf(orders, firstOrder)],
    before: balances(before, factsBefore),
    after: balances(after, factsAfter),
    withoutCode: contracts.filter((contract) => !hasCode(contract)),
  };
}

/** Account by account, as {@link readBalances} has them. */
function tokenBalancesOf({ accounts, tokens }: BalanceSubjects): ReadonlyArray<{
  readonly account: string;
  readonly token: string;
}> {
  return accounts.flatMap((account) =>
    tokens.map((token) => ({ account, token })),
  );
}

function decode(
  { networkName: network }: VaultHost,
  {
    call,
    target,
    raw,
    blockNumber,
    hasCode,
  }: Omit<WatchedReading, "reading"> & {
    readonly raw: string | RevertedCall;
    readonly blockNumber: number;
    readonly hasCode: boolean;
  },
): unknown {
  try {
    return decodeAnswer({
      call,
      target,
      network,
      blockTag: `0x${blockNumber.toString(16)}`,
      answer:
        raw instanceof RevertedCall ? raw : Buffer.from(raw.slice(2), "hex"),
      hasCode,
    });
  } catch (error) {
    return failedReading(error);
  }
}

/** Why the failed ones failed, by what they reverted with. */
async function explainAll(
  vault: VaultHost,
  answers: ReadAnswers,
): Promise<ReadonlyMap<string, RevertReason>> {
  const failed = new Set(
    answers.flatMap(({ succeeded, data }) => (succeeded ? [] : [data])),
  );
  const reasons = new Map<string, RevertReason>();
  for (const data of failed) {
    reasons.set(data, await vault.explain(decodeRevertReason(data)));
  }
  return reasons;
}

import { Buffer } from "node:buffer";

import { decodeAnswer } from "../client/answer.js";
import type { LocatedAddress } from "../client/addresses.js";
import { encodeCall } from "../client/codec.js";
import type { EncodedCall } from "../client/codec.js";
import { absentContract, failedReading } from "../client/failed-reading.js";
import {
  NOBODYS_ADDRESS,
  factsCall,
  parseFacts,
  rehearsalLensCode,
} from "../client/lens/rehearsal-lens.js";
import type { LensFacts } from "../client/lens/rehearsal-lens.js";
import type { ReadCall } from "../client/lens/lens.js";
import { prepareReading } from "../client/snapshot.js";
import { assertInvariant } from "../errors.js";
import type { VaultHost } from "../host.js";
import { standaloneReadings } from "../protocol/index.js";
import { invalidResponse, isNodeRefusal } from "../rpc/errors.js";
import { toBlockId } from "../rpc/node.js";
import { RevertedCall } from "../rpc/request.js";
import { decodeRevertReason } from "../rpc/revert-reason.js";
import {
  NATIVE,
  balancesOf,
  encodeBalanceOf,
  parseTokenBalance,
} from "./balances.js";
import { orderName } from "./compare-readings.js";
import type { ChainState, StateSubjects } from "./compare-readings.js";

/** A reading that is taken before and after. */
export interface WatchedReading {
  readonly reading: string;
  readonly call: EncodedCall;
  readonly target: LocatedAddress;
}

/** All that is read before and after a settlement. */
export interface WatchList extends StateSubjects {
  /** Those whose contract is known. */
  readonly readings: readonly WatchedReading[];
  readonly orders: readonly WatchedReading[];
  /**
   * The accounts, and the contracts that are read or called, each once: whom
   * the lens is asked about.
   */
  readonly witnessed: readonly string[];
}

/** What a node answered to the reads, in the order of {@link readsOf}. */
export type ReadAnswers = ReadonlyArray<Buffer | RevertedCall>;

/**
 * Finds out where everything that is watched is read.
 *
 * @param target The contract that is to settle.
 * @throws VaultError why a configured address cannot be used, as in
 * VAULT_INVALID_ADDRESS
 */
export async function makeWatchList(
  vault: VaultHost,
  target: LocatedAddress,
  subjects: StateSubjects,
): Promise<WatchList> {
  const { orderIDs, accounts } = subjects;
  const [prepared, trading] = await Promise.all([
    Promise.all(
      standaloneReadings.map(
        async (reading) => await prepareReading(vault, reading),
      ),
    ),
    orderIDs.length === 0
      ? undefined
      : vault.addressOf("trading").catch(absentContract),
  ]);
  const readings = prepared.flatMap((reading) => {
    if ("error" in reading) {
      absentContract(reading.error);
      return [];
    }
    return [
      {
        reading: reading.path.join("."),
        call: reading.call,
        target: reading.target,
      },
    ];
  });
  const orders =
    trading === undefined || "error" in trading
      ? []
      : orderIDs.map((orderID) => ({
          reading: orderName(orderID),
          call: encodeCall("getOrderInfo", [orderID]),
          target: trading,
        }));
  const contracts = [
    target,
    ...[...readings, ...orders].map((of) => of.target),
  ];
  return {
    ...subjects,
    readings,
    orders,
    witnessed: [
      ...new Set([...contracts.map(({ address }) => address), ...accounts]),
    ],
  };
}

/**
 * The calls that take all of it, orders last.
 *
 * @param lens Where code is that knows native balances and sizes of code.
 */
export function readsOf(list: WatchList, lens: string): readonly ReadCall[] {
  const readOf = ({ call, target }: WatchedReading): ReadCall => ({
    target: target.address,
    data: call.data,
  });
  return [
    ...list.readings.map(readOf),
    factsCall(lens, list.witnessed),
    ...balancesOf(list)
      .filter(({ token }) => token !== NATIVE)
      .map(({ account, token }) => ({
        target: token,
        data: encodeBalanceOf(account),
      })),
    ...list.orders.map(readOf),
  ];
}

/** How Hardhat's simulator says that a contract failed without a revert. */
const executionFailure =
  /out of ?gas|opcode|EVM error|stack (?:under|over)flow|jump|instruction/iu;

/**
 * Reads all of it on a network in this process, a call each.
 *
 * @throws VaultError those of {@link stateOf} and those of a failed request; a
 * contract that fails is a reading
 */
export async function readState(
  vault: VaultHost,
  list: WatchList,
  blockNumber: number,
): Promise<ChainState> {
  const { chain } = vault;
  const { from } = vault.readContext({});
  const method = "eth_call";
  const answers = readsOf(list, NOBODYS_ADDRESS).map(
    async ({ target: to, data }) => {
      const lens = { [NOBODYS_ADDRESS]: { code: rehearsalLensCode } };
      try {
        const answer = await chain.request(method, [
          { from, to, data },
          toBlockId(blockNumber),
          ...(to === NOBODYS_ADDRESS ? [lens] : []),
        ]);
        return answer instanceof RevertedCall
          ? answer
          : chain.reader(method).bytes(answer);
      } catch (error) {
        if (
          isNodeRefusal(error) &&
          executionFailure.test(String(error.details["problem"]))
        ) {
          return new RevertedCall(decodeRevertReason("0x"));
        }
        throw error;
      }
    },
  );
  return stateOf(vault, list, await Promise.all(answers));
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
  return parseFacts(answers[readings.length], witnessed);
}

/**
 * What the answers come to.
 *
 * @param answers Those to {@link readsOf}.
 * @throws VaultError VAULT_NOT_A_TOKEN, VAULT_RPC_INVALID_RESPONSE
 */
export function stateOf(
  { networkName: network }: VaultHost,
  list: WatchList,
  answers: ReadAnswers,
): ChainState {
  const { readings, orders, accounts, tokens } = list;
  const facts = factsOf(list, answers);
  if (facts === undefined) {
    // Our own code says it, where the node lets it.
    throw invalidResponse(network, "eth_call", "no native balance");
  }
  const firstToken = readings.length + 1;
  const firstOrder = firstToken + accounts.length * tokens.length;
  const ofTokens = answers.slice(firstToken, firstOrder);
  const valueOf = (
    { call, target }: WatchedReading,
    place: number,
  ): unknown => {
    const answer = answers[place];
    assertInvariant(answer !== undefined, "a read without an answer");
    const hasCode = facts.accounts.get(target.address)?.hasCode !== false;
    try {
      return decodeAnswer({ call, target, network, answer, hasCode });
    } catch (error) {
      return failedReading(error);
    }
  };
  return {
    chainId: facts.block.chainId,
    readings: new Map([
      ...readings.map(
        (watched, index) => [watched.reading, valueOf(watched, index)] as const,
      ),
      ...orders.map(
        (watched, index) =>
          [watched.reading, valueOf(watched, firstOrder + index)] as const,
      ),
    ]),
    balances: accounts.flatMap((account, row) => {
      const native = facts.accounts.get(account);
      assertInvariant(native !== undefined, "an account without a balance");
      return [
        { account, token: NATIVE, amount: native.balance },
        ...tokens.map((token, column) => {
          const answer = ofTokens[row * tokens.length + column];
          assertInvariant(answer !== undefined, "a read without an answer");
          const amount = parseTokenBalance(rawOf(answer), token, network);
          return { account, token, amount };
        }),
      ];
    }),
  };
}

/** As it went over the wire, but for a revert. */
function rawOf(answer: ReadAnswers[number]): unknown {
  return answer instanceof Buffer ? `0x${answer.toString("hex")}` : answer;
}

import { operations } from "../../src/client/index.js";
import type { Eip1193Provider } from "../../src/rpc/eip1193.js";
import { documentedAnswer, documentedNode } from "./documented-node.js";
import type { ContractAnswer, ContractCall } from "./scripted-contracts.js";

/** The newest block of the node. */
export const HEAD = 40;

/** Digits. */
const WORD = 64;

/** Answers of contracts to a call, as 0x hex or as "revert". */
export type Said = (call: Partial<ContractCall>) => readonly string[];

/**
 * A node that tells truly what its contracts say, and what they said to it.
 *
 * @param hasHistory Whether the round was another one each seven blocks.
 * @param change Makes what a contract says of the documented answer.
 */
export function honestNode(
  overrides: boolean,
  hasHistory: boolean,
  change: (answer: ContractAnswer, call: ContractCall) => ContractAnswer,
): { readonly node: Eip1193Provider; readonly said: Said } {
  const all: Array<ContractCall & { readonly answer: string }> = [];
  const node = documentedNode({
    head: HEAD,
    overrides,
    answerOf: (call) => {
      const isRound = call.data === operations.getLatestRoundInfo.selector;
      const { data, reverted } = change(
        isRound ? roundAt(call, hasHistory) : documentedAnswer(call),
        call,
      );
      // No contract returns half a byte.
      const whole = data.length % 2 === 0 ? data : `${data}0`;
      all.push({ ...call, answer: reverted ? "revert" : whole });
      return { reverted, data: whole };
    },
  });
  const said: Said = ({ to, data, block, phase }) =>
    all
      .filter(
        (call) =>
          call.to.toLowerCase() === to?.toLowerCase() &&
          call.data === data &&
          (block === undefined || call.block === block) &&
          (phase === undefined || call.phase === phase),
      )
      .map(({ answer }) => answer);
  return { node, said };
}

/** The round at a block, which is settled after a simulated settlement only. */
function roundAt(call: ContractCall, hasHistory: boolean): ContractAnswer {
  const { reverted, data } = documentedAnswer(call);
  const startTime = Math.floor(call.block / 7) + 1;
  const place = 2 + 5 * WORD;
  const dated = hasHistory
    ? `${data.slice(0, place)}${hexWord(startTime)}${data.slice(place + WORD)}`
    : data;
  const settled = hexWord(call.phase === "after" ? 1 : 0);
  return { reverted, data: `${dated.slice(0, -WORD)}${settled}` };
}

const hexWord = (value: number): string =>
  value.toString(16).padStart(WORD, "0");

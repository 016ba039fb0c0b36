import { Interface } from "ethers";

import {
  RehearsalLensArtifact,
  VaultLensArtifact,
} from "../../src/client/lens/artifact.js";
import { operations } from "../../src/protocol/index.js";
import type { Eip1193Provider } from "../../src/rpc/eip1193.js";
import { fieldsOf, listOf } from "./fields.js";
import { decodeArguments, selectorOf } from "./scripted-node.js";
import type { ContractCall } from "./scripted-node.js";

const lens = new Interface(VaultLensArtifact.abi);
const rehearsalLens = new Interface(RehearsalLensArtifact.abi);

/** Hex digits of the two lenses' headers. */
const LENS_HEADER = 4 * 64;
const REHEARSAL_HEADER = 10 * 64;

type Asked = Parameters<Eip1193Provider["request"]>[0];

/**
 * Keeps what a node said to each call of a contract, wherever it was in an
 * answer, so that what is made of it can be compared. Takes answers apart by
 * itself, and without looking whether they are whole.
 */
export class Witness {
  readonly #said: Array<ContractCall & { readonly said: string }> = [];

  /** All that was said to a call, as 0x hex or as "revert". */
  public said(call: Partial<ContractCall>): readonly string[] {
    return this.#said
      .filter(
        ({ to, data, block, phase }) =>
          (call.to === undefined || call.to.toLowerCase() === to) &&
          (call.data === undefined || call.data === data) &&
          (call.block === undefined || call.block === block) &&
          (call.phase === undefined || call.phase === phase),
      )
      .map(({ said }) => said);
  }

  public note({ method, params = [] }: Asked, answer: unknown): void {
    if (method === "eth_simulateV1") {
      this.#noteSimulation(params, answer);
    } else if (method === "eth_call" && typeof answer === "string") {
      this.#noteCall(params, answer);
    }
  }

  #noteCall(params: readonly unknown[], answer: string): void {
    const { to, data } = fieldsOf(params[0]);
    const input = String(data);
    const block = Number(params[1]);
    const digits = answer.slice(2);
    const noteEntries = (
      from: number,
      until: number,
      calls: unknown,
      phase: ContractCall["phase"] = "before",
    ): void => {
      this.#noteEntries(digits.slice(from, until), calls, block, phase);
    };
    switch (params.length < 3 ? undefined : input.slice(0, 10)) {
      case selectorOf(lens, "readCalls"): {
        const [calls] = decodeArguments(lens, "readCalls", input);
        noteEntries(LENS_HEADER, digits.length, calls);
        break;
      }
      case selectorOf(lens, "readOrders"): {
        const [trading, first, count] = decodeArguments(
          lens,
          "readOrders",
          input,
        );
        const calls = Array.from({ length: Number(count) }, (_, index) => [
          trading,
          `${operations.getOrderInfo.selector}${(
            BigInt(String(first)) + BigInt(index)
          )
            .toString(16)
            .padStart(64, "0")}`,
        ]);
        noteEntries(LENS_HEADER, digits.length, calls);
        break;
      }
      case selectorOf(rehearsalLens, "rehearse"): {
        const [, calls] = decodeArguments(rehearsalLens, "rehearse", input);
        const [returned = 0, before = 0, after = 0] = [7, 8, 9].map(
          (index) =>
            2 * Number(`0x${digits.slice(index * 64, (index + 1) * 64)}`),
        );
        const start = REHEARSAL_HEADER + returned;
        const middle = start + before;
        noteEntries(start, middle, calls, "before");
        noteEntries(middle, middle + after, calls, "after");
        break;
      }
      default:
        this.#note(
          { to: String(to), data: input, block, phase: "before" },
          answer,
        );
    }
  }

  #noteEntries(
    digits: string,
    calls: unknown,
    block: number,
    phase: ContractCall["phase"],
  ): void {
    let offset = 0;
    for (const call of listOf(calls)) {
      if (offset + 64 > digits.length) {
        return;
      }
      const [to, data] = listOf(call);
      const head = digits.slice(offset, offset + 64);
      // The last four bytes; what is before them is not looked at.
      const length = 2 * Number(`0x${head.slice(56)}`);
      offset += 64;
      this.#note(
        { to: String(to), data: String(data), block, phase },
        head.startsWith("01")
          ? `0x${digits.slice(offset, offset + length)}`
          : "revert",
      );
      offset += length;
    }
  }

  #noteSimulation(params: readonly unknown[], answer: unknown): void {
    const [asked] = listOf(fieldsOf(params[0])["blockStateCalls"]);
    const calls = listOf(fieldsOf(asked)["calls"]).map(fieldsOf);
    const [block] = listOf(answer);
    const answers = listOf(fieldsOf(block)["calls"]).map(fieldsOf);
    const settlement = calls.findIndex(
      ({ input }) => input === operations.settleAll.selector,
    );
    calls.forEach(({ to, input }, index) => {
      const { status, returnData } = answers[index] ?? {};
      this.#note(
        {
          to: String(to),
          data: String(input),
          block: Number(params[1]),
          phase: index < settlement ? "before" : "after",
        },
        Number(status) === 1 ? String(returnData) : "revert",
      );
    });
  }

  #note({ to, data, ...rest }: ContractCall, said: string): void {
    this.#said.push({
      to: to.toLowerCase(),
      data: data.toLowerCase(),
      said: said.toLowerCase(),
      ...rest,
    });
  }
}

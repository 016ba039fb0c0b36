import { isHexString, toQuantity } from "ethers";

import { vaultError } from "../errors.js";
import type { VaultError } from "../errors.js";
import { asRecord } from "../json.js";
import { classifyFailure, toRpcError } from "../rpc/errors.js";
import { waitAfter } from "../rpc/retry.js";
import { pause } from "../rpc/signals.js";
import { messageOf } from "../rpc/thrown.js";
import { refusesCall } from "./upstream.js";
import type {
  Upstream,
  UpstreamAnswer,
  UpstreamCall,
  UpstreamSettings,
  Urgency,
} from "./upstream.js";

export interface BranchTip extends Pick<
  UpstreamSettings,
  "network" | "redactor"
> {
  readonly number: number;
  readonly hash: string;
}

export const BLOCK_METHOD = "eth_getBlockByNumber";

/** Methods for state, with the place of the block among the parameters. */
const stateMethods: Readonly<Record<string, number>> = {
  eth_getBalance: 1,
  eth_getCode: 1,
  eth_getTransactionCount: 1,
  eth_getStorageAt: 2,
};

/** Other methods whose answers differ between branches. */
const historyMethods: ReadonlySet<string> = new Set([
  "eth_getBlockReceipts",
  "eth_getLogs",
  "eth_getTransactionByHash",
  "eth_getTransactionReceipt",
  "eth_feeHistory",
]);

/** Attempts to read from a node that does not have the block yet, or lags behind. */
const BEHIND_ATTEMPTS = 10;

/** @returns The place of the block among the parameters, if the method has one. */
export function placeOfBlock(method: string): number | undefined {
  return method === BLOCK_METHOD ? 0 : stateMethods[method];
}

/**
 * Reads one block and what is below it from a node, and nothing of another branch of the
 * chain. State is read by the block's hash (EIP-1898). With what else is read, or a node
 * that takes only numbers, the hash at the block's number is asked for in the same request.
 */
export class Branch {
  /** Undefined until the node has answered. */
  #takesHashes: boolean | undefined;
  #ended: VaultError | undefined;

  constructor(
    private readonly node: Upstream,
    private readonly tip: BranchTip,
  ) {}

  /** Set once the node has another block at this number. */
  public get ended(): VaultError | undefined {
    return this.#ended;
  }

  /** True if the call is for state of the block, or for the block itself. */
  public isOfTip(call: UpstreamCall): boolean {
    return numberIn(call) === this.tip.number;
  }

  /** True if the answer differs between branches. Tags are not the fork's. */
  public isOfChain(call: UpstreamCall): boolean {
    return placeOfBlock(call.method) === undefined
      ? historyMethods.has(call.method)
      : numberIn(call) !== undefined;
  }

  /**
   * Asks for state of the block, for the block itself, or for what no block changes.
   *
   * @throws VaultError VAULT_FORK_REORGED if the block is no longer part of the chain,
   * VAULT_BLOCK_NOT_FOUND if the node does not get it
   */
  public async read(
    calls: readonly UpstreamCall[],
    urgency?: Urgency,
  ): Promise<readonly UpstreamAnswer[]> {
    for (let attempt = 1; ; attempt += 1) {
      this.#throwIfEnded();
      const answers = await this.#readOnce(calls, urgency);
      if (answers !== undefined) {
        return answers;
      }
      await this.#waitForBlock(attempt);
    }
  }

  /**
   * Asks for state, blocks, transactions or logs below the block. They are of its branch if
   * the chain still has the block afterwards.
   *
   * @throws VaultError as `read` does
   */
  public async readBelow(call: UpstreamCall): Promise<UpstreamAnswer> {
    for (let attempt = 1; ; attempt += 1) {
      this.#throwIfEnded();
      const [answer] = (await this.#askAndCheck([call])) ?? [];
      if (answer !== undefined) {
        return answer;
      }
      await this.#waitForBlock(attempt);
    }
  }

  /** @returns Undefined if the node, or one of several, does not have the block. */
  async #readOnce(
    calls: readonly UpstreamCall[],
    urgency?: Urgency,
  ): Promise<readonly UpstreamAnswer[] | undefined> {
    const answers =
      this.#takesHashes === false
        ? await this.#askAndCheck(calls, urgency)
        : await this.#askByHash(calls, urgency);
    const isOfOthers = calls.some(({ method }, index) => {
      const answer = answers?.[index];
      return (
        method === BLOCK_METHOD &&
        answer !== undefined &&
        "result" in answer &&
        !this.#isTip(answer.result)
      );
    });
    return isOfOthers ? undefined : answers;
  }

  async #askByHash(
    calls: readonly UpstreamCall[],
    urgency?: Urgency,
  ): Promise<readonly UpstreamAnswer[] | undefined> {
    const { answers } = await this.node.ask(
      calls.map((call) => atHash(call, this.tip.hash)),
      urgency,
    );
    const ofState = answers.filter(
      (_, index) => (calls[index]?.method ?? "") in stateMethods,
    );
    if (ofState.some(hasResult)) {
      this.#takesHashes ??= true;
    }
    if (answers.every(hasResult)) {
      return answers;
    }
    // The node is behind, has another block at this number, or takes no hashes.
    const mayTakeNumbers =
      this.#takesHashes === undefined || ofState.some(refusesHash);
    const failed = mayTakeNumbers
      ? calls.filter((_, index) => !hasResult(answers[index]))
      : [];
    const numbered = await this.#askAndCheck(failed, urgency);
    if (numbered === undefined || answers.some(isBehind)) {
      return undefined;
    }
    if (!numbered.some(hasResult)) {
      return answers;
    }
    this.#takesHashes = false;
    const others = numbered.values();
    return answers.map((answer) =>
      hasResult(answer) ? answer : (others.next().value ?? answer),
    );
  }

  /**
   * Asks for values, and in the same request for the hash at the block's number.
   *
   * @returns Undefined if the node does not have the block.
   */
  async #askAndCheck(
    calls: readonly UpstreamCall[],
    urgency?: Urgency,
  ): Promise<readonly UpstreamAnswer[] | undefined> {
    const { network, redactor, number } = this.tip;
    const check = headerCall(number);
    const asked = await this.node.ask([...calls, check], urgency);
    // Only what is asked last shows that nothing was read of another branch.
    const last = asked.isOneRequest
      ? asked.answers.at(-1)
      : (await this.node.ask([check], urgency)).answers[0];
    if (last !== undefined && "error" in last) {
      // Temporary failures were repeated already.
      throw toRpcError(last.error, network, BLOCK_METHOD, redactor);
    }
    return this.#isTip(last?.result) ? asked.answers.slice(0, -1) : undefined;
  }

  /**
   * @returns False if the header is none.
   * @throws VaultError VAULT_FORK_REORGED for another one than that of the block
   */
  #isTip(header: unknown): boolean {
    const { network, number, hash } = this.tip;
    const { hash: found } = asRecord(header);
    if (!isHexString(found, 32)) {
      return false;
    }
    if (found.toLowerCase() !== hash.toLowerCase()) {
      const details = { network, block: number, expected: hash, found };
      this.#ended = vaultError("VAULT_FORK_REORGED", details);
      throw this.#ended;
    }
    return true;
  }

  async #waitForBlock(attempt: number): Promise<void> {
    if (attempt >= BEHIND_ATTEMPTS) {
      const { network, number: block } = this.tip;
      throw vaultError("VAULT_BLOCK_NOT_FOUND", { network, block });
    }
    await pause(waitAfter(attempt));
  }

  #throwIfEnded(): void {
    if (this.#ended !== undefined) {
      throw this.#ended;
    }
  }
}

function numberIn({ method, params }: UpstreamCall): number | undefined {
  const block = params[placeOfBlock(method) ?? -1];
  return isHexString(block) ? Number(block) : undefined;
}

function headerCall(number: number): UpstreamCall {
  return { method: BLOCK_METHOD, params: [toQuantity(number), false] };
}

/** A call for state, at the hash in place of the number; any other call as it is. */
function atHash(call: UpstreamCall, blockHash: string): UpstreamCall {
  const place = stateMethods[call.method];
  const block = { blockHash, requireCanonical: true };
  return place === undefined
    ? call
    : { ...call, params: call.params.with(place, block) };
}

function hasResult(answer: UpstreamAnswer | undefined): boolean {
  return answer !== undefined && "result" in answer;
}

/** Wrong parameters are no missing block, in any words. */
function isBehind(answer: UpstreamAnswer): boolean {
  return (
    "error" in answer &&
    !refusesHash(answer) &&
    classifyFailure(answer.error).kind === "blockNotFound"
  );
}

/** True for a node that does not understand a hash in the place of a number. */
function refusesHash(answer: UpstreamAnswer): boolean {
  return (
    refusesCall(answer) ||
    ("error" in answer &&
      /invalid block (?:parameter|number|tag)/iu.test(messageOf(answer.error)))
  );
}

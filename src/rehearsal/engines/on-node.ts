import pMap from "p-map";

import { noCode } from "../../client/answer.js";
import { VaultError } from "../../errors.js";
import type { VaultHost } from "../../host.js";
import type { Eip1193Provider } from "../../rpc/eip1193.js";
import type { BlockInfo } from "../../rpc/node.js";
import { lessPatient, originOf } from "../../rpc/patient.js";
import { requestRpc } from "../../rpc/request.js";
import { EngineUnable } from "../question.js";
import type { Answer, NextBlock, Question } from "../question.js";
import { describeRefusal } from "../refusal.js";
import type { FailedCall } from "../refusal.js";
import { factsOf, stateOf } from "../watch-list.js";
import type { ReadAnswers, WatchedReading } from "../watch-list.js";

/** How nodes say that they have no such method, or do not let it be used. */
const missingMethod =
  /(?:method|eth_\w+).*(?:not (?:found|supported|available|allowed|exist|implemented)|does(?: not|n't) exist|unsupported|disabled)|(?:unknown|unsupported) method/iu;

/** A method by which a node rehearses. */
export class EngineMethod {
  /** By provider: why its node is known not to do it, or to do it wrongly. */
  readonly #unable = new WeakMap<Eip1193Provider, string>();

  constructor(private readonly name: string) {}

  /** @throws EngineUnable where the node is known not to do it */
  public requireAble({ provider }: VaultHost): void {
    const known = this.#unable.get(originOf(provider));
    if (known !== undefined) {
      throw new EngineUnable(known);
    }
  }

  /** The node is not asked again. */
  public remember({ provider }: VaultHost, problem: string): EngineUnable {
    this.#unable.set(originOf(provider), problem);
    return new EngineUnable(problem);
  }

  /**
   * Another engine may do where the request fails, unless the node is silent or
   * the configuration is wrong.
   *
   * @param isOptional Whether a node that has no such method is not asked again.
   * @throws EngineUnable with the error as its cause, as one in doubt; neither
   * where the node has no such method and is not asked again
   */
  public async request(
    vault: VaultHost,
    params: readonly unknown[],
    isOptional = false,
  ): Promise<unknown> {
    const { provider, networkName } = vault;
    const method = this.name;
    try {
      return await requestRpc(
        lessPatient(provider),
        networkName,
        method,
        params,
      );
    } catch (cause) {
      if (!VaultError.isVaultError(cause)) {
        throw cause;
      }
      const problem = String(cause.details["problem"]);
      switch (cause.code) {
        case "VAULT_RPC_ERROR": {
          const refused = `the node refuses ${method}: ${problem}`;
          throw isOptional && missingMethod.test(problem)
            ? this.remember(vault, refused)
            : new EngineUnable(refused, "refused", cause);
        }
        // An HTTP status, or a closed connection, as a proxy refuses.
        case "VAULT_NETWORK_UNREACHABLE":
        case "VAULT_RPC_INVALID_RESPONSE":
          throw new EngineUnable(
            `${method} fails: ${problem}`,
            "refused",
            cause,
          );
        default:
          throw cause;
      }
    }
  }

  /** It is not the block that was meant. */
  public describeOther(
    meant: NextBlock,
    { number, timestamp }: BlockInfo,
  ): string {
    return `asked for block ${meant.number} at ${meant.timestamp}, ${this.name} executes in block ${number} at ${timestamp}`;
  }

  /** @param settlement What `settleAll` was given, if that was too little. */
  public capped(settlement?: bigint | number): EngineUnable {
    return new EngineUnable(
      settlement === undefined
        ? `the gas that the node gives ${this.name} does not suffice for the readings`
        : `the node gives ${this.name} ${settlement} gas for settleAll, which uses it up`,
      "capped",
    );
  }
}

/** What one request found out. */
export interface Part extends Pick<Answer, "block" | "transfers"> {
  /** How the settlement failed; undefined if it succeeded. */
  readonly failed: FailedCall | undefined;
  readonly gasUsed: bigint;
  readonly gasNeeded: bigint;
  /** The answers to what `readsOf` lists. */
  readonly before: ReadAnswers;
  readonly after: ReadAnswers;
}

/** Orders in one request at first. */
const FIRST_SIZE = 400;

/** With fewer, it is not the orders that are too many. */
const SMALLEST_SIZE = 25;

const CONCURRENCY = 4;

/**
 * Rehearses with some of the orders at a time, as many as the node's gas allows,
 * always the same settlement in the same block.
 *
 * @param run Throws a capped EngineUnable where they are too many.
 * @returns What the first run found out, with all orders.
 */
export async function inChunks(
  { watched: { orders } }: Question,
  run: (orders: readonly WatchedReading[]) => Promise<Part>,
): Promise<Part> {
  for (let size = FIRST_SIZE; ; size = Math.floor(size / 2)) {
    try {
      // Whether it works at all, one request finds out.
      const first = await run(orders.slice(0, size));
      const chunks = Array.from(
        { length: Math.max(Math.ceil(orders.length / size) - 1, 0) },
        (_, index) => orders.slice((index + 1) * size, (index + 2) * size),
      );
      const rest = await pMap(
        chunks,
        async (chunk) => {
          const { before, after } = await run(chunk);
          return [before, after].map((side) => side.slice(-chunk.length));
        },
        { concurrency: CONCURRENCY },
      );
      return {
        ...first,
        before: [...first.before, ...rest.flatMap(([before = []]) => before)],
        after: [...first.after, ...rest.flatMap(([, after = []]) => after)],
      };
    } catch (error) {
      if (
        !(error instanceof EngineUnable && error.why === "capped") ||
        Math.min(size, orders.length) <= SMALLEST_SIZE
      ) {
        throw error;
      }
    }
  }
}

/**
 * What it comes to.
 *
 * @throws VaultError VAULT_NO_CODE, VAULT_NOT_A_TOKEN,
 * VAULT_RPC_INVALID_RESPONSE and those of a failed request
 */
export async function toAnswer(
  { vault, target, watched, next, gas }: Question,
  { failed, ...part }: Part,
  notes: readonly string[],
): Promise<Answer> {
  const base = next.number - 1;
  const facts = factsOf(watched, part.before);
  if (facts?.accounts.get(target.address)?.hasCode === false) {
    throw noCode("vault", target, vault.networkName, base);
  }
  const before = stateOf(vault, watched, part.before);
  return {
    ...part,
    before,
    after: stateOf(vault, watched, part.after, {
      answers: part.before,
      state: before,
    }),
    refusal:
      failed === undefined
        ? null
        : await describeRefusal(vault, gas, next.gasLimit, failed),
    notes,
  };
}

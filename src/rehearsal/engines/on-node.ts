import { noCode } from "../../client/answer.js";
import { VaultError } from "../../errors.js";
import type { VaultHost } from "../../host.js";
import type { Eip1193Provider } from "../../rpc/eip1193.js";
import type { BlockInfo } from "../../rpc/node.js";
import { lessPatient, originOf } from "../../rpc/patient.js";
import { requestRpc } from "../../rpc/request.js";
import { EngineUnable, UNKNOWABLE } from "../question.js";
import type { Answer, Question } from "../question.js";
import { describeRefusal } from "../refusal.js";
import type { FailedCall } from "../refusal.js";
import { factsOf, stateOf } from "../watch-list.js";
import type { ReadAnswers } from "../watch-list.js";

/** A method by which a node rehearses. */
export class EngineMethod {
  /** By provider: why its node is known not to do it, or to do it wrongly. */
  readonly #unable = new WeakMap<Eip1193Provider, string>();

  /** @param isMissing Whether such a refusal is the same every time. */
  constructor(
    private readonly name: string,
    private readonly isMissing: (refusal: VaultError) => boolean,
  ) {}

  /** The node is not asked again. */
  public remember({ provider }: VaultHost, problem: string): EngineUnable {
    this.#unable.set(originOf(provider), problem);
    return new EngineUnable(problem);
  }

  /**
   * Another engine may do where the request fails, unless the node is silent or
   * the configuration is wrong.
   *
   * @throws EngineUnable where the node is known not to do it, or refuses, with
   * the error as its cause
   */
  public async request(
    vault: VaultHost,
    params: readonly unknown[],
  ): Promise<unknown> {
    const { provider, networkName } = vault;
    const known = this.#unable.get(originOf(provider));
    if (known !== undefined) {
      throw new EngineUnable(known);
    }
    try {
      return await requestRpc(
        lessPatient(provider),
        networkName,
        this.name,
        params,
      );
    } catch (cause) {
      if (!VaultError.isVaultError(cause)) {
        throw cause;
      }
      const problem = String(cause.details["problem"]);
      switch (cause.code) {
        case "VAULT_RPC_ERROR": {
          const refused = `the node refuses ${this.name}: ${problem}`;
          throw this.isMissing(cause)
            ? this.remember(vault, refused)
            : new EngineUnable(refused, cause);
        }
        // An HTTP status, or a closed connection, as a proxy refuses.
        case "VAULT_NETWORK_UNREACHABLE":
        case "VAULT_RPC_INVALID_RESPONSE":
          throw new EngineUnable(`${this.name} fails: ${problem}`, cause);
        default:
          throw cause;
      }
    }
  }

  /** @throws EngineUnable where it is not the block that was asked for */
  public requireBlock(
    { vault, next }: Question,
    { number, timestamp }: BlockInfo,
  ): void {
    if (number !== next.number || timestamp !== next.timestamp) {
      throw this.remember(
        vault,
        `asked for block ${next.number} at ${next.timestamp}, ${this.name} executes in block ${number} at ${timestamp}`,
      );
    }
  }

  /** @param settlement What `settleAll` was given, if that was too little. */
  public capped(settlement?: bigint | number): EngineUnable {
    return new EngineUnable(
      settlement === undefined
        ? `the gas that the node gives ${this.name} does not suffice for the readings`
        : `the node gives ${this.name} ${settlement} gas for settleAll, which uses it up`,
    );
  }
}

/** What one request found out. */
export interface Part extends Pick<Answer, "transfers"> {
  /** How the settlement failed; undefined if it succeeded. */
  readonly failed: FailedCall | undefined;
  readonly gasUsed: bigint;
  readonly gasNeeded: bigint;
  /** The answers to what `readsOf` lists. */
  readonly before: ReadAnswers;
  readonly after: ReadAnswers;
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
  const { baseFeePerGas = 0n } = next;
  const baseFee = facts?.block.baseFee ?? baseFeePerGas;
  if (facts?.accounts.get(target.address)?.hasCode === false) {
    throw noCode("vault", target, vault.networkName, base);
  }
  const before = stateOf(vault, watched, part.before);
  return {
    ...part,
    block: { number: next.number, timestamp: next.timestamp },
    before,
    after: stateOf(vault, watched, part.after),
    refusal:
      failed === undefined
        ? null
        : await describeRefusal(vault, gas, next.gasLimit, failed),
    notes: [
      ...notes,
      ...(baseFee === baseFeePerGas
        ? []
        : [
            `The contracts saw a base fee of ${baseFee} in place of the block's ${baseFeePerGas}: one that reads block.basefee may do otherwise on the chain.`,
          ]),
      UNKNOWABLE,
    ],
  };
}

import { VaultError } from "../../errors.js";
import type { VaultHost } from "../../host.js";
import { fewRetries } from "../../rpc/retry.js";
import type { BlockInfo, Executed, NextBlock } from "../../rpc/rpc-client.js";
import { EngineUnsupportedError } from "../engine.js";
import type { SimulationParameters } from "../engine.js";

/** A method by which a node simulates. */
export class EngineMethod {
  /** @param isMissing Whether such a refusal is the same every time. */
  constructor(
    private readonly name: string,
    private readonly isMissing: (refusal: VaultError) => boolean,
  ) {}

  /** The node is not asked again. */
  public remember({ rpc }: VaultHost, problem: string): EngineUnsupportedError {
    rpc.node.unableTo.set(this.name, problem);
    return new EngineUnsupportedError(problem);
  }

  /**
   * Another engine may do where the request fails, unless the node is silent or
   * the configuration is wrong.
   *
   * @throws EngineUnsupportedError if the node cannot, or refuses
   */
  public async request(
    vault: VaultHost,
    params: readonly unknown[],
  ): Promise<Executed> {
    const known = vault.rpc.node.unableTo.get(this.name);
    if (known !== undefined) {
      throw new EngineUnsupportedError(known);
    }
    try {
      return await vault.rpc.withRetries(fewRetries).execute(this.name, params);
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
            : new EngineUnsupportedError(refused, cause);
        }
        // An HTTP status, or a closed connection, as a proxy refuses.
        case "VAULT_NETWORK_UNREACHABLE":
        case "VAULT_RPC_INVALID_RESPONSE":
          throw new EngineUnsupportedError(
            `${this.name} fails: ${problem}`,
            cause,
          );
        default:
          throw cause;
      }
    }
  }

  /** @throws EngineUnsupportedError if it is another block than was asked for */
  public requireBlock(
    { vault, next }: SimulationParameters,
    { number, timestamp }: BlockInfo,
  ): void {
    if (number !== next.number || timestamp !== next.timestamp) {
      throw this.remember(
        vault,
        `asked for block ${next.number} at ${next.timestamp}, ${this.name} executes in block ${number} at ${timestamp}`,
      );
    }
  }

  /** The node limits gas: what `settleAll` used up, or none for the readings. */
  public capped(settlement?: bigint): EngineUnsupportedError {
    return new EngineUnsupportedError(
      settlement === undefined
        ? `the gas that the node gives ${this.name} does not suffice for the readings`
        : `the node gives ${this.name} ${settlement} gas for settleAll, which uses it up`,
    );
  }
}

/**
 * Some nodes give contracts a base fee of their own.
 *
 * @param seen What a contract saw; undefined if none looked.
 */
export function baseFeeNotes(
  { baseFeePerGas = 0n }: NextBlock,
  seen: bigint | undefined,
): readonly string[] {
  return seen === undefined || seen === baseFeePerGas
    ? []
    : [
        `The node simulates with a base fee of ${seen} wei instead of ${baseFeePerGas}: a contract that reads block.basefee can do something else when it is mined.`,
      ];
}

import { numberToHexString } from "@nomicfoundation/hardhat-utils/hex";

import { isRefusedAnyhow, refusesParameters } from "../../rpc/errors.js";
import { fewRetries } from "../../rpc/retry.js";
import type { BlockInfo, Executed } from "../../rpc/rpc-client.js";
import { EngineUnsupportedError } from "../engine.js";
import type { SimulationParameters } from "../engine.js";

/** The words of nodes that have no such method, or do not let it be used. */
const missingMethod =
  /(?:method|eth_\w+).*(?:not (?:found|supported|available|allowed|exist|implemented)|does(?: not|n't) exist|unsupported|disabled)|(?:unknown|unsupported) method/iu;

/** A method by which a node simulates, and what such a node is checked for. */
export class EngineMethod {
  constructor(
    private readonly name: string,
    private readonly parameters: SimulationParameters,
  ) {}

  public get blockOverrides(): Readonly<Record<string, string>> {
    const { number, timestamp, baseFeePerGas } = this.parameters.next;
    return {
      number: numberToHexString(number),
      time: numberToHexString(timestamp),
      ...(baseFeePerGas !== undefined && {
        baseFeePerGas: numberToHexString(baseFeePerGas),
      }),
    };
  }

  /** The node is not asked again. */
  public remember(problem: string): EngineUnsupportedError {
    const { unableTo } = this.parameters.vault.rpc.node;
    unableTo.set(this.name, problem);
    return new EngineUnsupportedError(problem);
  }

  /** @throws EngineUnsupportedError if the node cannot, or refuses */
  public async request(params: readonly unknown[]): Promise<Executed> {
    const { rpc } = this.parameters.vault;
    const known = rpc.node.unableTo.get(this.name);
    if (known !== undefined) {
      throw new EngineUnsupportedError(known);
    }
    try {
      return await rpc
        .withRetries(fewRetries)
        .requestOrRevert(this.name, params);
    } catch (error) {
      if (!isRefusedAnyhow(error)) {
        throw error;
      }
      const problem = String(error.details["problem"]);
      const refused = `the node refuses ${this.name}: ${problem}`;
      throw missingMethod.test(problem) || refusesParameters(error.cause)
        ? this.remember(refused)
        : new EngineUnsupportedError(refused, error);
    }
  }

  /** @throws EngineUnsupportedError if it is another block than was asked for */
  public requireBlock({ number, timestamp }: BlockInfo): void {
    const { next } = this.parameters;
    if (number !== next.number || timestamp !== next.timestamp) {
      throw this.remember(
        `asked for block ${next.number} at ${next.timestamp}, ${this.name} executes in block ${number} at ${timestamp}`,
      );
    }
  }

  /** The node limits gas: what `settleAll` used up, or none for the reads. */
  public capped(settlement?: bigint): EngineUnsupportedError {
    return new EngineUnsupportedError(
      settlement === undefined
        ? `the gas that the node gives ${this.name} does not suffice for the readings`
        : `the node gives ${this.name} ${settlement} gas for settleAll, which uses it up`,
    );
  }

  /** Some nodes give contracts a base fee of their own. */
  public baseFeeNotes(seen: bigint | undefined): readonly string[] {
    const { baseFeePerGas = 0n } = this.parameters.next;
    return seen === undefined || seen === baseFeePerGas
      ? []
      : [
          `The node simulates with a base fee of ${seen} wei instead of ${baseFeePerGas}: a contract that reads block.basefee can do something else when it is mined.`,
        ];
  }
}

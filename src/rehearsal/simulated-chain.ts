import { numberToHexString } from "@nomicfoundation/hardhat-utils/hex";

import { Chain } from "../rpc/node.js";
import type { BlockInfo } from "../rpc/node.js";
import { invalidResponse } from "../rpc/errors.js";
import {
  RevertedCall,
  isHexData,
  parseQuantity,
  requestQuantity,
  requestRpc,
} from "../rpc/request.js";
import type { VaultHost } from "../host.js";
import { assertInvariant, vaultError } from "../errors.js";
import type { FailedCall } from "./refusal.js";
import { nativeTransfersOf, parseLogs, transfersOf } from "./transfers.js";
import type { Transfer } from "./types.js";

/** What became of a transaction of a simulation. */
export interface ExecutedTransaction {
  readonly block: BlockInfo;
  readonly gasUsed: bigint;
  readonly transfers: readonly Transfer[];
  /** How it failed; undefined if it succeeded. */
  readonly failure: Pick<FailedCall, "data" | "message"> | undefined;
}

/**
 * The methods of Hardhat's simulator that a simulation needs.
 *
 * It can only be made for an in-process network, so that nothing in here ever
 * reaches a live chain.
 */
export class SimulatedChain {
  readonly #vault: VaultHost;

  constructor(vault: VaultHost) {
    assertInvariant(
      vault.connection.networkConfig.type === "edr-simulated",
      `${vault.networkName} is not an in-process network`,
    );
    this.#vault = vault;
  }

  public async request(
    method: string,
    ...params: readonly unknown[]
  ): Promise<unknown> {
    const { provider, networkName } = this.#vault;
    const answer = await requestRpc(provider, networkName, method, params);
    if (answer instanceof RevertedCall) {
      throw vaultError("VAULT_RPC_ERROR", {
        network: networkName,
        method,
        problem: answer.reason.text,
      });
    }
    return answer;
  }

  public async quantity(
    method: string,
    ...params: readonly unknown[]
  ): Promise<bigint> {
    return await requestQuantity(
      this.#vault.provider,
      this.#vault.networkName,
      method,
      params,
    );
  }

  /** Gas that the next block has room for. */
  public async nextGasLimit(): Promise<bigint> {
    const { provider, networkName } = this.#vault;
    return await new Chain(provider, networkName).gasLimit("pending");
  }

  /** Makes one block with whatever waits, dated as told. */
  public async mine(timestamp: number | undefined): Promise<void> {
    await this.request(
      "evm_mine",
      ...(timestamp === undefined ? [] : [numberToHexString(timestamp)]),
    );
  }

  public async isMined(hash: string): Promise<boolean> {
    return (await this.request("eth_getTransactionReceipt", hash)) !== null;
  }

  public async outcomeOf(hash: string): Promise<ExecutedTransaction> {
    const [receipt, trace] = await Promise.all([
      this.#record("eth_getTransactionReceipt", hash),
      this.#record("debug_traceTransaction", hash, { tracer: "callTracer" }),
    ]);
    const logs = parseLogs(receipt["logs"]) ?? [];
    return {
      block: await this.#vault.block(
        Number(this.#parse(receipt["blockNumber"])),
      ),
      gasUsed: this.#parse(receipt["gasUsed"]),
      transfers: [...nativeTransfersOf(trace), ...transfersOf(logs)],
      failure:
        this.#parse(receipt["status"]) === 1n ? undefined : failureOf(trace),
    };
  }

  #parse(value: unknown): bigint {
    return parseQuantity(value, this.#vault.networkName, "the simulation");
  }

  async #record(
    method: string,
    ...params: readonly unknown[]
  ): Promise<Readonly<Record<string, unknown>>> {
    const answer = await this.request(method, ...params);
    if (typeof answer !== "object" || answer === null) {
      throw invalidResponse(
        this.#vault.networkName,
        method,
        "an object was expected",
      );
    }
    return { ...answer };
  }
}

/** The outermost call tells why a transaction failed. */
function failureOf({
  output,
  error,
}: Readonly<Record<string, unknown>>): ExecutedTransaction["failure"] {
  return {
    data: isHexData(output) ? output : "0x",
    message:
      typeof error === "string" && error !== "execution reverted"
        ? error
        : undefined,
  };
}

import { isHexString } from "ethers";

import { Chain } from "../rpc/node.js";
import type { BlockInfo } from "../rpc/node.js";
import { RevertedCall } from "../rpc/request.js";
import type { VaultHost } from "../host.js";
import { assertInvariant, vaultError } from "../errors.js";
import type { FailedCall } from "./refusal.js";
import { nativeTransfersOf, parseLogs, transfersOf } from "./transfers.js";
import type { Transfer } from "./types.js";

const TRACE = "debug_traceTransaction";

/** What became of a transaction of a simulation. */
export interface ExecutedTransaction {
  readonly block: BlockInfo;
  readonly gasUsed: bigint;
  readonly transfers: readonly Transfer[];
  /** How it failed; undefined if it succeeded. */
  readonly failure: Pick<FailedCall, "data" | "message"> | undefined;
}

/**
 * Hardhat's simulator, with the methods that a simulation needs.
 *
 * It can only be made for an in-process network, so that nothing in here ever
 * reaches a live chain.
 */
export class SimulatedChain extends Chain {
  constructor({ connection, provider, networkName }: VaultHost) {
    assertInvariant(
      connection.networkConfig.type === "edr-simulated",
      `${networkName} is not an in-process network`,
    );
    super(provider, networkName);
  }

  /** Sends a request that no contract can refuse. */
  public async command(
    method: string,
    ...params: readonly unknown[]
  ): Promise<unknown> {
    const answer = await this.request(method, params);
    if (answer instanceof RevertedCall) {
      throw vaultError("VAULT_RPC_ERROR", {
        network: this.network,
        method,
        problem: answer.reason.text,
      });
    }
    return answer;
  }

  /** @param hash Of a transaction that was mined. */
  public async outcomeOf(hash: string): Promise<ExecutedTransaction> {
    const [receipt, traced] = await Promise.all([
      this.receipt(hash),
      this.command(TRACE, hash, { tracer: "callTracer" }),
    ]);
    if (receipt === undefined) {
      throw this.reader("eth_getTransactionReceipt").invalid(
        "none of a transaction that was mined",
      );
    }
    const { output, error } = this.reader(TRACE).record(traced);
    return {
      block: await this.block(receipt.blockNumber),
      gasUsed: receipt.gasUsed,
      transfers: [
        ...nativeTransfersOf(traced),
        ...transfersOf(parseLogs(receipt.logs) ?? []),
      ],
      // The outermost call tells why a transaction failed.
      failure: receipt.succeeded
        ? undefined
        : {
            data: isHexString(output, true) ? output : "0x",
            message:
              typeof error === "string" && error !== "execution reverted"
                ? error
                : undefined,
          },
    };
  }
}

import { isHexString } from "ethers";

import { RpcClient } from "../rpc/rpc-client.js";
import type { VaultHost } from "../host.js";
import { assertInvariant } from "../errors.js";
import type { SimulatedTransaction } from "./engine.js";
import { nativeTransfersOf, transfersIn } from "./transfers.js";

const TRACE = "debug_traceTransaction";

/**
 * Hardhat's simulator, with the methods that a simulation needs.
 *
 * It can only be made for an in-process network, so that nothing in here ever
 * reaches a live chain.
 */
export class SimulatedChain extends RpcClient {
  constructor({ connection, provider, networkName, rpc }: VaultHost) {
    assertInvariant(
      connection.networkConfig.type === "edr-simulated",
      `${networkName} is not an in-process network`,
    );
    super(provider, networkName, rpc.node);
  }

  /** Sends a request that no contract can refuse. */
  public async command(
    method: string,
    ...params: readonly unknown[]
  ): Promise<unknown> {
    return await this.request(method, params);
  }

  /** @param hash Of a transaction that was mined. */
  public async outcomeOf(
    hash: string,
    gasGiven: bigint,
  ): Promise<SimulatedTransaction> {
    const [receipt, traced] = await Promise.all([
      this.receipt(hash),
      this.command(TRACE, hash, { tracer: "callTracer" }),
    ]);
    assertInvariant(receipt !== undefined, "a transaction that is not mined");
    const { gasUsed } = receipt;
    // The outermost call tells why a transaction failed.
    const { output, error } = this.parser(TRACE).record(traced);
    return {
      block: await this.blockInfo(receipt.blockNumber),
      gasUsed,
      transfers: [
        ...nativeTransfersOf(traced),
        ...(transfersIn(receipt.logs) ?? []),
      ],
      failed: receipt.succeeded
        ? undefined
        : {
            data: isHexString(output, true) ? output : "0x",
            message:
              typeof error === "string" && error !== "execution reverted"
                ? error
                : undefined,
            gasUsed,
            gasGiven,
          },
    };
  }
}

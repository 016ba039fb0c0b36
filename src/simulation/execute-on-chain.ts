import { isHexString } from "ethers";
import { numberToHexString } from "@nomicfoundation/hardhat-utils/hex";

import {
  encodeRead,
  parseRead,
  simulationLensCode,
} from "../client/lens/simulation-lens.js";
import type { VaultHost } from "../host.js";
import { assertInvariant, vaultError } from "../errors.js";
import type { VaultError } from "../errors.js";
import { isNodeRefusal } from "../rpc/errors.js";
import { TRANSACTION_GAS_CAP } from "../rpc/gas.js";
import type { BlockId, CallResult, RpcClient } from "../rpc/rpc-client.js";
import { decodeRevertReason } from "../rpc/revert-reason.js";
import { beforeRefunds, settlementCall } from "./engine.js";
import type { EngineResult, SimulationParameters } from "./engine.js";
import { nativeTransfersOf, transfersIn } from "./transfers.js";
import { readsOf } from "./watch-list.js";

/** Hardhat's simulator. Nothing that is sent to it ever reaches a live chain. */
export function simulatorOf({
  connection,
  rpc,
  networkName,
}: VaultHost): RpcClient {
  assertInvariant(
    connection.networkConfig.type === "edr-simulated",
    `${networkName} is not an in-process network`,
  );
  return rpc;
}

/**
 * Calls `settleAll` in a transaction of its own block, on an in-process network,
 * which is left as the settlement leaves it. The network mines nothing by itself
 * meanwhile, and impersonates the sender.
 *
 * @param blockTime Date of the block, Unix seconds; undefined for the chain's
 * own time.
 */
export async function executeSettlement(
  parameters: SimulationParameters,
  blockTime: number | undefined,
  ...notes: readonly string[]
): Promise<EngineResult> {
  const { vault, sender, target, gas, next } = parameters;
  const rpc = simulatorOf(vault);
  const [before, gasPrice, balance] = await Promise.all([
    readAll(parameters, "latest"),
    rpc.quantity("eth_gasPrice"),
    rpc.balance(sender),
  ]);
  const send = async (gasGiven: bigint) => {
    // The network takes that off before any code runs: the contract sees the
    // sender as rich as it is.
    const prepaid = gasGiven * gasPrice;
    await rpc.request("hardhat_setBalance", [
      sender,
      numberToHexString(balance + prepaid),
    ]);
    const hash = await rpc.request("eth_sendTransaction", [
      {
        ...settlementCall(sender, target.address),
        gas: numberToHexString(gasGiven),
        gasPrice: numberToHexString(gasPrice),
      },
    ]);
    assertInvariant(typeof hash === "string", "a transaction without a hash");
    return { hash, gasGiven, prepaid };
  };
  const { networkConfig } = vault.connection;
  // Of networks that have one: by their hardfork, unless it is configured.
  const cap =
    "transactionGasCap" in networkConfig &&
    typeof networkConfig.transactionGasCap === "bigint"
      ? networkConfig.transactionGasCap
      : TRANSACTION_GAS_CAP;
  const { hash, gasGiven, prepaid } = await send(gas ?? next.gasLimit).catch(
    async (error: unknown) => {
      if (gas !== undefined || next.gasLimit <= cap || !isNodeRefusal(error)) {
        throw error;
      }
      return await send(cap);
    },
  );
  const minedMeanwhile = (cause?: unknown): VaultError =>
    vaultError("VAULT_MINED_MEANWHILE", { network: vault.networkName }, cause);
  if (blockTime === undefined) {
    await rpc.request("evm_mine");
  } else {
    await rpc
      .request("evm_mine", [numberToHexString(blockTime)])
      .catch((error: unknown) => {
        // The clock went past it, or what waited is mined.
        throw isNodeRefusal(error) ? minedMeanwhile(error) : error;
      });
  }
  const executed = await outcomeOf(rpc, hash, gasGiven);
  const { block, gasUsed } = executed;
  if (blockTime !== undefined && block.timestamp !== blockTime) {
    throw minedMeanwhile();
  }
  return {
    ...executed,
    before,
    after: await readAll(parameters, block.number),
    gasNeeded: beforeRefunds(gasUsed),
    feePaid: gasUsed * gasPrice - prepaid,
    notes,
  };
}

/** The words of Hardhat's simulator for a failure without a revert. */
const executionFailure =
  /out of ?gas|opcode|EVM error|stack (?:under|over)flow|jump|instruction/iu;

/**
 * Reads all that is watched in one call, and again by itself what fails there:
 * a contract may refuse a caller that has code, as the lens has, or need more
 * gas than its share. Each call makes a fork fetch whatever it touches.
 */
async function readAll(
  { vault, watched }: SimulationParameters,
  block: BlockId,
): Promise<readonly CallResult[]> {
  const { from: reader } = vault.readContext({});
  const reads = readsOf(watched, reader);
  const lens = { [reader]: { code: simulationLensCode } };
  const call = async (to: string, data: string): Promise<CallResult> => {
    try {
      return await vault.rpc.call(
        { from: reader, to, data },
        block,
        ...(to === reader ? [lens] : []),
      );
    } catch (error) {
      if (
        isNodeRefusal(error) &&
        executionFailure.test(String(error.details["problem"]))
      ) {
        return { reverted: decodeRevertReason("0x") };
      }
      throw error;
    }
  };
  const together = parseRead(await call(reader, encodeRead(reads)));
  return await Promise.all(
    reads.map(async ({ target, data }, index) => {
      const answer = together[index];
      return answer !== undefined && "data" in answer
        ? answer
        : await call(target, data);
    }),
  );
}

const TRACE = "debug_traceTransaction";

/** @param hash Of a transaction that was mined. */
async function outcomeOf(
  rpc: RpcClient,
  hash: string,
  gasGiven: bigint,
): Promise<Pick<EngineResult, "block" | "failed" | "gasUsed" | "transfers">> {
  const [receipt, traced] = await Promise.all([
    rpc.receipt(hash),
    rpc.request(TRACE, [hash, { tracer: "callTracer" }]),
  ]);
  assertInvariant(receipt !== undefined, "a transaction that is not mined");
  const { gasUsed } = receipt;
  const { number, timestamp } = await rpc.getBlock(receipt.blockNumber);
  // The outermost call tells why a transaction failed.
  const { output, error } = rpc.parser(TRACE).record(traced);
  return {
    block: { number, timestamp },
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

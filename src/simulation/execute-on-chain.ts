import { numberToHexString } from "@nomicfoundation/hardhat-utils/hex";

import {
  NOBODYS_ADDRESS,
  simulationLensCode,
} from "../client/lens/simulation-lens.js";
import type { VaultHost } from "../host.js";
import { assertInvariant, vaultError } from "../errors.js";
import { isNodeRefusal } from "../rpc/errors.js";
import { TRANSACTION_GAS_CAP } from "../rpc/gas.js";
import type { BlockId } from "../rpc/rpc-client.js";
import { decodeRevertReason } from "../rpc/revert-reason.js";
import { beforeRefunds, settlementCall } from "./engine.js";
import type { EngineResult, SimulationParameters } from "./engine.js";
import { SimulatedChain } from "./simulated-chain.js";
import { readsOf } from "./watch-list.js";
import type { ReadAnswers } from "./watch-list.js";

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
  const rpc = new SimulatedChain(vault);
  const [before, gasPrice, balance] = await Promise.all([
    readAll(parameters, "latest"),
    rpc.quantity("eth_gasPrice"),
    rpc.balance(sender),
  ]);
  const send = async (gasGiven: bigint) => {
    const cost = gasGiven * gasPrice;
    // A simulation shows what the contract does, not if the account is rich.
    const given = balance >= cost ? 0n : cost;
    await rpc.command(
      "hardhat_setBalance",
      sender,
      numberToHexString(balance + given),
    );
    const hash = await rpc.command("eth_sendTransaction", {
      ...settlementCall(sender, target.address),
      gas: numberToHexString(gasGiven),
      gasPrice: numberToHexString(gasPrice),
    });
    assertInvariant(typeof hash === "string", "a transaction without a hash");
    return { hash, gasGiven, given };
  };
  const { hash, gasGiven, given } = await send(gas ?? next.gasLimit).catch(
    async (error: unknown) => {
      const cap = transactionGasCap(vault);
      if (gas !== undefined || next.gasLimit <= cap || !isNodeRefusal(error)) {
        throw error;
      }
      return await send(cap);
    },
  );
  await mineAt(rpc, hash, blockTime);
  const executed = await rpc.outcomeOf(hash, gasGiven);
  const { block, gasUsed } = executed;
  if (blockTime !== undefined && block.timestamp !== blockTime) {
    throw vaultError("VAULT_MINED_MEANWHILE", { network: vault.networkName });
  }
  return {
    ...executed,
    before,
    after: await readAll(parameters, block.number),
    gasNeeded: beforeRefunds(gasUsed),
    feePaid: gasUsed * gasPrice - given,
    notes,
  };
}

/** How Hardhat's simulator says that a contract failed without a revert. */
const executionFailure =
  /out of ?gas|opcode|EVM error|stack (?:under|over)flow|jump|instruction/iu;

/** Reads all that is watched, a call each. A contract may fail. */
async function readAll(
  { vault, watched }: SimulationParameters,
  block: BlockId,
): Promise<ReadAnswers> {
  const { rpc } = vault;
  const { from } = vault.readContext({});
  const lens = { [NOBODYS_ADDRESS]: { code: simulationLensCode } };
  const answers = readsOf(watched, NOBODYS_ADDRESS).map(
    async ({ target: to, data }) => {
      try {
        return await rpc.call(
          { from, to, data },
          block,
          ...(to === NOBODYS_ADDRESS ? [lens] : []),
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
    },
  );
  return await Promise.all(answers);
}

async function mineAt(
  rpc: SimulatedChain,
  hash: string,
  blockTime: number | undefined,
): Promise<void> {
  try {
    await rpc.command(
      "evm_mine",
      ...(blockTime === undefined ? [] : [numberToHexString(blockTime)]),
    );
  } catch (error) {
    // It may be in a block already, which the network has mined by itself.
    if ((await rpc.receipt(hash)) === undefined) {
      throw error;
    }
  }
}

/** Of networks that have one: by their hardfork, unless it is configured. */
function transactionGasCap({
  connection: { networkConfig },
}: VaultHost): bigint {
  const cap =
    networkConfig.type === "edr-simulated"
      ? networkConfig.transactionGasCap
      : undefined;
  return typeof cap === "bigint" ? cap : TRANSACTION_GAS_CAP;
}

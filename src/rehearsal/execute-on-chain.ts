import { numberToHexString } from "@nomicfoundation/hardhat-utils/hex";

import type { VaultHost } from "../host.js";
import { assertInvariant, vaultError } from "../errors.js";
import { isNodeRefusal } from "../rpc/errors.js";
import { TRANSACTION_GAS_CAP } from "../rpc/gas.js";
import { noCode } from "../client/answer.js";
import { NATIVE, nativeBalanceOf } from "./balances.js";
import type { Balance } from "./balances.js";
import type { ChainState } from "./compare-readings.js";
import { UNKNOWABLE, settlementCall } from "./question.js";
import type { Answer, Refusal, Subject } from "./question.js";
import { describeRefusal, isExhausted, outOfGas } from "./refusal.js";
import type { FailedCall } from "./refusal.js";
import { SimulatedChain } from "./simulated-chain.js";
import { readState } from "./watch-list.js";

/**
 * Calls `settleAll` in a transaction of its own block and tells what changed.
 * The network mines nothing by itself meanwhile, and impersonates the sender.
 *
 * @param subject On an in-process network, which is left as the settlement
 * leaves it.
 * @param before The state that it starts from.
 * @param blockTime Date of the block, Unix seconds; undefined for the chain's
 * own time.
 */
export async function executeSettlement(
  { vault, sender, target, watched, gas }: Subject,
  before: ChainState,
  blockTime: number | undefined,
): Promise<Answer> {
  const chain = new SimulatedChain(vault);
  const [gasPrice, blockGasLimit] = await Promise.all([
    chain.quantity("eth_gasPrice"),
    chain.gasLimit("pending"),
  ]);
  const send = async (gasLimit: bigint): Promise<Sent> => {
    const given = await fund(chain, sender, {
      balance: nativeBalanceOf(sender, before.balances),
      cost: gasLimit * gasPrice,
    });
    const hash = await chain.command("eth_sendTransaction", {
      ...settlementCall(sender, target.address),
      gas: numberToHexString(gasLimit),
      gasPrice: numberToHexString(gasPrice),
    });
    assertInvariant(typeof hash === "string", "a transaction without a hash");
    return { hash, gasLimit, given };
  };
  const { hash, gasLimit, given } = await send(gas ?? blockGasLimit).catch(
    async (error: unknown) => {
      const cap = transactionGasCap(vault);
      if (gas !== undefined || blockGasLimit <= cap || !isNodeRefusal(error)) {
        throw error;
      }
      return await send(cap);
    },
  );
  await mineAt(chain, hash, blockTime);
  const { failure, ...executed } = await chain.outcomeOf(hash);
  const { block, gasUsed } = executed;
  if (blockTime !== undefined && block.timestamp !== blockTime) {
    throw vaultError("VAULT_MINED_MEANWHILE", { network: vault.networkName });
  }
  const after = await readState(vault, watched, block.number);
  return {
    ...executed,
    before,
    after: {
      ...after,
      // The fee is the caller's to take off, at the price of a real settlement.
      balances: withNative(after.balances, sender, gasUsed * gasPrice - given),
    },
    refusal:
      failure === undefined
        ? null
        : await refusalOf(
            vault,
            { ...failure, gasUsed, gasGiven: gasLimit },
            gas,
            blockGasLimit,
          ),
    gasNeeded: beforeRefunds(gasUsed),
    notes: [UNKNOWABLE],
  };
}

/**
 * A call to an address without code succeeds, which would look like a
 * settlement.
 *
 * @throws VaultError VAULT_NO_CODE
 */
export async function requireTarget(
  { vault, target }: Subject,
  blockNumber: number,
): Promise<void> {
  if (!(await vault.chain.hasCode(target.address, blockNumber))) {
    throw noCode("vault", target, vault.networkName, blockNumber);
  }
}

/** A refund gives back a fifth at most (EIP-3529). */
export function beforeRefunds(gasUsed: bigint): bigint {
  return (gasUsed * 5n + 3n) / 4n;
}

function withNative(
  balances: readonly Balance[],
  account: string,
  difference: bigint,
): readonly Balance[] {
  return balances.map((balance) =>
    balance.account === account && balance.token === NATIVE
      ? { ...balance, amount: balance.amount + difference }
      : balance,
  );
}

async function refusalOf(
  vault: VaultHost,
  failed: FailedCall,
  gas: bigint | undefined,
  blockGasLimit: bigint,
): Promise<Refusal> {
  const { gasGiven } = failed;
  return gas === undefined && gasGiven < blockGasLimit && isExhausted(failed)
    ? outOfGas(vault.networkName, failed.message !== undefined, {
        gas: gasGiven,
        limit:
          "this network's hardfork allows one transaction (EIP-7825, from osaka on)",
        remedy:
          "If the chain has no such limit, rehearse by the rules of another hardfork, as in prague.",
      })
    : await describeRefusal(vault, gas, blockGasLimit, failed);
}

async function mineAt(
  chain: SimulatedChain,
  hash: string,
  blockTime: number | undefined,
): Promise<void> {
  try {
    await chain.command(
      "evm_mine",
      ...(blockTime === undefined ? [] : [numberToHexString(blockTime)]),
    );
  } catch (error) {
    // It may be in a block already, which the network has mined by itself.
    if ((await chain.receipt(hash)) === undefined) {
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

/** A transaction that waits. */
interface Sent {
  readonly hash: string;
  readonly gasLimit: bigint;
  /** What its sender was given to pay for it, in wei. */
  readonly given: bigint;
}

/**
 * Gives the account what its gas may cost, if it has not so much: a rehearsal
 * tells what the contract does, not whether the account is rich.
 *
 * @returns How much that was.
 */
async function fund(
  chain: SimulatedChain,
  account: string,
  { balance, cost }: { balance: bigint; cost: bigint },
): Promise<bigint> {
  if (balance >= cost) {
    return 0n;
  }
  await chain.command(
    "hardhat_setBalance",
    account,
    numberToHexString(balance + cost),
  );
  return cost;
}

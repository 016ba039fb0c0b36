import { numberToHexString } from "@nomicfoundation/hardhat-utils/hex";

import { encodeCall } from "../client/codec.js";
import type { VaultHost } from "../host.js";
import { assertInvariant, vaultError } from "../errors.js";
import type { VaultError } from "../errors.js";
import { contractRoles } from "../protocol/index.js";
import { Chain } from "../rpc/node.js";
import type { LocatedAddress } from "../client/addresses.js";
import { NATIVE, nativeBalanceOf } from "./balances.js";
import type { Balance } from "./balances.js";
import { compareReadings, readState, roundOf } from "./compare-readings.js";
import type { ChainState, StateSubjects } from "./compare-readings.js";
import type { Answer, Refusal } from "./question.js";
import {
  TRANSACTION_GAS_CAP,
  describeRefusal,
  isExhausted,
  outOfGas,
} from "./refusal.js";
import type { FailedCall } from "./refusal.js";
import { SimulatedChain } from "./simulated-chain.js";

/** A settlement to execute, all of it checked. */
export interface Execution {
  readonly sender: string;
  /** Address of the vault contract. */
  readonly target: string;
  readonly subjects: StateSubjects;
  /** The state that it starts from. */
  readonly before: ChainState;
  /** Date of the block, Unix seconds; the chain's own time unless given. */
  readonly blockTime: number | undefined;
  /** Gas limit of the transaction; what the rules allow unless given. */
  readonly gas: bigint | undefined;
}

const hardforksWithoutGasCap: ReadonlySet<string> = new Set([
  "byzantium",
  "constantinople",
  "petersburg",
  "istanbul",
  "muirGlacier",
  "berlin",
  "london",
  "arrowGlacier",
  "grayGlacier",
  "merge",
  "shanghai",
  "cancun",
  "prague",
]);

/**
 * Calls `settleAll` in a transaction of its own block and tells what changed.
 * The network mines nothing by itself meanwhile, and impersonates the sender.
 *
 * @param vault Of an in-process network; it is left as the settlement leaves it.
 */
export async function executeSettlement(
  vault: VaultHost,
  { sender, target, subjects, before, blockTime, gas }: Execution,
): Promise<Answer> {
  const chain = new SimulatedChain(vault);
  const [gasPrice, limits] = await Promise.all([
    chain.quantity("eth_gasPrice"),
    usableGas(vault, chain),
  ]);
  const gasLimit = gas ?? limits.usable;
  const given = await fund(chain, sender, {
    balance: nativeBalanceOf(sender, before.balances),
    cost: gasLimit * gasPrice,
  });
  const hash = await chain.request("eth_sendTransaction", {
    from: sender,
    to: target,
    data: encodeCall("settleAll", []).data,
    gas: numberToHexString(gasLimit),
    gasPrice: numberToHexString(gasPrice),
  });
  assertInvariant(typeof hash === "string", "a transaction without a hash");
  await mineAt(chain, hash, blockTime);
  const { block, gasUsed, transfers, failure } = await chain.outcomeOf(hash);
  if (blockTime !== undefined && block.timestamp !== blockTime) {
    throw new MinedMeanwhile();
  }
  const after = await readState(vault, block.number, subjects);
  return {
    chainId: before.readings.snapshot.chainId,
    block,
    roundBefore: roundOf(before.readings),
    roundAfter: roundOf(after.readings),
    changes: compareReadings(
      before.readings,
      after.readings,
      subjects.orderIDs,
    ),
    before: before.balances,
    // The fee is the caller's to take off, at the price of a real settlement.
    after: withNative(after.balances, sender, gasUsed * gasPrice - given),
    refusal:
      failure === undefined
        ? null
        : await refusalOf(
            vault,
            { ...failure, gasUsed, gasGiven: gasLimit },
            gas,
            limits,
          ),
    gasUsed,
    gasNeeded: beforeRefunds(gasUsed),
    transfers,
    notes: [],
  };
}

/** The answer where nothing is executed. */
export function notExecuted(
  { readings, balances }: ChainState,
  refusal: Refusal | null,
): Answer {
  const round = roundOf(readings);
  return {
    chainId: readings.snapshot.chainId,
    block: null,
    roundBefore: round,
    roundAfter: round,
    changes: [],
    before: balances,
    after: balances,
    refusal,
    gasUsed: null,
    gasNeeded: null,
    transfers: [],
    notes: [],
  };
}

/**
 * A call to an address without code succeeds, which would look like a
 * settlement.
 *
 * @throws VaultError VAULT_NO_CODE
 */
export async function requireCode(
  { provider, networkName }: VaultHost,
  target: LocatedAddress,
  blockNumber: number,
): Promise<void> {
  const chain = new Chain(provider, networkName);
  if (!(await chain.hasCode(target.address, blockNumber))) {
    throw noCode(networkName, target, blockNumber);
  }
}

/** There is no contract to settle. */
export function noCode(
  network: string,
  { address, source }: LocatedAddress,
  blockNumber: number,
): VaultError {
  return vaultError("VAULT_NO_CODE", {
    address,
    when: ` at block ${blockNumber}`,
    contract: contractRoles.vault.label,
    network,
    source,
  });
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
  { block, usable }: GasLimits,
): Promise<Refusal> {
  return gas === undefined && usable < block && isExhausted(failed)
    ? outOfGas(vault.networkName, failed.message !== undefined, {
        gas: usable,
        limit:
          "this network's hardfork allows one transaction (EIP-7825, from osaka on)",
        remedy:
          "If the chain has no such limit, rehearse by the rules of another hardfork, as in prague",
      })
    : await describeRefusal(vault, gas, block, failed);
}

/**
 * The network has mined the transaction by itself, on a timer that nothing can
 * be asked about: not in the block that was meant for it.
 */
export class MinedMeanwhile extends Error {}

async function mineAt(
  chain: SimulatedChain,
  hash: string,
  blockTime: number | undefined,
): Promise<void> {
  try {
    await chain.mine(blockTime);
  } catch (error) {
    // Such a block may be dated later than the one that was asked for.
    throw (await chain.isMined(hash)) ? new MinedMeanwhile() : error;
  }
}

/** What a transaction may use. */
interface GasLimits {
  /** What a block has room for. */
  readonly block: bigint;
  /** As much of it as the rules allow one transaction. */
  readonly usable: bigint;
}

async function usableGas(
  { connection }: VaultHost,
  chain: SimulatedChain,
): Promise<GasLimits> {
  const { networkConfig, chainType } = connection;
  assertInvariant(
    networkConfig.type === "edr-simulated",
    "a simulation on a network that is not in process",
  );
  const { transactionGasCap, hardfork } = networkConfig;
  const block = await chain.nextGasLimit();
  const cap =
    transactionGasCap ??
    (chainType !== "op" && !hardforksWithoutGasCap.has(hardfork)
      ? TRANSACTION_GAS_CAP
      : false);
  return { block, usable: cap === false || block < cap ? block : cap };
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
  await chain.request(
    "hardhat_setBalance",
    account,
    numberToHexString(balance + cost),
  );
  return cost;
}

import { numberToHexString } from "@nomicfoundation/hardhat-utils/hex";

import { encodeCall } from "../client/codec.js";
import type { VaultHost } from "../host.js";
import { assertInvariant } from "../errors.js";
import { compareBalances, nativeBalanceOf } from "./balances.js";
import { compareReadings, readState, roundOf } from "./compare-readings.js";
import type { ChainState, StateSubjects } from "./compare-readings.js";
import { SimulatedChain } from "./simulated-chain.js";
import type { Simulation } from "./types.js";

/** A settlement to rehearse, all of it checked. */
export interface Rehearsal {
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

/** EIP-7825: what one transaction may use, from the osaka hardfork on. */
const TRANSACTION_GAS_CAP = 16_777_216n;

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
export async function rehearse(
  vault: VaultHost,
  { sender, target, subjects, before, blockTime, gas }: Rehearsal,
): Promise<Simulation> {
  const chain = new SimulatedChain(vault);
  const gasPrice = await chain.quantity("eth_gasPrice");
  const gasLimit = gas ?? (await usableGas(vault, chain));
  const funding = await fund(chain, sender, {
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
  const { block, gasUsed, failure } = await chain.outcomeOf(hash);
  if (blockTime !== undefined && block.timestamp !== blockTime) {
    throw new MinedMeanwhile();
  }
  const after = await readState(vault, block.number, subjects);
  return {
    status: failure === null ? "settled" : "reverted",
    reason: failure ?? doubtAbout(after),
    gasUsed,
    block,
    changes: compareReadings(
      before.readings,
      after.readings,
      subjects.orderIDs,
    ),
    balances: compareBalances(before.balances, after.balances, funding),
  };
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

/** A success that leaves the round as it was must not look like one. */
function doubtAbout({ readings }: ChainState): string | null {
  return roundOf(readings)?.settled === false
    ? "the contract accepts the call, but the round is not settled after it"
    : null;
}

/** As much gas as the block has room for and the rules allow a transaction. */
async function usableGas(
  { connection }: VaultHost,
  chain: SimulatedChain,
): Promise<bigint> {
  const { networkConfig, chainType } = connection;
  assertInvariant(
    networkConfig.type === "edr-simulated",
    "a simulation on a network that is not in process",
  );
  const { transactionGasCap, hardfork } = networkConfig;
  const gasLimit = await chain.nextGasLimit();
  const cap =
    transactionGasCap ??
    (chainType !== "op" && !hardforksWithoutGasCap.has(hardfork)
      ? TRANSACTION_GAS_CAP
      : false);
  return cap === false || gasLimit < cap ? gasLimit : cap;
}

/**
 * Gives the account what its gas may cost, if it has not so much: a rehearsal
 * tells what the contract does, not whether the account is rich.
 */
async function fund(
  chain: SimulatedChain,
  account: string,
  { balance, cost }: { balance: bigint; cost: bigint },
): Promise<{ account: string; amount: bigint }> {
  if (balance >= cost) {
    return { account, amount: 0n };
  }
  await chain.request(
    "hardhat_setBalance",
    account,
    numberToHexString(balance + cost),
  );
  return { account, amount: cost };
}

import { AsyncMutex } from "@nomicfoundation/hardhat-utils/synchronization";

import { vaultError } from "../../errors.js";
import type { VaultRound } from "../../protocol/index.js";
import type { Eip1193Provider } from "../../rpc/eip1193.js";
import { Chain } from "../../rpc/node.js";
import type { Header } from "../../rpc/node.js";
import { forgetBlocks, originOf } from "../../rpc/patient.js";
import { readState, roundOf } from "../compare-readings.js";
import type { StateSubjects } from "../compare-readings.js";
import {
  MinedMeanwhile,
  executeSettlement,
  notExecuted,
  requireCode,
} from "../execute-on-chain.js";
import { UNKNOWABLE } from "../question.js";
import type { Answer, Question } from "../question.js";
import { SimulatedChain } from "../simulated-chain.js";

/** How often it is tried where blocks that come by themselves interfere. */
const ATTEMPTS = 10;

/**
 * Rehearses on an in-process network itself, and undoes it.
 *
 * @param timeOf The date of the block, Unix seconds, once it is known after
 * which block it comes; undefined for the chain's own clock.
 * @returns With the block that it started from.
 * @throws VaultError VAULT_NO_CODE, VAULT_INVALID_ARGUMENT
 */
export async function rehearseInProcess(
  {
    vault,
    sender,
    target,
    watched,
    gas,
  }: Omit<Question, "next" | "watched"> & { readonly watched: StateSubjects },
  timeOf: (header: Header, round: VaultRound | undefined) => number | undefined,
): Promise<{ readonly answer: Answer; readonly header: Header }> {
  const { provider, networkName } = vault;
  const chain = new Chain(provider, networkName);
  for (let attempt = 1; attempt <= ATTEMPTS; attempt += 1) {
    const header = await chain.header();
    const [before] = await Promise.all([
      readState(vault, header.number, watched),
      requireCode(vault, target, header.number),
    ]);
    const round = roundOf(before.readings);
    const blockTime = timeOf(header, round);
    if (round?.settled === true) {
      return { header, answer: notExecuted(before, null) };
    }
    try {
      const answer = await inSandbox(
        provider,
        new SimulatedChain(vault),
        sender,
        async () =>
          await executeSettlement(vault, {
            sender,
            target: target.address,
            subjects: watched,
            before,
            blockTime,
            gas,
          }),
      );
      return { header, answer: { ...answer, notes: [UNKNOWABLE] } };
    } catch (error) {
      if (!(error instanceof MinedMeanwhile)) {
        throw error;
      }
    }
  }
  throw vaultError("VAULT_INVALID_ARGUMENT", {
    where: "atTime",
    problem: `network ${networkName} mines by itself too often for a block of that date; stop it with evm_setIntervalMining`,
  });
}

const oneAtATime = new WeakMap<Eip1193Provider, AsyncMutex>();

/**
 * Lets two simulations on one network wait for each other: each would see what
 * the other did, and reverting the snapshot of the first would throw away that
 * of the second.
 */
export async function exclusively<T>(
  provider: Eip1193Provider,
  work: () => Promise<T>,
): Promise<T> {
  const origin = originOf(provider);
  const mutex = oneAtATime.get(origin) ?? new AsyncMutex();
  oneAtATime.set(origin, mutex);
  return await mutex.exclusiveRun(work);
}

/**
 * Runs work on an in-process network and undoes what it did: state, nonces,
 * balances, blocks, waiting transactions, prices and the clock come back with a
 * snapshot, mining mode and impersonation, which no snapshot holds, by hand.
 *
 * Keep the work short: the simulator adds the time between a snapshot and its
 * revert to the chain's clock, in whole seconds, and has no way to set it back.
 *
 * @param account Impersonated during the work.
 */
async function inSandbox<T>(
  provider: Eip1193Provider,
  chain: SimulatedChain,
  account: string,
  work: () => Promise<T>,
): Promise<T> {
  const isAutomatic = await chain.request("hardhat_getAutomine");
  // The only way to find out: it answers whether there was anything to stop.
  const wasImpersonated = await chain.request(
    "hardhat_stopImpersonatingAccount",
    account,
  );
  // Each step undoes itself, whatever fails after it.
  try {
    await chain.request("hardhat_impersonateAccount", account);
    await chain.request("evm_setAutomine", false);
    const snapshot = await chain.request("evm_snapshot");
    try {
      await dropWaitingTransactions(chain);
      return await work();
    } finally {
      await chain.request("evm_revert", snapshot);
      forgetBlocks(provider);
    }
  } finally {
    try {
      await chain.request("evm_setAutomine", isAutomatic);
    } finally {
      await chain.request(
        wasImpersonated === true
          ? "hardhat_impersonateAccount"
          : "hardhat_stopImpersonatingAccount",
        account,
      );
    }
  }
}

/** They would be mined along, and their effects reported as the settlement's. */
async function dropWaitingTransactions(chain: SimulatedChain): Promise<void> {
  const waiting = await chain.request("eth_pendingTransactions");
  const transactions: readonly unknown[] = Array.isArray(waiting)
    ? waiting
    : [];
  for (const transaction of transactions) {
    const { hash }: Readonly<Record<string, unknown>> =
      typeof transaction === "object" ? { ...transaction } : {};
    await chain.request("hardhat_dropTransaction", hash);
  }
}

import { vaultError } from "../errors.js";
import type { VaultHost } from "../host.js";
import { describeRound } from "../protocol/round.js";
import { getNonce } from "../rpc/accounts.js";
import type { RpcClient } from "../rpc/rpc-client.js";
import { findGuard, findRoute } from "../settlement-call/guarded.js";
import { findTargetBlock } from "../settlement-call/next-block.js";
import { settlementCall } from "../settlement-call/route.js";
import { agree } from "./agree.js";
import { checkInTime, roundChecker } from "./check-round.js";
import { follow } from "./follow.js";
import { Journal, describeTransaction, journalChain } from "./journal.js";
import type { JournalEntry } from "./journal.js";
import { observe, reasonNotToSettle } from "./observe.js";
import type { Observation } from "./observe.js";
import { parseOptions } from "./options.js";
import type { ParsedOptions } from "./options.js";
import { propose } from "./propose.js";
import { requireReplaceable } from "./replace.js";
import { describeFinished, nothingToDo, refusalOf, stopped } from "./result.js";
import type { KnownAtStop, SettlementResult } from "./result.js";
import { describeProblem } from "./send.js";
import { resolveSigner } from "./signer.js";
import type { Signer } from "./signer.js";
import { findFreeNonce, sign } from "./transaction.js";
import type { SettleAllOptions } from "./types.js";

/** @see HardhatVault.settleAll */
export async function settleAll(
  vault: VaultHost,
  given: SettleAllOptions,
): Promise<SettlementResult> {
  const options = parseOptions(vault, given);
  if (options.resume === true) {
    return await resume(vault, options);
  }
  // settleNext() refuses if the journal has an earlier settlement. With if-interrupted
  // that one is resumed, and then the rest is settled.
  const first = await settleNext(vault, options);
  if (
    options.resume !== "if-interrupted" ||
    first.settlement.code !== "VAULT_SETTLEMENT_UNFINISHED"
  ) {
    return first;
  }
  const resumed = await resume(vault, options);
  if (!resumed.isFinal) {
    return resumed;
  }
  options.emit({ type: "resumed", settlement: resumed.settlement });
  try {
    const next = await settleNext(vault, options);
    return resumed.settlement.status === "settled" &&
      next.settlement.status === "nothing-to-do"
      ? resumed
      : next;
  } catch (error) {
    // The caller has to learn what became of the transaction that was sent.
    const message = `the next settlement was not begun: ${describeProblem(error)}`;
    options.emit({ type: "trouble", message });
    return resumed;
  }
}

/**
 * Observes, proposes, asks for consent, signs, writes the journal, checks the round again,
 * then sends and follows.
 */
async function settleNext(
  vault: VaultHost,
  options: ParsedOptions,
): Promise<SettlementResult> {
  const { ifExpired, assertOnly, limits } = options;
  let known: KnownAtStop = {};
  try {
    const answers = assertOnly === true ? undefined : askAhead(vault, options);
    const next = await findTargetBlock(vault);
    const observation = await observe(vault, next.number - 1);
    const { chainId, block, round } = observation;
    known = { chainId, block, round };
    // Before the round is judged, so that a wrong key or guard fails every run of a keeper.
    const means =
      answers === undefined
        ? undefined
        : await prepare(vault, observation, options, answers);
    const guard = means?.route.guard?.address;
    known = { ...known, guard };
    const reason = reasonNotToSettle(round, ifExpired, next.timestamp);
    if (reason !== undefined) {
      return await stopped(nothingToDo(reason), vault, known);
    }
    // With assertOnly nothing is prepared: a round to settle is a failure.
    if (means === undefined) {
      const details = { round: describeRound(round) };
      throw vaultError("VAULT_SETTLEMENT_NEEDED", details);
    }
    const { signer, journal, route } = means;
    const proposal = await propose(
      vault,
      signer,
      next,
      observation,
      route,
      options,
    );
    if (proposal.kind === "stopped") {
      return await stopped(proposal, vault, known);
    }
    known = { ...known, preview: proposal.preflight.preview };
    const agreement = await agree(vault, signer, proposal, options);
    if (agreement.kind === "stopped") {
      return await stopped(agreement, vault, known);
    }
    const { gas, price, preflight } = agreement;
    known = { ...known, preview: preflight.preview };
    // In process Hardhat fills in the fees, which are free, unless there is a limit.
    const fees =
      signer.kind === "in-process" && limits.maxFeePerGas === undefined
        ? undefined
        : price.fees;
    const nonce = await findFreeNonce(vault.rpc, signer, block.number);
    const call = { ...settlementCall(route), chainId, nonce, gas, fees };
    const transaction = await sign(vault.rpc, signer, call);
    const preparedAt = Date.now();
    const entry: JournalEntry = {
      since: Math.floor(preparedAt / 1_000),
      sentAfterBlock: block.number,
      round,
      transactions: [{ ...transaction, kind: "settlement", preparedAt }],
      ...(guard !== undefined && { guard }),
    };
    // Another process may have begun one, or ended it, before the user confirmed.
    await refuseOtherAccount(vault.rpc, journal, signer);
    await journal.begin(entry);
    // An age is shown only of a block that is too old, and a person agreed to it.
    const acceptsOldHead = preflight.headAge !== null;
    const check = roundChecker(vault, journal, entry, options, acceptsOldHead);
    // If nothing is to be sent, this also finishes the journal.
    const checked = await checkInTime(check, vault, journal, entry, options);
    if (checked.obstacle !== undefined) {
      return await stopped(checked.obstacle, vault, known);
    }
    // follow() sends, then looks at the chain and does what decide.ts decides, until the end.
    // Without `sending`, as in resume(), it begins with a look. report.ts makes the result.
    const sending = { check, checkedAt: checked.answeredAt };
    const { preview } = preflight;
    const followed = { journal, entry, sending, preview };
    return { block, ...(await follow(vault, followed, options)) };
  } catch (error) {
    // An error with `refuses` in errors.ts becomes a result.
    return await stopped(refusalOf(error), vault, known);
  }
}

/** Follows the transaction of an earlier process, or replaces it. */
async function resume(
  vault: VaultHost,
  options: ParsedOptions,
): Promise<SettlementResult> {
  let knownHash: string | undefined;
  try {
    const { chainId, contract, block, round } = await observe(vault, "latest");
    const journal = await Journal.open(vault, chainId, contract.address);
    // The connection may have been made to another node.
    await journal.requireSameChainKind(vault);
    const unfinished = await journal.read();
    // A finished one that may still arrive is replaced, too.
    const entry =
      unfinished ??
      (options.replacement === undefined
        ? undefined
        : await journal.readStillArriving());
    if (entry !== undefined) {
      const newest = entry.transactions.at(-1) ?? entry.transactions[0];
      knownHash = newest.hash;
      if (options.replacement !== undefined) {
        await requireReplaceable(vault, newest);
      }
      if (unfinished === undefined) {
        await journal.begin(entry);
      }
      const { hash = null, nonce } = newest;
      options.emit({ type: "resuming", hash, nonce });
      const followed = { journal, entry, preview: null };
      return { block, ...(await follow(vault, followed, options)) };
    }
    const last = await journal.readFinished();
    if (last === undefined) {
      throw vaultError("VAULT_NOTHING_TO_RESUME", {
        vault: contract.address,
        network: vault.networkName,
        file: journal.isKept ? journal.file : "in process there is no journal",
      });
    }
    const settlement = describeFinished(last, round);
    return { settlement, isFinal: true, chainId, block };
  } catch (error) {
    const refusal = refusalOf(error);
    const hash = refusal.hash ?? knownHash;
    return await stopped({ ...refusal, hash }, vault, {});
  }
}

/**
 * Asks at the same time as the first requests for answers that are needed after them. A
 * failure counts where the answer is used.
 */
function askAhead(vault: VaultHost, { from }: ParsedOptions) {
  const { networkConfig } = vault.connection;
  const hasKeys =
    networkConfig.type === "http" && networkConfig.accounts !== "remote";
  const chain = journalChain(vault);
  const guard = findGuard(vault);
  // A configured key needs no answer, but may need a person.
  const signer = hasKeys
    ? undefined
    : resolveSigner(vault.rpc, networkConfig, from);
  for (const answer of [chain, guard, signer]) {
    answer?.catch(() => undefined);
  }
  return { chain, guard, signer };
}

/**
 * @throws VaultError if there is no signer, or an earlier settlement is unfinished or may
 * still arrive, or the guard is not valid
 */
async function prepare(
  vault: VaultHost,
  { chainId, contract, round }: Observation,
  { from, ifExpired, partial }: ParsedOptions,
  answers: ReturnType<typeof askAhead>,
) {
  const { rpc, connection } = vault;
  const signer = await (answers.signer ??
    resolveSigner(rpc, connection.networkConfig, from));
  const { address } = contract;
  const journal = await Journal.open(vault, chainId, address, answers.chain);
  await journal.refuseUnfinished();
  await refuseOtherAccount(vault.rpc, journal, signer);
  const terms = { round, mustHaveEnded: ifExpired, mustSettle: !partial };
  const { guard } = answers;
  const route = await findRoute(vault, signer.address, "latest", terms, guard);
  return { signer, journal, route };
}

/**
 * Refuses another account while an earlier settlement may still arrive: it would settle
 * the next round.
 *
 * @throws VaultError VAULT_ACCOUNT_MUST_WAIT, VAULT_INVALID_JOURNAL
 */
async function refuseOtherAccount(
  rpc: RpcClient,
  journal: Journal,
  { address }: Signer,
): Promise<void> {
  const last = await journal.readStillArriving();
  if (last === undefined) {
    return;
  }
  const [{ from, nonce }] = last.transactions;
  if (
    from.toLowerCase() !== address.toLowerCase() &&
    (await getNonce(rpc, from, "latest")) <= nonce
  ) {
    const transaction = describeTransaction(last);
    throw vaultError("VAULT_ACCOUNT_MUST_WAIT", { from, nonce, transaction });
  }
}

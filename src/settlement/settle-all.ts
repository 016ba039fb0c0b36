import { checkOptionNames } from "../client/option-names.js";
import { vaultError } from "../errors.js";
import type { VaultHost } from "../host.js";
import { describeRound } from "../protocol/round.js";
import { settlementCall } from "../settlement-call/route.js";
import type { SettlementRoute } from "../settlement-call/route.js";
import { findGuard, findRoute } from "../settlement-call/guarded.js";
import type { FoundGuard } from "../settlement-call/guarded.js";
import { findBlock } from "../settlement-call/next-block.js";
import type { Simulation } from "../simulation/types.js";
import { agree, recheckRound } from "./agree.js";
import { follow } from "./follow.js";
import { Journal, journalChain } from "./journal.js";
import type { JournalChain, JournalEntry } from "./journal.js";
import { lastLook } from "./last-look.js";
import { findFreeNonce, refuseBeforeOther } from "./nonce.js";
import { observe, reasonNotToSettle } from "./observe.js";
import type { Observation } from "./observe.js";
import { nothingToDo } from "./outcome.js";
import type { Stopped } from "./outcome.js";
import type { Terms } from "./preview.js";
import {
  changeSince,
  makePreview,
  renewPreview,
  termsWithin,
} from "./renew-preview.js";
import type { DatedPreview } from "./renew-preview.js";
import { parseReplacement, replacerOf } from "./replace.js";
import { refusalOf, stopped, withGuard } from "./result.js";
import type { SettlementResult } from "./result.js";
import { resume } from "./resume.js";
import { resolveSigner } from "./signer.js";
import type { Signer } from "./signer.js";
import { sign } from "./transaction.js";
import { settleAllOptionNames } from "./types.js";
import type { SettleAllOptions, SettlementPreflight } from "./types.js";
import { parseWaiting } from "./waiting.js";
import type { Waiting } from "./waiting.js";

/** @see HardhatVault.settleAll */
export async function settleAll(
  vault: VaultHost,
  options: SettleAllOptions,
): Promise<SettlementResult> {
  checkOptionNames("settleAll()", options, settleAllOptionNames);
  const waiting = parseWaiting(vault, options);
  const request = parseReplacement(options);
  if (options.resume === true) {
    return await resume(vault, waiting, request);
  }
  const first = await settleNext(vault, waiting, options);
  if (
    options.resume !== "if-interrupted" ||
    first.settlement.code !== "VAULT_SETTLEMENT_UNFINISHED"
  ) {
    return first;
  }
  const resumed = await resume(vault, waiting);
  if (!resumed.isFinal) {
    return resumed;
  }
  waiting.emit({ type: "resumed", settlement: resumed.settlement });
  const next = await settleNext(vault, waiting, options);
  return resumed.settlement.status === "settled" &&
    next.settlement.status === "nothing-to-do"
    ? resumed
    : next;
}

async function settleNext(
  vault: VaultHost,
  waiting: Waiting,
  options: SettleAllOptions,
): Promise<SettlementResult> {
  let seen: Observation | undefined;
  let simulation: Simulation | null = null;
  let guard: string | null = null;
  const stop = async (why: Stopped): Promise<SettlementResult> =>
    withGuard(await stopped(why, vault, seen, simulation), guard);
  try {
    const asked = options.assertOnly === true ? {} : askAhead(vault, options);
    const next = await findBlock(vault);
    seen = await observe(vault, next.number - 1);
    const { chainId, block, round } = seen;
    const prepared =
      options.assertOnly === true
        ? undefined
        : await prepare(vault, seen, options, asked);
    guard = prepared?.route.guard?.address ?? null;
    const { ifExpired } = waiting;
    const reason = reasonNotToSettle(round, ifExpired, next.timestamp);
    if (reason !== undefined) {
      return await stop(nothingToDo(reason));
    }
    if (prepared === undefined) {
      const details = { round: describeRound(round) };
      throw vaultError("VAULT_SETTLEMENT_NEEDED", details);
    }
    const { signer, journal, route } = prepared;
    const made = await makePreview(vault, signer, next, seen, route, waiting);
    if ("status" in made) {
      return await stop(made);
    }
    simulation = made.found.shown.preview;
    const agreed = await agreeOn(vault, signer, made, waiting, options);
    if ("status" in agreed) {
      return await stop(agreed);
    }
    const { terms, shown } = agreed;
    simulation = shown.preview;
    const { gas, price } = terms;
    const { limits } = waiting;
    // In process Hardhat fills in the fees, which are free, unless there is a limit.
    const fees =
      signer.kind === "in-process" && limits.maxFeePerGas === undefined
        ? undefined
        : price.fees;
    const nonce = await findFreeNonce(vault.rpc, signer, block.number);
    const transaction = await sign(vault.rpc, signer, {
      ...settlementCall(route),
      chainId,
      nonce,
      gas,
      fees,
    });
    const preparedAt = Date.now();
    const entry: JournalEntry = {
      since: Math.floor(preparedAt / 1_000),
      sentAfterBlock: block.number,
      round,
      transactions: [{ ...transaction, kind: "settlement", preparedAt }],
      ...(guard !== null && { guard }),
    };
    // Another process may have begun one, or ended it, before the user confirmed.
    await refuseBeforeOther(vault.rpc, journal, signer);
    await journal.begin(entry);
    const acceptsOldHead = shown.headAge !== null;
    const checkRound = lastLook(vault, journal, round, {
      ifExpired,
      acceptsOldHead,
    });
    const { networkName } = vault;
    const { obstacle, answeredAt: checkedAt } = await recheckRound(
      checkRound,
      networkName,
      journal,
      entry,
      waiting,
    );
    if (obstacle !== undefined) {
      return await stop(obstacle);
    }
    const followed = {
      journal,
      entry,
      start: "send",
      replacer: replacerOf(vault, entry, waiting.limits),
      previewed: simulation,
      checkRound,
      checkedAt,
    } as const;
    return { block, ...(await follow(vault, followed, waiting)) };
  } catch (error) {
    return await stop(refusalOf(error));
  }
}

/**
 * Asks for confirmation, and once more if the settlement is another one by then.
 *
 * @throws VaultError VAULT_PREVIEW_CHANGED if nobody can be asked, or after two answers
 */
async function agreeOn(
  vault: VaultHost,
  signer: Signer,
  made: DatedPreview,
  waiting: Waiting,
  options: SettleAllOptions,
): Promise<
  Stopped | { readonly terms: Terms; readonly shown: SettlementPreflight }
> {
  let current = made;
  for (let isRepeated = false; ; isRepeated = true) {
    const { found, seen } = current;
    const { shown } = found;
    const agreed = await agree(vault, found, seen, waiting, options);
    if ("status" in agreed) {
      return agreed;
    }
    const renewed = await renewPreview(vault, signer, current, waiting);
    if (renewed === undefined) {
      return { terms: agreed, shown };
    }
    if ("status" in renewed) {
      return renewed;
    }
    const change = changeSince(found, renewed.found);
    const { terms } = renewed.found;
    if (change === undefined && !("status" in terms)) {
      return { terms: termsWithin(terms, shown), shown };
    }
    if (waiting.isUnattended || isRepeated) {
      throw vaultError("VAULT_PREVIEW_CHANGED", { change: change ?? "" });
    }
    current = renewed;
  }
}

/** Answers that {@link prepare} needs, and that depend on no other answer. */
interface AskedAhead {
  readonly signer?: Promise<Signer>;
  readonly chain?: Promise<JournalChain>;
  readonly guard?: Promise<FoundGuard | undefined>;
}

/**
 * Asks at the same time as the first requests for answers that are needed after them. A
 * failure counts where the answer is used.
 */
function askAhead(
  vault: VaultHost,
  { from }: Pick<SettleAllOptions, "from">,
): AskedAhead {
  const { networkConfig } = vault.connection;
  const asked = {
    chain: journalChain(vault),
    guard: findGuard(vault),
    // A configured key needs no answer, but may need a person.
    ...((networkConfig.type !== "http" ||
      networkConfig.accounts === "remote") && {
      signer: resolveSigner(vault.rpc, networkConfig, from),
    }),
  };
  for (const answer of Object.values(asked)) {
    answer.catch(() => undefined);
  }
  return asked;
}

/**
 * @throws VaultError if there is no signer, or an earlier settlement is unfinished or may
 * still arrive, or the guard is not valid
 */
async function prepare(
  vault: VaultHost,
  { chainId, contract, round }: Observation,
  { from, ifExpired, partial }: SettleAllOptions,
  { signer: askedFor, chain, guard }: AskedAhead,
): Promise<{
  readonly signer: Signer;
  readonly journal: Journal;
  readonly route: SettlementRoute;
}> {
  const { networkConfig } = vault.connection;
  const signer = await (askedFor ??
    resolveSigner(vault.rpc, networkConfig, from));
  const journal = await Journal.open(vault, chainId, contract.address, chain);
  await journal.refuseUnfinished();
  await refuseBeforeOther(vault.rpc, journal, signer);
  const terms = {
    round,
    mustHaveEnded: ifExpired === true,
    mustSettle: partial !== true,
  };
  const route = await findRoute(vault, signer.address, "latest", terms, guard);
  return { signer, journal, route };
}

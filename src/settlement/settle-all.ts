import { checkOptionNames } from "../client/option-names.js";
import { vaultError } from "../errors.js";
import type { VaultHost } from "../host.js";
import { describeRound } from "../protocol/round.js";
import { settlementCall } from "../simulation/engine.js";
import type { SettlementRoute } from "../simulation/engine.js";
import { findGuard, findRoute } from "../simulation/guarded.js";
import type { FoundGuard } from "../simulation/guarded.js";
import { findBlock } from "../simulation/next-block.js";
import type { Simulation } from "../simulation/types.js";
import { agree, recheckRound } from "./agree.js";
import { follow } from "./follow.js";
import { Journal, journalChain } from "./journal.js";
import type { JournalChain, JournalEntry } from "./journal.js";
import { LastLook } from "./last-look.js";
import { findFreeNonce, refuseBeforeOther } from "./nonce.js";
import { nothingToDo, observe } from "./observe.js";
import type { Observation } from "./observe.js";
import type { Terms } from "./preview.js";
import {
  changeSince,
  makePreview,
  renewPreview,
  termsWithin,
} from "./renew-preview.js";
import type { DatedPreview } from "./renew-preview.js";
import { withGuard } from "./report.js";
import type { Ended } from "./report.js";
import { parseReplacement, replacerOf } from "./replace.js";
import { resume } from "./resume.js";
import { resolveSigner } from "./signer.js";
import type { Signer } from "./signer.js";
import { refusalOf, stopped } from "./stopped.js";
import { sign } from "./transaction.js";
import { settleAllOptionNames } from "./types.js";
import type { SettleAllOptions, SettlementPreflight, Stop } from "./types.js";
import { parseWaiting } from "./waiting.js";
import type { Waiting } from "./waiting.js";

/** @see HardhatVault.settleAll */
export async function settleAll(
  vault: VaultHost,
  options: SettleAllOptions,
): Promise<Ended> {
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
): Promise<Ended> {
  let seen: Observation | undefined;
  let simulation: Simulation | null = null;
  let guard: string | null = null;
  const stop = async (why: Stop): Promise<Ended> =>
    withGuard(await stopped(why, vault, seen, simulation), guard);
  try {
    // This client retries reads. Sending is never retried.
    const reader = vault.withDeadline({});
    const asked = options.assertOnly === true ? {} : askAhead(reader, options);
    const next = await findBlock(reader);
    seen = await observe(reader, next.number - 1);
    const { chainId, block, round } = seen;
    const prepared =
      options.assertOnly === true
        ? undefined
        : await prepare(reader, seen, options, asked);
    guard = prepared?.route.guard?.address ?? null;
    const { ifExpired } = waiting;
    const reason = nothingToDo(round, ifExpired, next.timestamp);
    if (reason !== undefined) {
      return await stop({ status: "nothing-to-do", reason });
    }
    if (prepared === undefined) {
      const details = { round: describeRound(round) };
      throw vaultError("VAULT_SETTLEMENT_NEEDED", details);
    }
    const { signer, journal, route } = prepared;
    const made = await makePreview(reader, signer, next, seen, route, waiting);
    if ("status" in made) {
      return await stop(made);
    }
    simulation = made.found.shown.preview;
    const agreed = await agreeOn(reader, signer, made, waiting, options);
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
    const [nonce] = await Promise.all([
      findFreeNonce(reader.rpc, signer, block.number),
      journal.requireSameKind(reader),
    ]);
    const transaction = await sign(reader.rpc, signer, {
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
    await refuseBeforeOther(reader.rpc, journal, signer);
    await journal.begin(entry);
    const acceptsOldHead = shown.headAge !== null;
    const look = new LastLook(reader, round, { ifExpired, acceptsOldHead });
    const obstacle = await recheckRound(look, journal, entry, waiting);
    if (obstacle !== undefined) {
      return await stop(obstacle);
    }
    const followed = {
      journal,
      entry,
      start: "send",
      replacer: replacerOf(vault, entry, waiting.limits),
      previewed: simulation,
      lastLook: look,
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
  Stop | { readonly terms: Terms; readonly shown: SettlementPreflight }
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
 * Asks beside the first requests what would else be asked after them, one by one. A failure
 * counts where the answer is used.
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

import { VaultError, vaultError } from "../errors.js";
import type { VaultHost } from "../host.js";
import { isDevelopmentNode } from "../rpc/development-node.js";
import { offerAtMost } from "../settlement-call/fees.js";
import type { GasPrice } from "../settlement-call/fees.js";
import { findTargetBlock } from "../settlement-call/next-block.js";
import { RECENT_BLOCKS } from "../settlement-call/recent-prices.js";
import type { RecentPrices } from "../settlement-call/recent-prices.js";
import { staleHead } from "./freshness.js";
import { findObstacle, observe } from "./observe.js";
import type { ParsedOptions } from "./options.js";
import { preview } from "./preview.js";
import type { Preview, Terms } from "./preview.js";
import { refusedBy } from "./result.js";
import type { Stopped } from "./result.js";
import type { Signer } from "./signer.js";
import type { SettlementPreflight } from "./types.js";

/** A price above this multiple of the recent ones is probably an error of the node. */
const UNUSUAL_TIMES = 20n;

/**
 * Priority fee in wei that is usual on a chain whose blocks mostly have none: there the
 * recent prices are hardly more than the base fee, which can be next to nothing.
 */
const USUAL_TIP = 1_000_000_000n;

const OLD_PREVIEW_MS = 15_000;
/** The preview is of the next block, so one more block makes no difference. */
const MOST_BLOCKS = 1;

/** Gas and price that were agreed to, and the preflight that showed them. */
export interface Agreed extends Terms {
  readonly shown: SettlementPreflight;
}

/**
 * Asks for confirmation, and once more if the settlement is another one by then.
 *
 * @throws VaultError VAULT_PREVIEW_CHANGED if nobody can be asked, or after two answers
 */
export async function agree(
  vault: VaultHost,
  signer: Signer,
  first: Preview,
  options: ParsedOptions,
): Promise<Stopped | Agreed> {
  let current = first;
  for (let isRepeated = false; ; isRepeated = true) {
    const { shown } = current;
    const agreed = await ask(vault, current, options);
    if ("status" in agreed) {
      return agreed;
    }
    const renewed = await renewPreview(vault, signer, current, options);
    if (renewed === undefined) {
      return { ...agreed, shown };
    }
    if ("status" in renewed) {
      return renewed;
    }
    const change = changeSince(shown, renewed.shown);
    const { terms } = renewed;
    if (change === undefined) {
      return "status" in terms
        ? terms
        : { ...termsWithin(terms, shown), shown };
    }
    if (options.confirm === undefined || isRepeated) {
      throw vaultError("VAULT_PREVIEW_CHANGED", { change });
    }
    current = renewed;
  }
}

/** Emits the preflight, and asks for confirmation if the settlement can succeed. */
async function ask(
  vault: VaultHost,
  made: Preview,
  options: ParsedOptions,
): Promise<Terms | Stopped> {
  const { shown, terms } = made;
  const { confirm, emit } = options;
  emit({ type: "preflight", preflight: shown });
  if ("status" in terms) {
    return terms;
  }
  const { from, balance, maxCost: cost } = shown;
  if (cost !== null && balance < cost) {
    const args = { from, network: vault.networkName, balance, cost };
    throw vaultError("VAULT_INSUFFICIENT_FUNDS", args);
  }
  if (confirm === undefined) {
    await refuseUnattended(vault, made, terms, options);
    return terms;
  }
  // JavaScript may return another type: only true confirms.
  const answer: unknown = await confirm(shown);
  if (answer === true) {
    return terms;
  }
  const refusal = refusedBy(
    VaultError.isVaultError(answer)
      ? answer
      : vaultError("VAULT_NOT_CONFIRMED", {}),
  );
  return typeof answer === "string" && answer !== ""
    ? { ...refusal, reason: answer }
    : refusal;
}

/** Refuses what only a person may agree to. */
async function refuseUnattended(
  vault: VaultHost,
  { seen, shown, recent }: Preview,
  { price }: Terms,
  { partial }: ParsedOptions,
): Promise<void> {
  const { networkName: network } = vault;
  // Without a preview, the plain call decides, which succeeded.
  if (shown.preview?.status === "not-settled" && !partial) {
    const factory = await vault.addressOf("vaultFactory", "getLatestRoundInfo");
    throw vaultError("VAULT_WOULD_NOT_SETTLE", {
      network,
      contract: shown.contract.source,
      factory: factory.source,
    });
  }
  if (shown.headAge !== null) {
    throw staleHead(vault, seen.block.number, shown.headAge);
  }
  if (
    recent !== undefined &&
    isUnusual(price, recent) &&
    !(await isDevelopmentNode(vault.rpc))
  ) {
    throw vaultError("VAULT_FEE_UNUSUAL", {
      network,
      median: recent.median,
      price: price.current,
      times: UNUSUAL_TIMES,
      blocks: RECENT_BLOCKS,
      setting: `networks.${network}.vault.maxFeePerGasLimit`,
    });
  }
}

function isUnusual(
  { current, fees }: GasPrice,
  { median, isQuiet }: RecentPrices,
): boolean {
  const tip = "gasPrice" in fees ? fees.gasPrice : fees.maxPriorityFeePerGas;
  return current > UNUSUAL_TIMES * median && !(isQuiet && tip <= USUAL_TIP);
}

/**
 * Simulates again if the preview is old by now.
 *
 * @returns Undefined if it is not; a stop if the round is another one, or settled.
 */
async function renewPreview(
  vault: VaultHost,
  signer: Signer,
  { seen: { round }, next: before, route, since }: Preview,
  options: ParsedOptions,
): Promise<Preview | Stopped | undefined> {
  const isOld = Math.abs(Date.now() - since) > OLD_PREVIEW_MS;
  // If nobody was asked, no time has passed, and a request more would make it pass.
  if (options.confirm === undefined && !isOld) {
    return undefined;
  }
  const next = await findTargetBlock(vault);
  if (!isOld && next.number - before.number <= MOST_BLOCKS) {
    return undefined;
  }
  const seen = await observe(vault, next.number - 1);
  return (
    findObstacle(seen.round, round, options.ifExpired, next.timestamp) ??
    (await preview(vault, signer, next, seen, route, options))
  );
}

/** @returns The difference that a person has to agree to again, as a clause. */
function changeSince(
  before: SettlementPreflight,
  after: SettlementPreflight,
): string | undefined {
  const [earlier, later] = [before, after].map(
    ({ outcome, reason, preview: simulation }) =>
      [outcome, reason, simulation?.status, simulation?.code].join(),
  );
  if (earlier !== later) {
    return "its outcome is another one now";
  }
  if (before.headAge === null && after.headAge !== null) {
    return `the newest block is ${after.headAge} s old now`;
  }
  return (after.cost ?? 0n) > (before.maxCost ?? 0n)
    ? `it costs ${after.cost} wei now, above the ${before.maxCost} wei that were shown`
    : undefined;
}

/** The newer gas limit, at a price whose cost does not exceed the one that was shown. */
function termsWithin(terms: Terms, { maxCost }: SettlementPreflight): Terms {
  const { gas, price } = terms;
  return maxCost === null
    ? terms
    : { gas, price: offerAtMost(price, maxCost / gas) };
}

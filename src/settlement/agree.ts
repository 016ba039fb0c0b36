import { VaultError, vaultError } from "../errors.js";
import type { VaultHost } from "../host.js";
import { isDevelopmentNode } from "../rpc/development-node.js";
import { TimeLimit, staleHead } from "./freshness.js";
import type { GasPrice } from "../settlement-call/fees.js";
import { RECENT_BLOCKS } from "../settlement-call/recent-prices.js";
import type { RecentPrices } from "../settlement-call/recent-prices.js";
import type { Journal, JournalEntry } from "./journal.js";
import { lookUntil } from "./last-look.js";
import type { CheckRound, RoundCheck } from "./last-look.js";
import type { Observation } from "./observe.js";
import { refusedBy } from "./outcome.js";
import type { Stopped } from "./outcome.js";
import type { Preview, Terms } from "./preview.js";
import type { SettleAllOptions } from "./types.js";
import type { Waiting } from "./waiting.js";

/** A price above this multiple of the recent ones is probably an error of the node. */
const UNUSUAL_TIMES = 20n;

/**
 * Priority fee in wei that is usual on a chain whose blocks mostly have none: there the
 * recent prices are hardly more than the base fee, which can be next to nothing.
 */
const USUAL_TIP = 1_000_000_000n;

/** Emits the preflight, and asks for confirmation if the settlement can succeed. */
export async function agree(
  vault: VaultHost,
  found: Preview,
  { block }: Observation,
  waiting: Waiting,
  { confirm }: Pick<SettleAllOptions, "confirm">,
): Promise<Terms | Stopped> {
  const { shown, terms } = found;
  waiting.emit({ type: "preflight", preflight: shown });
  if ("status" in terms) {
    return terms;
  }
  const { from, balance, maxCost: cost } = shown;
  if (cost !== null && balance < cost) {
    const args = { from, network: vault.networkName, balance, cost };
    throw vaultError("VAULT_INSUFFICIENT_FUNDS", args);
  }
  if (confirm === undefined) {
    await refuseUnattended(vault, found, terms, block.number, waiting);
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
  { shown, recent }: Preview,
  { price }: Terms,
  block: number,
  { partial }: Waiting,
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
    throw staleHead(vault, block, shown.headAge);
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

/** Looks at the round once more; ends the journal if nothing is to be sent. */
export async function recheckRound(
  check: CheckRound,
  network: string,
  journal: Journal,
  entry: JournalEntry,
  { timeoutMs }: Waiting,
): Promise<RoundCheck> {
  let isClear = false;
  try {
    const seen = await lookUntil(check, network, new TimeLimit(timeoutMs));
    isClear = seen.obstacle === undefined;
    return seen;
  } finally {
    if (!isClear) {
      // Nothing has left, so there is nothing to resume.
      await journal.update(entry, true);
    }
  }
}

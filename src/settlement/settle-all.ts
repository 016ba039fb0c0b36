import { vaultError } from "../errors.js";
import type { VaultHost } from "../host.js";
import { describeRound } from "../protocol/round.js";
import { settlementCall } from "../simulation/engine.js";
import type { SettlementRoute } from "../simulation/engine.js";
import { findRoute } from "../simulation/guarded.js";
import { findBlock } from "../simulation/next-block.js";
import type { Simulation } from "../simulation/types.js";
import { agree, recheckRound } from "./agree.js";
import { follow } from "./follow.js";
import { Journal } from "./journal.js";
import { findFreeNonce } from "./nonce.js";
import { nothingToDo, observe } from "./observe.js";
import type { Observation } from "./observe.js";
import { preview } from "./preview.js";
import { withGuard } from "./report.js";
import type { Ended } from "./report.js";
import { resume } from "./resume.js";
import { resolveSigner } from "./signer.js";
import type { Signer } from "./signer.js";
import { refusalOf, stopped } from "./stopped.js";
import { sign } from "./transaction.js";
import type { SettleAllOptions, Stop } from "./types.js";
import { parseWaiting } from "./waiting.js";
import type { Waiting } from "./waiting.js";

/** @see HardhatVault.settleAll */
export async function settleAll(
  vault: VaultHost,
  options: SettleAllOptions,
): Promise<Ended> {
  const waiting = parseWaiting(vault, options);
  if (options.resume === true) {
    return await resume(vault, waiting);
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
    const next = await findBlock(reader);
    seen = await observe(reader, next.number - 1);
    const { chainId, block, round } = seen;
    const prepared =
      options.assertOnly === true
        ? undefined
        : await prepare(reader, seen, options);
    guard = prepared?.route.guard?.address ?? null;
    const reason = nothingToDo(seen, waiting.ifExpired);
    if (reason !== undefined) {
      return await stop({ status: "nothing-to-do", reason });
    }
    if (prepared === undefined) {
      const details = { round: describeRound(round) };
      throw vaultError("VAULT_SETTLEMENT_NEEDED", details);
    }
    const { signer, journal, route } = prepared;
    const found = await preview(reader, seen, signer, next, route);
    if ("status" in found) {
      return await stop(found);
    }
    simulation = found.shown.preview;
    const agreed = await agree(vault, found, waiting, options);
    if ("status" in agreed) {
      return await stop(agreed);
    }
    const transaction = await sign(reader.rpc, signer, {
      ...settlementCall(route),
      chainId,
      nonce: await findFreeNonce(reader.rpc, signer, block.number),
      ...agreed,
    });
    const entry = {
      sentAfterBlock: block.number,
      round,
      transaction,
      ...(guard !== null && { guard }),
    };
    // Another process may have begun one before the user confirmed.
    await journal.begin(entry);
    const obstacle = await recheckRound(reader, journal, entry, waiting);
    if (obstacle !== undefined) {
      return await stop(obstacle);
    }
    const { preview: previewed } = found.shown;
    const end = await follow(vault, journal, entry, "send", waiting, previewed);
    return withGuard({ block, ...end }, guard);
  } catch (error) {
    return await stop(refusalOf(error));
  }
}

/** @throws VaultError if there is no signer, an unfinished settlement or no valid guard */
async function prepare(
  vault: VaultHost,
  { chainId, contract, round }: Observation,
  { from, ifExpired, partial }: SettleAllOptions,
): Promise<{
  readonly signer: Signer;
  readonly journal: Journal;
  readonly route: SettlementRoute;
}> {
  const { networkConfig } = vault.connection;
  const signer = await resolveSigner(vault.rpc, networkConfig, from);
  const journal = await Journal.open(vault, chainId, contract.address);
  await journal.refuseUnfinished();
  const route = await findRoute(vault, signer.address, "latest", {
    round,
    mustHaveEnded: ifExpired === true,
    mustSettle: partial !== true,
  });
  return { signer, journal, route };
}

import { toQuantity } from "ethers";

import { decodeAnswer, encodeCall } from "../client/codec.js";
import { fallbackTo } from "../errors.js";
import type { VaultHost } from "../host.js";
import { asRecord } from "../json.js";
import { standaloneQueries } from "../protocol/index.js";
import type { BlockInfo } from "../rpc/blocks.js";
import { callContract } from "../rpc/calls.js";
import type { ReadingChange } from "../simulation/types.js";
import type { PreviewDifference } from "./types.js";

/**
 * Leaves out values that only the clock moves: the preview has no change of them, and the
 * state before the block has the same value at the block's time. If the node cannot
 * execute a call at another time, they stay.
 */
export async function withoutTime(
  vault: VaultHost,
  differences: readonly PreviewDifference[],
  previewed: readonly ReadingChange[],
  { number, timestamp }: BlockInfo,
): Promise<readonly PreviewDifference[]> {
  const isPreviewed = ({ reading, field }: PreviewDifference): boolean =>
    previewed.some((one) => one.reading === reading && one.field === field);
  const suspects = new Set(
    differences.flatMap((one) => (isPreviewed(one) ? [] : one.reading)),
  );
  const moved = new Map<string, unknown>();
  for (const { path, operation, args } of standaloneQueries) {
    const reading = path.join(".");
    if (suspects.has(reading)) {
      const call = encodeCall(operation, args);
      const value = await readLater(vault, call, number, timestamp).catch(
        fallbackTo(undefined, ({ kind }) => kind !== "bug"),
      );
      moved.set(reading, value);
    }
  }
  return differences.filter((one) => {
    const value = moved.get(one.reading);
    const fields = asRecord(value);
    const atTime = fields === value ? fields[one.field] : value;
    return isPreviewed(one) || atTime === undefined || atTime !== one.happened;
  });
}

/** Reads the state before a block as of the block's number and time. */
async function readLater(
  vault: VaultHost,
  call: ReturnType<typeof encodeCall>,
  number: number,
  timestamp: number,
): Promise<unknown> {
  const target = await vault.addressOf(call.role, call.operation);
  const { from } = vault.readContext({});
  const answer = await callContract(
    vault.rpc,
    { from, to: target.address, data: call.data },
    number - 1,
    {},
    { number: toQuantity(number), time: toQuantity(timestamp) },
  );
  return decodeAnswer({
    call,
    target,
    network: vault.networkName,
    answer,
    hasCode: true,
  });
}

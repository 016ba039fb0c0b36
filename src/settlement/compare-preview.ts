import { isFailedReading } from "../client/failed-reading.js";
import { readOne } from "../client/snapshot.js";
import type { SnapshotWithBalances } from "../client/snapshot.js";
import type { VaultHost } from "../host.js";
import { standaloneReadings } from "../protocol/index.js";
import type { Reading } from "../protocol/index.js";
import type { CallRequest, Receipt } from "../rpc/node.js";
import { NATIVE } from "../rehearsal/balances.js";
import {
  changesBetween,
  compareValues,
  readingsIn,
} from "../rehearsal/compare-readings.js";
import { parseLogs, transfersOf } from "../rehearsal/transfers.js";
import type {
  ReadingChange,
  ReadingValue,
  Simulation,
  Transfer,
} from "../rehearsal/types.js";
import type { Report, SeeBlock } from "./report.js";
import type { PreviewDifference, SettlementPreview } from "./types.js";

/**
 * The accounts whose native balances tell whether native currency moved as it was
 * previewed: a receipt has no trace of it.
 */
export function accountsToCompare(
  { transfers }: Simulation,
  { from, to }: Pick<CallRequest, "from" | "to">,
): readonly string[] {
  return transfers === null
    ? []
    : [
        ...new Set([
          from,
          to,
          ...transfers
            .filter(({ token }) => token === NATIVE)
            .flatMap((transfer) => [transfer.from, transfer.to]),
        ]),
      ];
}

/**
 * A preview, and what came otherwise once it was mined. Never throws.
 *
 * @param after What was seen of the transaction's block.
 */
export async function comparePreview(
  vault: VaultHost,
  previewed: Simulation | null,
  sender: string,
  { receipt, seen: after }: Pick<Report, "receipt" | "seen">,
  see: SeeBlock,
): Promise<SettlementPreview | null> {
  if (previewed === null) {
    return null;
  }
  let differences: readonly PreviewDifference[] | null = null;
  if (receipt?.succeeded === true && after !== undefined) {
    try {
      differences = await findDifferences(
        vault,
        previewed,
        sender,
        receipt,
        await see(vault, receipt.blockNumber - 1),
        after,
      );
    } catch {
      // It happened, whether or not this node can tell how.
    }
  }
  return { ...previewed, differences };
}

/**
 * What came otherwise in the readings, the tokens and the native currency that
 * moved. Others' transactions in the same block are part of what came.
 */
async function findDifferences(
  vault: VaultHost,
  previewed: Simulation,
  sender: string,
  { logs, fee, blockNumber }: Receipt,
  before: SnapshotWithBalances,
  after: SnapshotWithBalances,
): Promise<readonly PreviewDifference[] | null> {
  if (isFailedReading(before.snapshot.round)) {
    return null;
  }
  const changes = changesBetween(
    readingsIn(before.snapshot),
    readingsIn(after.snapshot),
  );
  const { transfers } = previewed;
  const happened = parseLogs(logs);
  const differences = [
    ...(await differingReadings(vault, previewed, changes, blockNumber)),
    ...(transfers === null || happened === undefined
      ? []
      : compareTransfers(transfers, transfersOf(happened))),
    ...(transfers === null
      ? []
      : compareNative(transfers, before, after, sender, fee)),
  ];
  // What was not compared is not "as previewed"; what differs, differs.
  const isCompared =
    transfers === null ||
    (before.balances !== undefined && after.balances !== undefined);
  return differences.length > 0 || isCompared ? differences : null;
}

/**
 * Whether each account has what it would have by the previewed transfers, and
 * the sender that without the fee. Left out are accounts whose balance is not
 * known, and a sender whose fee is not. Who makes the block is paid by it.
 */
function compareNative(
  transfers: readonly Transfer[],
  before: SnapshotWithBalances,
  after: SnapshotWithBalances,
  sender: string,
  fee: bigint | undefined,
): readonly PreviewDifference[] {
  const moves = transfers.filter(({ token }) => token === NATIVE);
  return [...(before.balances ?? [])].flatMap(([account, balance]) => {
    const happened = after.balances?.get(account);
    if (happened === undefined || (account === sender && fee === undefined)) {
      return [];
    }
    const moved = moves.reduce(
      (sum, { from, to, amount }) =>
        sum + (to === account ? amount : 0n) - (from === account ? amount : 0n),
      account === sender ? -(fee ?? 0n) : 0n,
    );
    const previewed = balance + moved;
    return differing("balances", account, previewed, happened);
  });
}

/**
 * The readings that came otherwise. What was seen of the block had a caller with
 * code, and a contract may answer such a one otherwise; so a reading that seems
 * to differ is asked for again, as the preview asked for it.
 *
 * @throws VaultError where the node fails
 */
async function differingReadings(
  vault: VaultHost,
  { engine, changes: previewed }: Simulation,
  happened: readonly ReadingChange[],
  blockNumber: number,
): Promise<readonly PreviewDifference[]> {
  const seeming = compareChanges(previewed, happened);
  // That engine's own caller has code.
  if (engine === "call" || seeming.length === 0) {
    return seeming;
  }
  const names = new Set(seeming.map(({ reading }) => reading));
  const plain = await Promise.all(
    standaloneReadings
      .filter(({ path }) => names.has(path.join(".")))
      .map(async (reading) => {
        const [before, after] = await Promise.all(
          [blockNumber - 1, blockNumber].map(
            async (blockTag) => await readPlainly(vault, reading, blockTag),
          ),
        );
        return compareValues(reading.path.join("."), before, after);
      }),
  );
  return compareChanges(previewed, [
    ...happened.filter(({ reading }) => !names.has(reading)),
    ...plain.flat(),
  ]);
}

async function readPlainly(
  vault: VaultHost,
  reading: Reading,
  blockTag: number,
): Promise<unknown> {
  const value = await readOne(vault, reading, { blockTag });
  if (isFailedReading(value) && value.error.kind === "rpc") {
    throw value.error;
  }
  return value;
}

function compareChanges(
  previewed: readonly ReadingChange[],
  happened: readonly ReadingChange[],
): readonly PreviewDifference[] {
  const byKey = (
    changes: readonly ReadingChange[],
  ): ReadonlyMap<string, ReadingChange> =>
    new Map(
      changes.map((change) => [`${change.reading} ${change.field}`, change]),
    );
  const [expected, actual] = [byKey(previewed), byKey(happened)];
  // What was not to change, or did not, is as it was before.
  return [...byKey([...previewed, ...happened])].flatMap(
    ([key, { reading, field, before }]) =>
      differing(
        reading,
        field,
        (expected.get(key) ?? { after: before }).after,
        (actual.get(key) ?? { after: before }).after,
      ),
  );
}

/** Of ERC-20 tokens alone. */
function compareTransfers(
  previewed: readonly Transfer[],
  happened: readonly Transfer[],
): readonly PreviewDifference[] {
  const keyOf = ({ token, from, to }: Transfer): string =>
    `${token} from ${from} to ${to}`;
  const sumOf = (transfers: readonly Transfer[], key: string): bigint =>
    transfers
      .filter((transfer) => keyOf(transfer) === key)
      .reduce((sum, { amount }) => sum + amount, 0n);
  const tokens = [...previewed, ...happened].filter(
    ({ token }) => token !== NATIVE,
  );
  return [...new Set(tokens.map(keyOf))].flatMap((field) =>
    differing(
      "transfers",
      field,
      sumOf(previewed, field),
      sumOf(happened, field),
    ),
  );
}

function differing(
  reading: string,
  field: string,
  previewed: ReadingValue,
  happened: ReadingValue,
): readonly PreviewDifference[] {
  return previewed === happened
    ? []
    : [{ reading, field, previewed, happened }];
}

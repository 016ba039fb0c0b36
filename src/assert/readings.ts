import { isFailedReading } from "../client/read-at-block.js";
import { asRecord } from "../json.js";
import { checkValue } from "../mocks/state.js";
import { keysOf, placesOf, standaloneQueries } from "../protocol/index.js";
import type { Field, StandaloneReadings } from "../protocol/index.js";
import { describeOutcome, isSameRound } from "../protocol/round.js";
import {
  NoVerdict,
  describe,
  requireExpected,
  requireVault,
} from "./assertion.js";
import type { Verdict } from "./assertion.js";
import { readAroundTransaction } from "./transaction.js";

export async function checkSettlement(
  vault: unknown,
  transaction: unknown,
): Promise<Verdict> {
  const { hash, before, after } = await readAroundTransaction(
    vault,
    transaction,
    async (client, options) => await client.getLatestRoundInfo(options),
  );
  const expects = `expected transaction ${hash} to settle the vault's round, but`;
  const verdict = {
    expected: { before: { ...before, settled: false }, settled: true },
    actual: { before, settled: after.settled },
    round: after,
  };
  if (before.settled) {
    const message = `${expects} it was settled before (${describeOutcome(before)})`;
    return { ...verdict, pass: false, message };
  }
  if (!isSameRound(before, after)) {
    // The round may have been settled first.
    throw new NoVerdict(
      `${expects} another round took its place\n  before: ${describeOutcome(before)}\n   after: ${describeOutcome(after)}`,
    );
  }
  const outcome = describeOutcome(after);
  return {
    ...verdict,
    pass: after.settled,
    message: after.settled
      ? `expected transaction ${hash} not to settle the vault's round, but it did (${outcome})`
      : `${expects} it is still not settled (${outcome})`,
  };
}

export async function checkSettledRound(vault: unknown): Promise<Verdict> {
  const round = await (await requireVault(vault)).getLatestRoundInfo();
  const [wanted, found] = round.settled
    ? ["not to be settled", "it is"]
    : ["to be settled", "it is not"];
  return {
    pass: round.settled,
    message: `expected the vault's latest round ${wanted}, but ${found} (${describeOutcome(round)})`,
    expected: { ...round, settled: true },
    actual: round,
    round,
  };
}

/** Values that a round is settled with, by the word that assertions have for them. */
const settledValues = {
  price: "settledPrice",
  amount: "settledAmount",
} as const;

/** Checks values of a settled round; returns other verdicts as they are. */
export function checkSettledWith(found: Verdict, expected: unknown): Verdict {
  requireExpected(expected, "an object with price and amount");
  const checks = Object.entries(expected).map(([key, value]) => {
    const word = keysOf(settledValues).find((name) => name === key);
    if (word === undefined) {
      throw new NoVerdict(
        `there is no ${describe(key)} of a settlement to expect; there are ${keysOf(settledValues).join(", ")}`,
      );
    }
    const field = settledValues[word];
    // Undefined is refused, too: it comes of a value that the test did not find.
    const wanted = checkValue({ type: "uint256", unit: "raw" }, value, field);
    return { field, wanted };
  });
  const { pass, round } = found;
  const other = checks.find(({ field, wanted }) => wanted !== round?.[field]);
  if (!pass || round === undefined || other === undefined) {
    return found;
  }
  const { field, wanted } = other;
  const actual = round[field];
  return {
    pass: false,
    message: `expected the round to be settled with ${field} ${String(wanted)}, but it is ${actual}`,
    expected: wanted,
    actual,
    round,
  };
}

/** New value of a reading, both values, or (for an integer) the difference. */
// Brackets keep `boolean` from being split into `true` and `false`.
export type ExpectedValue<Value> = [Value] extends [bigint]
  ? | bigint
    | number
    | { readonly from: bigint | number; readonly to: bigint | number }
    | { readonly by: bigint | number }
  : Value | { readonly from: Value; readonly to: Value };

type Expected<Value> = [Value] extends [bigint | number | boolean | string]
  ? ExpectedValue<Value>
  : { readonly [Key in keyof Value]?: Expected<Value[Key]> };

/** Expected changes, in the shape of a snapshot. */
export type ExpectedReadings = Expected<StandaloneReadings>;

interface ExpectedChange {
  /** Path in a snapshot. Example: `round.settled`. */
  readonly path: string;
  readonly from?: unknown;
  readonly to?: unknown;
  readonly by?: bigint;
}

/** Fields of a snapshot by path. */
const fields: ReadonlyMap<string, Field> = new Map(
  standaloneQueries
    .flatMap(placesOf)
    .map(({ path, field }) => [path.join("."), field]),
);

/**
 * @param expected If undefined, any change passes.
 * @param negated If true, one of the expected changes is enough to pass.
 */
export async function checkReadings(
  vault: unknown,
  transaction: unknown,
  expected: unknown,
  negated = false,
): Promise<Verdict> {
  const sent = await transaction;
  const changes = expected === undefined ? undefined : parseLevel(expected, "");
  const { hash, before, after } = await readAroundTransaction(
    vault,
    sent,
    async (client, options) => await client.snapshot(options),
  );
  const wanted = changes ?? [...fields.keys()].map((path) => ({ path }));
  const compared = wanted.map((change) => compare(change, before, after));
  const problems = compared.flatMap(({ problem }) => problem ?? []);
  const happened = compared.filter(({ problem }) => problem === undefined);
  const done = list(happened.map(({ path, change }) => `${path}: ${change}`));
  if (changes === undefined) {
    const pass = happened.length > 0;
    const message = pass
      ? `to change no reading of the vault, but it did:${done}`
      : `to change a reading of the vault, but all ${compared.length} values are as before`;
    return { pass, message: `expected transaction ${hash} ${message}` };
  }
  const pass = negated ? happened.length > 0 : problems.length === 0;
  return {
    pass,
    message: pass
      ? `expected transaction ${hash} not to change readings so, but it did:${done}`
      : `expected transaction ${hash} to change readings otherwise:${list(problems)}`,
    expected: Object.fromEntries(
      compared.map((one) => [one.path, one.expected]),
    ),
    actual: Object.fromEntries(compared.map((one) => [one.path, one.change])),
  };
}

/** @throws VaultError if the reading failed */
function valueAt(snapshot: object, path: string): unknown {
  let value: unknown = snapshot;
  for (const name of path.split(".")) {
    value = asRecord(value)[name];
    if (isFailedReading(value)) {
      throw value.error;
    }
  }
  return value;
}

function compare(
  { path, from, to, by }: ExpectedChange,
  ...snapshots: readonly [before: object, after: object]
) {
  const [before, after] = snapshots.map((one) => valueAt(one, path));
  const wanted =
    typeof before === "bigint" && by !== undefined ? before + by : to;
  const change = `${String(before)} → ${String(after)}`;
  const expected = `${String(from ?? before)} → ${String(wanted ?? after)}`;
  const found =
    before === after ? `is ${String(before)} as before` : `changed ${change}`;
  return {
    path,
    expected,
    change,
    problem:
      before !== after && change === expected
        ? undefined
        : `${path}: expected ${expected}, but it ${found}`,
  };
}

function list(lines: readonly string[]): string {
  return lines.map((line) => `\n  ${line}`).join("");
}

/** Refuses unknown readings and impossible values: a typo must not make a check pass. */
function parseLevel(
  expected: unknown,
  path: string,
): readonly ExpectedChange[] {
  const field = fields.get(path);
  if (field !== undefined) {
    return [{ path, ...parseChange(field, expected, path) }];
  }
  const prefix = path === "" ? "" : `${path}.`;
  if (![...fields.keys()].some((key) => key.startsWith(prefix))) {
    throw new NoVerdict(
      `there is no reading ${path}; there are ${[...fields.keys()].join(", ")}`,
    );
  }
  const changes = Object.entries(asRecord(expected)).flatMap(([name, value]) =>
    parseLevel(value, `${prefix}${name}`),
  );
  if (changes.length === 0) {
    throw new NoVerdict(
      `${path === "" ? "the expected readings" : path} must be an object that names a reading`,
    );
  }
  return changes;
}

function parseChange(
  field: Field,
  expected: unknown,
  path: string,
): Omit<ExpectedChange, "path"> {
  if (typeof expected !== "object" || expected === null) {
    return { to: checkValue(field, expected, path) };
  }
  const keys = Object.keys(expected).sort().join();
  const { from, to, by: difference } = asRecord(expected);
  if (keys === "from,to") {
    return {
      from: checkValue(field, from, path),
      to: checkValue(field, to, path),
    };
  }
  const by =
    typeof difference === "number" && Number.isSafeInteger(difference)
      ? BigInt(difference)
      : difference;
  const isDifference = keys === "by" && field.type === "uint256";
  if (isDifference && typeof by === "bigint" && by !== 0n) {
    return { by };
  }
  throw new NoVerdict(
    `${path} must be a value, { from, to }, or { by } with an integer that is not 0`,
  );
}

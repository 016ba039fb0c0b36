import type { NewTaskActionFunction } from "hardhat/types/tasks";

import { isEmptyOrder, isFailedOrder } from "../src/client/index.js";
import type { ListedOrder, OrdersOptions } from "../src/client/index.js";
import { parseAddress, requireFixedBlock } from "../src/client/inputs.js";
import { EMPTY_IDS_AT_END } from "../src/client/orders/last-order.js";
import type { HardhatVault } from "../src/plugin/hardhat-vault.js";
import { vaultError } from "../src/errors.js";
import type { VaultError } from "../src/errors.js";
import { enumNames } from "../src/protocol/index.js";
import { escapeUntrusted, toSafeJson } from "../src/untrusted-text.js";
import { findKnownAccounts } from "./known-accounts.js";
import type { KnownAccounts } from "./known-accounts.js";
import { withVault } from "./open-vault.js";
import type { WriteText } from "./output/destination.js";
import { describeCount } from "./output/format-value.js";
import type { FormatContext } from "./output/format-value.js";
import { renderHeading } from "./output/heading.js";
import type { Envelope } from "./output/heading.js";
import { IdRanges } from "./output/id-ranges.js";
import { parseListingForm, writeListing } from "./output/listing.js";
import type { ListingForm } from "./output/listing.js";
import {
  describeScales,
  toCsv,
  toNdjson,
  toOrderJson,
  toTable,
} from "./output/orders.js";
import { startProgress } from "./output/progress.js";
import type { ProgressStream } from "./output/progress.js";
import { createStyle } from "./output/style.js";
import type { Style, StyledStream } from "./output/style.js";
import { wrapText } from "./output/table.js";
import {
  parseInteger,
  parseOrderIds,
  parseReadTarget,
  parseWord,
} from "./parse-options.js";
import type { ReadTarget } from "./parse-options.js";
import { pinBlock } from "./read.js";
import type { ReadTaskArguments } from "./read.js";
import { runTask, withStdoutOnStderr } from "./run-task.js";
import type { StreamedReport } from "./run-task.js";

export interface OrdersTaskArguments extends ReadTaskArguments {
  readonly firstId: string | undefined;
  readonly lastId: string | undefined;
  readonly ids: string | undefined;
  readonly state: string | undefined;
  readonly holder: string | undefined;
  readonly format: string | undefined;
  readonly out: string | undefined;
  readonly skipEmpty: boolean;
}

interface OrdersRequest {
  readonly target: ReadTarget;
  readonly scan: Pick<
    OrdersOptions,
    "firstId" | "lastId" | "ids" | "state" | "holder" | "skipEmpty"
  >;
  readonly format: ListingForm;
  readonly accounts?: KnownAccounts;
}

const action: NewTaskActionFunction<OrdersTaskArguments> = async (args, hre) =>
  await runTask(args, async (writeStdout) => {
    const request = parseOrdersArguments(args);
    const { stdout } = process;
    const list = async (write: WriteText): Promise<StreamedReport> =>
      await withVault(
        hre,
        "read",
        args,
        async (opened, { inPlace, stderr }) => {
          const vault = opened.during({ timeout: request.target.timeout });
          return await listOrders(
            vault,
            args,
            { ...request, accounts: await findKnownAccounts(hre, vault) },
            { write: inPlace(write), stdout, stderr },
          );
        },
        request.target.timeout,
      );
    return args.format === undefined
      ? await list(writeStdout)
      : await withStdoutOnStderr(list);
  });

export default action;

/**
 * Checks what can be checked without a network.
 *
 * @throws VaultError of the argument that is wrong
 */
export function parseOrdersArguments(args: OrdersTaskArguments): OrdersRequest {
  const target = parseReadTarget(args);
  requireFixedBlock(target.blockTag, "--block");
  const format = parseListingForm(args);
  const { state, holder } = args;
  return {
    target,
    scan: {
      ...parseIds(args),
      state:
        state === undefined
          ? undefined
          : parseWord(state, Object.values(enumNames.orderState), "--state"),
      holder:
        holder === undefined ? undefined : parseAddress(holder, "--holder"),
      skipEmpty: args.skipEmpty,
    },
    format,
  };
}

/** Where a listing is written, and where its progress is shown. */
export interface OrdersOutput {
  /** Writes to the true stdout. */
  readonly write: WriteText;
  readonly stdout: StyledStream;
  readonly stderr: ProgressStream;
}

/** Lists orders, written as they are read. */
export async function listOrders(
  vault: HardhatVault,
  args: OrdersTaskArguments,
  { target, scan, format, accounts }: OrdersRequest,
  { write, stdout, stderr }: OrdersOutput,
): Promise<StreamedReport> {
  const { out } = args;
  const { envelope, options } = await pinBlock(vault, target);
  // Lines that appear one by one on the same terminal are progress enough.
  const isShown =
    out !== undefined ||
    stdout.isTTY !== true ||
    format === "table" ||
    format === "json";
  const isSearch = scan.lastId === undefined && scan.ids === undefined;
  const progress = startProgress(isShown ? stderr : undefined, {
    // Known once the last order is found.
    total: 0,
    unit: "orders",
  });
  const tally = new Tally();
  const orders = tally.count(
    vault.orders({
      ...scan,
      ...options,
      onProgress: ({ done, total }) => {
        progress.update(done, total);
      },
    }),
  );
  const style = createStyle(out === undefined ? stdout : {}, args.wide);
  const pieces =
    format === "csv"
      ? toCsv(orders)
      : format === "ndjson"
        ? toNdjson(orders)
        : format === "json"
          ? toDocument(envelope, orders)
          : toText(
              envelope,
              orders,
              tally,
              {
                ...vault.settings,
                chainTime: envelope.block.timestamp,
                raw: args.raw,
                accounts,
              },
              style,
              isSearch ? EVERY_ORDER : "",
            );
  const isRead = await writeListing(pieces, { out, write, stderr, progress });
  if (!isRead) {
    return { streamed: true, ok: true };
  }
  if (out !== undefined) {
    stderr.write(
      `${describeCount(tally.listed, "order")} written to ${escapeUntrusted(out)}.\n`,
    );
  }
  if (format !== "table" && format !== "json" && tally.isNotable) {
    stderr.write(`${tally.describe(createStyle(stderr, args.wide), false)}\n`);
  }
  return { streamed: true, ok: tally.failed.count === 0 };
}

/** What a listing held, and which ids were no orders. */
class Tally {
  public readonly empty = new IdRanges();
  public readonly failed = new IdRanges();
  public listed = 0;
  #firstError: VaultError | undefined;

  public get isNotable(): boolean {
    return this.empty.count > 0 || this.failed.count > 0;
  }

  public async *count(
    orders: AsyncIterable<ListedOrder>,
  ): AsyncGenerator<ListedOrder, void, undefined> {
    for await (const order of orders) {
      this.listed += 1;
      if (isFailedOrder(order)) {
        this.failed.add(order.orderID);
        this.#firstError ??= order.error;
      } else if (isEmptyOrder(order)) {
        this.empty.add(order.orderID);
      }
      yield order;
    }
  }

  /** @param isListed Every id has a row of its own, or one with its like. */
  public describe(style: Style, isListed: boolean): string {
    const { empty, failed } = this;
    const orders = this.listed - empty.count - failed.count;
    const show = (ids: IdRanges): string =>
      isListed ? describeCount(ids.count, "id") : ids.describe();
    return [
      `${describeCount(orders, "order")}.`,
      ...(empty.count === 0
        ? []
        : [`Empty, with every value zero: ${show(empty)}.`]),
      ...(this.#firstError === undefined
        ? []
        : [
            style.bad(`Failed: ${show(failed)}.`),
            `The first of these: ${this.#firstError.shortMessage}`,
          ]),
    ].join("\n");
  }
}

async function* toDocument(
  envelope: Envelope,
  orders: AsyncIterable<ListedOrder>,
): AsyncGenerator<string, void, undefined> {
  const listed: unknown[] = [];
  for await (const order of orders) {
    listed.push(toOrderJson(order));
  }
  yield `${toSafeJson({ ...envelope, orders: listed })}\n`;
}

async function* toText(
  envelope: Envelope,
  orders: AsyncIterable<ListedOrder>,
  tally: Tally,
  context: FormatContext,
  style: Style,
  note: string,
): AsyncGenerator<string, void, undefined> {
  yield `${renderHeading("Orders", envelope, style)}\n`;
  yield* toTable(orders, context, style);
  yield `${wrapText(
    `${tally.describe(style, true)}\n${style.dim(
      `${describeScales(context)} Fees: --json, --format ndjson or csv.${note}`,
    )}`,
    style,
  )}\n`;
}

/** What a listing without an end has to say of it. */
const EVERY_ORDER = ` The last order is the one that ${EMPTY_IDS_AT_END} empty ids follow.`;

function parseIds({
  ids,
  firstId,
  lastId,
}: OrdersTaskArguments): Pick<OrdersOptions, "firstId" | "lastId" | "ids"> {
  if (ids !== undefined) {
    if (firstId !== undefined || lastId !== undefined) {
      throw vaultError("VAULT_INVALID_ARGUMENT", {
        where: "--ids",
        problem: "--ids or a range can be given, not both",
      });
    }
    return { ids: parseOrderIds(ids, "--ids") };
  }
  const first = parseInteger(firstId ?? "0", "--first-id");
  const last =
    lastId === undefined ? undefined : parseInteger(lastId, "--last-id");
  if (last !== undefined && first > last) {
    throw vaultError("VAULT_INVALID_ARGUMENT", {
      where: "--first-id",
      problem: `${first} is above --last-id, which is ${last}`,
    });
  }
  return { firstId: first, lastId: last };
}

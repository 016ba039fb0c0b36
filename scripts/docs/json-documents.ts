import { z } from "zod/v4";

import { operations, byRole } from "../../src/protocol/index.js";
import type { Operation } from "../../src/protocol/index.js";

/**
 * What every task prints with `--json`, by the task. The JSON Schema of the package is
 * made of them, and a test holds each document of each task against them.
 */

const integer = z
  .string()
  .regex(/^-?\d+$/u)
  .meta({
    id: "integer",
    description: "Unscaled integer, as a decimal string",
  });
const address = z
  .string()
  .regex(/^0x[0-9a-fA-F]{40}$/u)
  .meta({ id: "address", description: "Address with its checksum" });
const hex = z
  .string()
  .regex(/^0x[0-9a-f]*$/u)
  .meta({ id: "hex", description: "Bytes, or a hash" });
const text = z.string();
const number = z.number().int();
const flag = z.boolean();
const code = text.regex(/^VAULT_[A-Z_]+$/u).meta({
  id: "code",
  description: "Error code: docs/troubleshooting.md",
});

/** The field is null in that case. */
function orNull<T extends z.ZodType>(schema: T, when: string) {
  return schema.nullable().describe(`Null: ${when}`);
}

/** The fields that an operation returns, from its row of the operations table. */
function outputsOf({ outputs }: Operation) {
  return Object.fromEntries(
    outputs.map(({ name, label, note, type }) => {
      const types = { address, bool: flag, string: text, uint8: number };
      const schema = type === "uint256" ? integer : types[type];
      return [
        name,
        schema.describe(note === undefined ? label : `${label}. ${note}`),
      ];
    }),
  );
}

/** The fields that an operation returns, by the operations table. */
const results = {
  round: shape("Round", outputsOf(operations.getLatestRoundInfo)),
  order: shape("Order", {
    orderID: integer,
    ...outputsOf(operations.getOrderInfo),
  }),
  pool: shape("Pool", outputsOf(operations.getLPAmountInfo)),
  margins: shape("Margins", outputsOf(operations.calMargins)),
  marginBalance: shape(
    "MarginBalance",
    outputsOf(operations.queryMarginBalance),
  ),
};

const failure = shape("Failure", { code, message: text });
const pools = { public: results.pool, private: results.pool };
const rates = {
  call: integer.describe("Times 1E8"),
  put: integer.describe("Times 1E8"),
};

/** A failed reading does not stop the task: its error stands in place of the value. */
function orFailure<T extends z.ZodType>(schema: T) {
  return z.union([schema, z.strictObject({ error: failure })]);
}

const readings = {
  fundingFeeRate: orFailure(
    z.strictObject({ call: orFailure(rates.call), put: orFailure(rates.put) }),
  ),
  pools: z.strictObject({
    public: orFailure(pools.public),
    private: orFailure(pools.private),
  }),
  round: orFailure(results.round),
  volume: orFailure(integer),
  marginBalance: orFailure(results.marginBalance),
  minXMargin: orFailure(integer),
};

const nextRun = {
  expired: orNull(flag, "there is no round").describe(
    "The round has ended as for a settlement, or, with --block, by that block's time. Null: there is no round",
  ),
  canBeSettled: flag
    .nullable()
    .describe(
      "The next unattended run would settle, once the round has ended. Null: it cannot be tried, or the zero address is refused and no other account is named",
    ),
  canBeSettledBy: address.nullable().describe("Account that was tried"),
  code: orNull(code, "there is none, as if the round is settled"),
  reason: text
    .nullable()
    .describe("Why the next run would not settle. Null: it would"),
};

const status = shape("Status", {
  ...readings,
  ...nextRun,
  secondsToEnd: number
    .nullable()
    .describe(
      "Seconds from that time to the round's end, negative after it. Null: there is no round, or it is above 2^53",
    ),
  openSettlement: z
    .strictObject({
      hash: orNull(hex, "the node or the wallet has not returned it"),
      nonce: number,
      since: number.nullable().describe("Unix seconds of this machine"),
    })
    .nullable()
    .describe("Settlement under way. Null: none of this project"),
});

const value = z.union([text, number, flag]).nullable().meta({
  id: "value",
  description: "As the field has it. Null: the reading failed there",
});
const token = {
  token: text.describe("Address of the token, or `native`"),
  symbol: text.nullable().describe("What the token returns; do not rely on it"),
  decimals: number
    .nullable()
    .describe("What the token returns; do not rely on it"),
};
const simulated = {
  status: z.enum(["settled", "not-settled", "reverted", "nothing-to-do"]),
  code: orNull(
    code,
    "nothing is wrong. `VAULT_GUARD_KEEPS_TOKENS` of `settled`: tokens would stay in the guard, so `vault settle` refuses",
  ),
  reason: text.nullable().describe("Why, partly in the contract's own words"),
  guard: orNull(address, "the settlement goes through none"),
  engine: z.enum(["simulateV1", "fork", "in-process"]),
  gasUsed: orNull(integer, "nothing was executed, or only called"),
  block: z
    .strictObject({ number, timestamp: number })
    .nullable()
    .describe("Block of the simulated settlement. Null: nothing was executed"),
  changes: z.array(
    z.strictObject({
      reading: text.describe(
        "`round`, `pools.public`, `fundingFeeRate.call`, `orders.7`, …",
      ),
      field: text.describe(
        "Name of the field; `error` if the reading fails before or after",
      ),
      before: value,
      after: value,
    }),
  ),
  balances: z.array(
    z.strictObject({
      account: address.describe(
        "The sender, the guard, or a contract of the protocol",
      ),
      before: integer.describe("Wei, or the token's smallest unit"),
      after: integer,
      ...token,
    }),
  ),
  transfers: z
    .array(
      z.strictObject({ from: address, to: address, amount: integer, ...token }),
    )
    .nullable()
    .describe(
      "What moves between accounts, as the node lists it. Null: the engine cannot list it",
    ),
  notes: z.array(text).describe("What this simulation does not show"),
};
const differences = z
  .array(
    z.strictObject({
      reading: text.describe("As in `changes`, or `transfers`"),
      field: text.describe(
        "Name of the field; of a transfer, its token and the two accounts",
      ),
      previewed: value,
      happened: value,
    }),
  )
  .nullable()
  .meta({
    id: "Differences",
    description:
      "Previewed changes that did not come, and token transfers otherwise than previewed; native currency is not compared. Null: nothing was mined, it reverted, or it could not be compared",
  });

const settlement = z.strictObject({
  status: z.enum([
    "settled",
    "not-settled",
    "nothing-to-do",
    "refused",
    "reverted",
    "unconfirmed",
    "cancelled",
  ]),
  code: orNull(
    code,
    "nobody need look: the end is good, or a step of `--partial`, or still open",
  ),
  reason: text.nullable().describe("Why, partly in the contract's own words"),
  hash: hex
    .nullable()
    .describe(
      "The transaction, or that of the earlier settlement. Null: nothing was sent, or the node or the wallet has not returned it",
    ),
  hashes: z
    .array(hex)
    .describe("Every transaction that was sent for it, oldest first"),
  guard: orNull(address, "none, or not read"),
  blockNumber: orNull(number, "not mined"),
  cost: integer
    .nullable()
    .describe(
      "Wei, with the fee for its data on chains of the OP stack. Null: not mined, not shown by the node, or finished by an earlier run",
    ),
  gasUsed: orNull(integer, "not mined, or finished by an earlier run"),
  before: results.round
    .nullable()
    .describe("Before anything was sent. Null: not read"),
  after: results.round
    .nullable()
    .describe(
      "In the transaction's block. Null: not mined or not readable, or finished by an earlier run",
    ),
  preview: z
    .strictObject(simulated)
    .nullable()
    .describe("Null: resumed, no engine on the node, or stopped before"),
  differences,
});

const block = z.strictObject({
  number: number.describe("Block that every value was read at"),
  timestamp: number.describe("Unix seconds"),
});
/** Network and block of a document. */
const envelope = {
  network: text.describe("Name in the Hardhat configuration"),
  chainId: number.describe("As the node returned it"),
  block,
};

/** A document with an envelope. */
function document<T extends z.ZodRawShape>(fields: T) {
  return z.strictObject({ ...envelope, ...fields });
}

const request = {
  jsonrpc: z.literal("2.0"),
  id: z.literal(1),
  method: z.literal("eth_call"),
  params: z.tuple([
    z.strictObject({ from: address, to: address, data: hex }),
    z.literal("latest"),
  ]),
};
const mockTarget = {
  operation: text,
  pool: z
    .enum(["public", "private"])
    .nullable()
    .describe("Null: both, or without --pool"),
  orderID: integer
    .nullable()
    .describe("Null: every order, or without --order-id"),
  from: address
    .nullable()
    .describe("Caller that fails. Null: every caller, or without --from"),
};

/** By the words that are typed. A failure prints `error` in place of any of them. */
export const jsonDocuments: Readonly<Record<string, z.ZodType>> = {
  error: z.strictObject({
    error: failure.extend({
      details: z
        .record(text, z.unknown())
        .describe("The values in the message, by name"),
    }),
  }),
  "vault funding-rate": document({
    fundingFeeRate: z
      .strictObject(rates)
      .partial()
      .describe("With --type, only that one"),
  }),
  "vault round": document({ round: results.round }),
  "vault order": document({ order: results.order }),
  "vault pools": document({ pools: z.strictObject(pools) }),
  "vault margins": document({
    margins: results.margins.describe("To pay for the next round"),
  }),
  "vault volume": document({ volume: integer }),
  "vault margin-balance": document({ marginBalance: results.marginBalance }),
  "vault min-margin": document({ minXMargin: integer }),
  "vault status": document({
    status: orNull(status, "--all, and only instances have contracts"),
    instances: z
      .record(text, status)
      .optional()
      .describe("With --all, by name"),
  }),
  "vault orders": document({
    orders: z.array(
      z.union([
        results.order.extend({
          empty: z.literal(true).optional().describe("Every value is zero"),
        }),
        z.strictObject({ orderID: integer, error: failure }),
      ]),
    ),
  }),
  "vault rounds": document({
    rounds: z.array(
      results.round.extend({
        settledPrice: orNull(integer, "no block shows the round settled"),
        settledAmount: orNull(integer, "no block shows the round settled"),
        firstBlock: number.describe(
          "First block of the range in which it was the latest round",
        ),
        settledBlock: orNull(number, "no block shows that it was settled"),
        lastBlock: number.describe(
          "Last block of the range in which it was the latest round",
        ),
        outOfOrder: z
          .literal(true)
          .optional()
          .describe("Rounds before it may be missing"),
      }),
    ),
    notes: z.array(text).describe("What limits the list"),
  }),
  "vault simulate": document({
    simulation: z.strictObject(simulated),
  }).describe("`block` is the one that the simulation starts from"),
  "vault settle": document({
    block: orNull(block, "the round was not read"),
    settlement,
  }),
  "vault settle --calldata": document({
    to: address.describe("The vault, or the guard"),
    data: hex,
    value: z.literal("0"),
    estimatedGas: orNull(
      integer,
      "no --from, or the contract refuses the call",
    ),
  }),
  "vault report": document({
    file: text.describe("The file that was written"),
  }),
  "vault watch": document({
    status: shape("Readings", readings),
    ...nextRun,
    changed: z
      .array(text)
      .describe(
        "Such as `round.filledVolume`; empty in the first line, and after an outage",
      ),
  }).describe("One a line, at every change"),
  "vault doctor": z
    .strictObject({
      ...z.strictObject(envelope).partial().shape,
      checks: z.array(
        z.strictObject({
          name: text,
          status: z.enum(["ok", "warn", "fail"]),
          detail: text.describe("What was found"),
          fix: text.nullable().describe("What to do"),
          balance: integer
            .optional()
            .describe("Of the check `balance`: wei of the account"),
          maxCost: integer
            .optional()
            .describe("Of the check `balance`: wei of a settlement"),
        }),
      ),
    })
    .describe("Network and block are absent if the node did not answer"),
  "vault deploy-guard": document({
    guard: z.strictObject({
      address,
      settler: address.describe(
        "The only account that may settle; the zero address: anyone",
      ),
      hash: orNull(hex, "the guard is there already"),
    }),
  }),
  "vault deploy-mocks": document({
    contracts: z.strictObject(byRole(() => address)),
    scenario: text,
  }),
  "vault mock next-round": document({
    mock: z.strictObject({ round: results.round }),
  }),
  "vault mock set": document({
    mock: z.strictObject({
      set: z.record(text, z.unknown()).describe("The changes, by key"),
    }),
  }),
  "vault mock fail": document({
    mock: z.strictObject({ ...mockTarget, reason: text.describe("As typed") }),
  }),
  "vault mock succeed": document({ mock: z.strictObject(mockTarget) }),
  "vault capture": document({
    fixture: z.strictObject({
      file: text,
      orders: number.describe("Orders that were recorded"),
      margins: number.describe("Sets of terms whose margins were recorded"),
      failed: number.describe(
        "Readings and orders that failed, recorded as such",
      ),
      note: text.optional().describe("What a replay without orders does"),
    }),
  }),
  "vault request": z
    .strictObject(request)
    .describe("The JSON-RPC request itself"),
  "vault request settleAll": z
    .strictObject({
      operation: z.literal("settleAll"),
      to: address,
      data: hex,
      value: z.literal("0x0"),
      explanation: text,
    })
    .describe("No request: the protocol does not document how to submit it"),
};

/** @returns The JSON Schema of all documents. */
export function toJsonSchema(): object {
  const named = Object.entries(jsonDocuments).map(([name, schema]) =>
    schema.meta({ ...schema.meta(), id: idOf(name) }),
  );
  const { $schema, anyOf, $defs = {} } = z.toJSONSchema(z.union(named));
  for (const definition of Object.values($defs)) {
    // The name is the key; this draft has no keyword `id`.
    delete definition.id;
  }
  const title = "What a task of hardhat-vault prints with --json";
  return { $schema, title, anyOf, $defs };
}

/** Name of a document in the schema's `$defs`. */
export function idOf(name: string): string {
  return name.replaceAll(" ", "-");
}

function shape<T extends z.ZodRawShape>(id: string, fields: T) {
  return z.strictObject(fields).meta({ id });
}

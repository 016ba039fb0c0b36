import { readFile } from "node:fs/promises";

import { expect } from "chai";

import { encodeGuarded } from "../../src/guard/round-guard.js";
import type { VaultRound } from "../../src/protocol/index.js";
import { Journal } from "../../src/settlement/journal.js";
import { expectVaultError } from "../helpers/assertions.js";
import { fieldsOf, listOf } from "../helpers/fields.js";
import {
  FACTORY,
  GENESIS,
  OPEN_ROUND,
  SETTLER,
  VAULT,
} from "../helpers/scripted-contracts.js";
import {
  journalSubject,
  unsignedSettlement,
  JOURNAL_FILE,
  HASH,
  entry as sent,
  itSettles,
  useKeeper,
} from "../helpers/keeper.js";
import type { SettlementCase } from "../helpers/keeper.js";

const content = { version: 1, ...journalSubject, ...sent };

/** What makes a journal invalid, and texts of the error. */
type Broken = readonly [
  title: string,
  change: (unsent: Readonly<Record<string, unknown>>) => unknown,
  says: readonly string[],
];

describe("an invalid journal of a settlement", () => {
  const keeper = useKeeper();
  const journal = (genesisHash = GENESIS): Journal =>
    new Journal(keeper.projectRoot, { ...journalSubject, genesisHash });
  const text = async (): Promise<string> =>
    await readFile(keeper.journalFile(), "utf8");

  /** A journal that settleAll refuses, and leaves as it is. */
  const refused = (
    [title, change, says]: Broken,
    resume: boolean,
  ): SettlementCase => {
    let before = "";
    return {
      title: `settleAll throws VAULT_INVALID_JOURNAL, and keeps the journal, if ${title} (resume: ${resume})`,
      given: async () => {
        await keeper.interrupt();
        await keeper.writeJournal(change(await keeper.journal()));
        before = await text();
      },
      options: { resume },
      throws: "VAULT_INVALID_JOURNAL",
      says: [...says, JOURNAL_FILE],
      then: async () => {
        expect(await text()).to.equal(before);
      },
    };
  };
  const invalid: readonly Broken[] = [
    ["it is empty", () => "", ["not JSON"]],
    [
      "it is cut",
      (unsent) => JSON.stringify(unsent).slice(0, 300),
      ["not JSON"],
    ],
    [
      "it is of a later version",
      (unsent) => ({ ...unsent, version: 2 }),
      ["version"],
    ],
    [
      "it lacks a part",
      (unsent) => ({ ...unsent, round: undefined }),
      ["round"],
    ],
    [
      "it is of another chain",
      (unsent) => ({ ...unsent, chainId: 1 }),
      [
        `vault ${VAULT} on live chain 1, not of vault ${VAULT} on live chain 31337`,
      ],
    ],
    [
      "it is of another vault",
      (unsent) => ({ ...unsent, vault: FACTORY }),
      [`vault ${FACTORY} on live chain 31337, not of vault ${VAULT}`],
    ],
    [
      "the transaction that was mined has no hash",
      (unsent) => ({
        ...unsent,
        mined: { status: "settled", blockNumber: 6, hash: "0x12" },
      }),
      ["mined", "expected a hash"],
    ],
    [
      "its cancellation does something else",
      (unsent) => {
        const [first] = listOf(unsent["transactions"]).map(fieldsOf);
        const unsignedCall = { raw: undefined, hash: undefined, data: "0x12" };
        const other = { kind: "cancellation", to: SETTLER, ...unsignedCall };
        return { ...unsent, transactions: [first, { ...first, ...other }] };
      },
      ["not a transfer to the account itself"],
    ],
    [
      "its transactions are of two accounts",
      (unsent) => {
        const [first] = listOf(unsent["transactions"]).map(fieldsOf);
        const other = { from: FACTORY, raw: undefined, hash: undefined };
        return { ...unsent, transactions: [first, { ...first, ...other }] };
      },
      ["not the same account and nonce"],
    ],
    ...(
      [
        [
          "is for another chain",
          { chainId: 1 },
          "on live chain 31337, not of vault",
        ],
        ["goes elsewhere", { to: FACTORY }, `goes to ${FACTORY}, not to`],
        ["calls something else", { data: "0x12345678" }, "not call settleAll"],
        ["has other signed bytes", { nonce: 77 }, "signed bytes are not its"],
      ] as const
    ).map(
      ([title, changes, says]) =>
        [
          `its transaction ${title}`,
          (unsent: Readonly<Record<string, unknown>>) => ({
            ...unsent,
            transactions: [
              { ...fieldsOf(listOf(unsent["transactions"])[0]), ...changes },
            ],
          }),
          [says],
        ] as const,
    ),
  ];

  itSettles(
    keeper,
    invalid.flatMap((one) => [refused(one, false), refused(one, true)]),
  );

  for (const [changes, where] of [
    [{ chainId: -1 }, "chainId"],
    [{ extra: 1 }, "Unrecognized key"],
    [{ round: { ...OPEN_ROUND, extra: 1 } }, "round"],
    [{ round: { ...OPEN_ROUND, APY: "1x" } }, "round.APY"],
    [{ round: { ...OPEN_ROUND, settled: "no" } }, "round.settled"],
    [{ transactions: [{ ...unsignedSettlement, data: "0xa" }] }, "data"],
    [{ transactions: [{ ...unsignedSettlement, hash: `${HASH}0` }] }, "hash"],
    [{ transactions: [{ ...unsignedSettlement, extra: 1 }] }, "transactions.0"],
    [
      {
        transactions: [{ ...unsignedSettlement, fees: { gasPrice: 1n, x: 1 } }],
      },
      "fees",
    ],
    [{ transactions: [{ ...unsignedSettlement, fees: {} }] }, "fees"],
  ] as const) {
    it(`cannot be read with VAULT_INVALID_JOURNAL if ${where} is odd: ${Object.keys(changes).join()}`, async () => {
      await keeper.writeJournal({ ...content, ...changes });
      const { message } = await expectVaultError(
        journal().read(),
        "VAULT_INVALID_JOURNAL",
      );
      expect(message).to.include(where).and.include(JOURNAL_FILE);
    });
  }

  const guard = "0x00000000000000000000000000000000000000A7";
  const guarded = (
    changes: Partial<VaultRound> = {},
    of = VAULT,
    more = "",
  ): unknown => {
    const round = { ...OPEN_ROUND, ...changes };
    const data = encodeGuarded(of, {
      ...{ factory: FACTORY, round },
      ...{ mustHaveEnded: false, mustSettle: true, tokens: [] },
    });
    const through = {
      ...unsignedSettlement,
      to: guard,
      data: `${data}${more}`,
    };
    return { ...content, guard, transactions: [through] };
  };

  it("is none that settles its round and vault through its guard, by an account of the node", async () => {
    await keeper.writeJournal(guarded());
    expect(await journal().read()).to.deep.include({ guard });
  });

  for (const [title, file] of [
    ["another vault", guarded({}, FACTORY)],
    ["a round with another start", guarded({ startTime: 1n })],
    ["a round with another strike price", guarded({ strikePrice: 1n })],
    ["its round, with more data", guarded({}, VAULT, "00")],
  ] as const) {
    it(`is one whose transaction settles ${title} through its guard`, async () => {
      await keeper.writeJournal(file);
      const { message } = await expectVaultError(
        journal().read(),
        "VAULT_INVALID_JOURNAL",
      );
      expect(message).to.include(
        "its transaction does not settle its round through its guard",
      );
    });
  }
});

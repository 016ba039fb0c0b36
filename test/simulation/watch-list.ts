import { expect } from "chai";
import { toQuantity } from "ethers";

import { failedReading } from "../../src/client/read-at-block.js";
import type { VaultSnapshot } from "../../src/client/read-at-block.js";
import { vaultError } from "../../src/errors.js";
import {
  keysOf,
  operations,
  placesOf,
  standaloneQueries,
} from "../../src/protocol/index.js";
import type { Receipt } from "../../src/rpc/transactions.js";
import type { ReadingValue } from "../../src/simulation/types.js";
import { findDifferences } from "../../src/simulation/watch-list.js";
import type { Simulation, SimulateSettleAllOptions } from "../../src/types.js";
import { documentedContracts } from "../helpers/documented-node.js";
import { minedReceipt } from "../helpers/keeper.js";
import { pathsOf, withOtherReadings } from "../helpers/readings.js";
import { transferLog } from "../helpers/scripted-chain.js";
import {
  OPEN_ROUND,
  SETTLER,
  VAULT,
  orderWords,
} from "../helpers/scripted-contracts.js";
import type {
  ContractAnswer,
  ContractCall,
} from "../helpers/scripted-contracts.js";
import { ScriptedNode } from "../helpers/scripted-node.js";
import { expectVaultError } from "../helpers/assertions.js";
import { changeCalls, simulateOn } from "../helpers/simulate-on.js";

const word = (value: unknown): string =>
  Number(value).toString(16).padStart(64, "0");

/** What reverts: an operation, before or after the settlement, with this data. */
type Failures = Readonly<
  Partial<Record<`${string} ${"before" | "after"}`, string>>
>;

/**
 * Contracts whose values all differ: thousands for contract and argument, tens
 * for the field. The settlement raises every other field by 1 and lowers the rest.
 */
const answers =
  (failures: Failures = {}) =>
  ({ to, data, phase }: ContractCall): ContractAnswer => {
    const name = keysOf(operations).find((each) =>
      data.startsWith(operations[each].selector),
    );
    const id =
      name === "getOrderInfo" ? ` ${BigInt(`0x${data.slice(10)}`)}` : "";
    const failure = failures[`${name ?? ""}${id} ${phase}`];
    if (failure !== undefined || name === undefined || name === "settleAll") {
      return { reverted: failure !== undefined, data: failure ?? "0x" };
    }
    const step = phase === "after" ? 1 : 0;
    if (name === "getOrderInfo") {
      const exType = Buffer.from(step === 1 ? "\u001b[2J,=1" : "BTC-USDT");
      const order = { exType, contractType: 1 + step, state: 2 - step };
      return { reverted: false, data: orderWords(order) };
    }
    const first = Number(`0x${to.slice(-1)}${data.slice(-1)}`) * 1_000;
    const words = operations[name].outputs.map(({ type }, index) =>
      word(
        type === "bool"
          ? step
          : first + index * 10 + (index % 2 === 0 ? step : -step),
      ),
    );
    return { reverted: false, data: `0x${words.join("")}` };
  };

async function simulate(
  failures: Failures = {},
  options: SimulateSettleAllOptions = {},
  contracts: Readonly<Record<string, string>> = documentedContracts,
): Promise<Simulation> {
  const node = new ScriptedNode({
    codeOf: (address) =>
      address.toLowerCase() === SETTLER.toLowerCase() ? "0x" : "0x01",
    answerOf: answers(failures),
  });
  const asked = { engine: "simulateV1", ...options } as const;
  return await simulateOn(node, asked, { contracts });
}

const readingsOf = ({ changes }: Simulation): readonly string[] => [
  ...new Set(changes.map(({ reading }) => reading)),
];

/** The changes of a reading: field, value before, value after. */
const changesOf = (
  { changes }: Simulation,
  name: string,
): ReadonlyArray<readonly unknown[]> =>
  changes
    .filter(({ reading }) => reading === name)
    .map(({ field, before, after }) => [field, before, after]);

const isUnreadable = (reason: string): boolean =>
  reason.startsWith("The round cannot be read");

describe("readings of a simulation", () => {
  it("a simulation lists every field of every reading that changes, before and after, in the order of a snapshot", async () => {
    const simulation = await simulate({}, { orders: [7n] });
    expect(readingsOf(simulation)).to.deep.equal([...pathsOf(), "orders.7"]);
    const numbers = simulation.changes.filter(
      ({ before }) => typeof before === "bigint",
    );
    // All but whether the round is settled; an order is the same.
    expect(numbers).to.have.length(
      standaloneQueries.flatMap(placesOf).length - 1,
    );
    for (const { field, before, after } of numbers) {
      const step = (Number(before) / 10) % 2 === 0 ? 1 : -1;
      expect(Number(after) - Number(before), field).to.equal(step);
    }
    expect(changesOf(simulation, "volume")).to.deep.equal([
      ["volume", 104_000n, 104_001n],
    ]);
    expect(changesOf(simulation, "orders.7")).to.deep.equal([
      ["exType", "BTC-USDT", "\u001b[2J,=1"],
      ["contractType", 1, 2],
      ["state", 2, 1],
    ]);
  });

  const PANIC = `0x4e487b71${word(0x12)}`;
  const twice = (name: string, data: string): Failures => ({
    [`${name} before`]: data,
    [`${name} after`]: data,
  });
  for (const [title, failures, name, expected] of [
    [
      "null and the code of the error if it cannot be read any more",
      { "minXMargin after": PANIC },
      "minXMargin",
      [["error", null, "VAULT_CALL_REVERTED"]],
    ],
    [
      "the code of the error and null if it can be read from then on",
      { "queryVolume before": "0x1234" },
      "volume",
      [["error", "VAULT_CALL_REVERTED", null]],
    ],
    [
      "nothing if it cannot be read before and after",
      twice("queryMarginBalance", "0x1234"),
      "marginBalance",
      [],
    ],
  ] as const) {
    it(`a simulation lists of a reading ${title}`, async () => {
      const simulation = await simulate(failures);
      expect(changesOf(simulation, name)).to.deep.equal(expected);
    });
  }

  it("a simulation lists of a reading VAULT_CALL_REVERTED if the network returns its revert as a result", async () => {
    const node = new ScriptedNode({
      codeOf: (address) =>
        address.toLowerCase() === SETTLER.toLowerCase() ? "0x" : "0x01",
      answerOf: (call) =>
        call.phase === "after" && call.data === operations.minXMargin.selector
          ? { reverted: false, data: PANIC }
          : answers()(call),
    });
    const network = { contracts: documentedContracts };
    const simulation = await simulateOn(node, {}, network);
    expect(changesOf(simulation, "minXMargin")).to.deep.equal([
      ["error", null, "VAULT_CALL_REVERTED"],
    ]);
  });

  it("a simulation lists of a reading VAULT_NO_CODE if its contract has no code and answers nothing any more", async () => {
    const without: readonly string[] = [
      SETTLER.toLowerCase(),
      documentedContracts.vaultFactory,
    ];
    const node = new ScriptedNode({
      codeOf: (address) =>
        without.includes(address.toLowerCase()) ? "0x" : "0x01",
      answerOf: (call) =>
        without.includes(call.to.toLowerCase()) && call.phase === "after"
          ? { reverted: false, data: "0x" }
          : answers()(call),
    });
    const network = { contracts: documentedContracts };
    const simulation = await simulateOn(node, {}, network);
    expect(changesOf(simulation, "minXMargin")).to.deep.equal([
      ["error", null, "VAULT_NO_CODE"],
    ]);
  });

  for (const [ids, failures, listed, note] of [
    [[10, 9, 100], {}, ["orders.10", "orders.9", "orders.100"], undefined],
    [[7, 8], twice("getOrderInfo 8", "0x"), ["orders.7"], "1 of 2"],
    [
      [8, 7],
      { "getOrderInfo 8 after": "0x" },
      ["orders.8", "orders.7"],
      undefined,
    ],
  ] as const) {
    it(`a simulation of the orders ${ids.join()} lists ${listed.join()} ${note === undefined ? "without a note" : `and notes ${note}`} if these fail: ${Object.keys(failures).join()}`, async () => {
      const simulation = await simulate(failures, { orders: ids });
      expect(
        readingsOf(simulation).filter((name) => name.startsWith("orders.")),
      ).to.deep.equal(listed);
      expect(
        simulation.notes.filter((one) => one.startsWith("Orders that")),
      ).to.deep.equal(
        note === undefined ? [] : [`Orders that could not be read: ${note}.`],
      );
    });
  }

  for (const [title, failures, status, isNoted] of [
    [
      "the settlement reverts",
      {
        "settleAll before": "0x12345678",
        ...twice("getLatestRoundInfo", "0x"),
      },
      "reverted",
      false,
    ],
    [
      "it cannot be read",
      twice("getLatestRoundInfo", "0x"),
      "not-settled",
      true,
    ],
    [
      "it cannot be read any more",
      { "getLatestRoundInfo after": "0x" },
      "not-settled",
      true,
    ],
    [
      "it is settled after the settlement, and could not be read before",
      { "getLatestRoundInfo before": "0x" },
      "settled",
      false,
    ],
  ] as const) {
    it(`simulateSettleAll predicts ${status} ${isNoted ? "because the round cannot be read" : "as usual"} if ${title}`, async () => {
      const simulation = await simulate(failures);
      expect(simulation.status).to.equal(status);
      expect(isUnreadable(String(simulation.reason))).to.equal(isNoted);
    });
  }

  for (const [returned, problem] of [
    ["0x", "returns nothing"],
    [`0x${word(1)}${word(2)}`, "returns two words"],
    [undefined, "reverts"],
  ] as const) {
    it(`simulateSettleAll throws VAULT_INVALID_ARGUMENT if a token ${problem}`, async () => {
      const node = new ScriptedNode();
      changeCalls(node, (place) =>
        // The last reading before the settlement.
        place === -2
          ? {
              returnData: returned ?? "0x",
              status: toQuantity(returned === undefined ? 0 : 1),
            }
          : {},
      );
      const { details } = await expectVaultError(
        simulateOn(node, { tokens: [SETTLER] }),
        "VAULT_INVALID_ARGUMENT",
      );
      expect(details["where"]).to.contain(SETTLER);
    });
  }

  it("a simulation lists the readings of the contracts that have an address, and no order without trading", async () => {
    const { vault, privatePool } = documentedContracts;
    const contracts = { vault, privatePool };
    const simulation = await simulate({}, { orders: [1] }, contracts);
    expect(readingsOf(simulation)).to.deep.equal(
      pathsOf("vault", "privatePool"),
    );
  });
});

const TOKEN = `0x${"44".repeat(20)}` as const;

const pool = { deposit: 3n, availabe: 2n, locked: 1n };
const readings: VaultSnapshot = withOtherReadings(
  {
    chainId: 1,
    block: { number: 6, timestamp: 1_700_000_006 },
    round: { ...OPEN_ROUND, settled: true, settledPrice: 7n },
    pools: { public: pool, private: pool },
    marginBalance: { baseMarginAmount: 1n, xMarginAmount: 2n },
  },
  5n,
);
const previewed = (reading: string, field: string, value: ReadingValue) => ({
  reading,
  field,
  before: null,
  after: value,
});
const preview = {
  changes: [
    previewed("round", "settledPrice", 7n),
    previewed("volume", "volume", 5n),
    previewed("pools.private", "locked", 1n),
  ],
  transfers: [],
};

describe("findDifferences()", () => {
  const failed = failedReading(vaultError("VAULT_NO_SENDER", { network: "x" }));
  const round = { ...OPEN_ROUND, settledPrice: 8n };
  const price = {
    reading: "round",
    field: "settledPrice",
    previewed: 7n,
    happened: 8n,
  };
  const volume = { ...price, reading: "volume", field: "volume" };

  for (const [title, changes, receipt, is] of [
    ["none if all changes came", {}, {}, []],
    ["null for a transaction that reverted", {}, { succeeded: false }, null],
    [
      "a change that came otherwise",
      { round },
      { succeeded: undefined },
      [price],
    ],
    [
      "a change of a reading that fails now, with its code",
      { volume: failed },
      {},
      [{ ...volume, previewed: 5n, happened: "VAULT_NO_SENDER" }],
    ],
    [
      "no change that was not previewed, as of a value that time moves",
      { marginBalance: { baseMarginAmount: 9n, xMarginAmount: 2n } },
      {},
      [],
    ],
    [
      "null if all came and the transfers are not known",
      {},
      { logs: null },
      null,
    ],
    [
      "a change, also if the transfers are not known",
      { round },
      { logs: null },
      [price],
    ],
  ] as const) {
    it(`has ${title}`, () => {
      const mined: Receipt = { ...minedReceipt, ...receipt };
      const found = findDifferences(preview, mined, {
        ...readings,
        ...changes,
      });
      expect(found).to.deep.equal(is);
    });
  }

  const moved = { token: TOKEN, from: VAULT, to: VAULT } as const;
  const moves = [2n, 3n].map((amount) => ({ ...moved, amount }));
  const native = { ...moved, token: "native", amount: 3n } as const;
  /** Of 5. */
  const log = transferLog(TOKEN, VAULT);
  const ofToken = (expected: bigint, happened: bigint) => ({
    reading: "transfers",
    field: `${TOKEN} from ${VAULT} to ${VAULT}`,
    previewed: expected,
    happened,
  });
  for (const [title, transfers, logs, is] of [
    ["no transfers with the sum that was previewed", moves, [log], []],
    ["a token that did not move", moves, [], [ofToken(5n, 0n)]],
    ["a token that moved twice", moves, [log, log], [ofToken(5n, 10n)]],
    ["null if the node does not list transfers", moves, null, null],
    ["null if the simulation did not", null, [log], null],
    ["no native currency, which a receipt lacks", [native], [], []],
  ] as const) {
    it(`has ${title}`, () => {
      const mined = { ...minedReceipt, logs };
      const found = findDifferences({ ...preview, transfers }, mined, readings);
      expect(found).to.deep.equal(is);
    });
  }
});

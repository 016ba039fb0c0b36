import { AssertionError } from "node:assert";
import { inspect } from "node:util";

import { expect } from "chai";

import * as functions from "../../src/assert/index.js";
import type {
  ExpectedReadings,
  ExpectedSettlement,
} from "../../src/assert/index.js";
import "../../src/chai/index.js";
import type { HardhatVault, VaultRound } from "../../src/types.js";
import { expectVaultError } from "../helpers/assertions.js";
import { connectTo } from "../helpers/hre.js";
import { codeIn, readSections } from "../helpers/reference-page.js";

const PRICE = 2_000n * 10n ** 18n;
const AMOUNT = 77n;

const openRound = {
  strikePrice: 1_900n * 10n ** 18n,
  startTime: 1_700_000_000n,
  endTime: 1_800_000_000n,
};

type World = Awaited<ReturnType<typeof createWorld>>;

/** Mocks in process; each case starts from the same state. */
async function createWorld() {
  const { vault, ethers, provider } = await connectTo(undefined);
  const mocks = await vault.deployMocks({
    overrides: {
      round: openRound,
      settlement: { settledPrice: PRICE, settledAmount: AMOUNT },
      volume: 100n,
      minXMargin: 0n,
      pools: { public: { locked: 0n } },
    },
  });
  const [signer] = await ethers.getSigners();
  const contract = mocks.contracts.vault.connect(signer);
  const gas = { gasLimit: 500_000n };
  return {
    vault,
    mocks,
    // A fixed limit: an estimate would already fail if the mock reverts.
    settle: async () => await contract.settleAll(gas),
    setVolume: async (volume: bigint) => await contract.setVolume(volume, gas),
    send: async (method: string, ...params: unknown[]): Promise<unknown> =>
      await provider.request({ method, params }),
  };
}

type CheckName = "settlesRound" | "roundSettled" | "changesReadings";

/** One of the three checks; what it expects is refused if it does not fit. */
type Check = (
  name: CheckName,
  vault: HardhatVault,
  transaction: unknown,
  expected: unknown,
) => PromiseLike<unknown>;

const checkWithFunction: Check = (name, vault, transaction, expected) =>
  name === "roundSettled"
    ? // eslint-disable-next-line @typescript-eslint/consistent-type-assertions -- some are wrong on purpose
      functions.roundSettled(vault, expected as ExpectedSettlement)
    : // eslint-disable-next-line @typescript-eslint/consistent-type-assertions -- as above
      functions[name](vault, transaction, expected as ExpectedReadings);

const matcher =
  (isNegated: boolean): Check =>
  (name, vault, transaction, expected) => {
    const subject = expect(name === "roundSettled" ? vault : transaction);
    const that = isNegated ? subject.to.not : subject.to;
    if (name === "changesReadings") {
      // eslint-disable-next-line @typescript-eslint/consistent-type-assertions -- as above
      return that.changeReadings(vault, expected as ExpectedReadings);
    }
    const settled =
      name === "settlesRound"
        ? that.settleRound(vault)
        : that.have.settledRound();
    // eslint-disable-next-line @typescript-eslint/consistent-type-assertions -- as above
    const { price, amount } = (expected ?? {}) as ExpectedSettlement;
    const priced = price === undefined ? settled : settled.withPrice(price);
    return amount === undefined ? priced : priced.withAmount(amount);
  };

const checks: ReadonlyMap<string, Check> = new Map([
  ["hardhat-vault/assert", checkWithFunction],
  ["hardhat-vault/chai", matcher(false)],
]);

interface Case {
  readonly title: string;
  /** Default: one that settles the round. */
  readonly transaction?: (world: World) => unknown;
  readonly vault?: (world: World) => Promise<HardhatVault> | HardhatVault;
  readonly expected?: unknown;
  /** Message of the failed assertion; without it, the assertion passes. */
  readonly fails?: RegExp;
  /** The same with .not, unless it is the opposite. */
  readonly failsNegated?: RegExp;
  /** Another error than a failed assertion, with and without .not. */
  readonly throws?: RegExp;
  /** Members of the failure by a function, from the round before. */
  readonly shows?: (round: VaultRound) => {
    readonly expected: unknown;
    readonly actual: unknown;
  };
}

/** A check that cannot be made: it fails with .not, too. */
const noVerdict = (message: RegExp) => ({
  fails: message,
  failsNegated: message,
});

const itDid = / but it (?:did|is)/u;

const settlesRound: readonly Case[] = [
  ...(
    [
      ["a promise of a transaction", ({ settle }) => settle()],
      ["a transaction", async ({ settle }) => await settle()],
      ["a hash", async ({ settle }) => (await settle()).hash],
      ["a receipt", async ({ settle }) => await (await settle()).wait()],
      ["a promise of a settlement", ({ vault }) => vault.settleAll()],
    ] satisfies ReadonlyArray<[string, (world: World) => unknown]>
  ).map(([what, transaction]) => ({
    title: `passes on ${what} that settles the round`,
    transaction,
    failsNegated:
      /^expected transaction 0x[0-9a-f]{64} not to settle the vault's round, but it did \(.*settledPrice 2000000000000000000000, settledAmount 77/u,
  })),
  {
    title: "passes on the price and the amount that the round is settled with",
    expected: { price: PRICE, amount: Number(AMOUNT) },
  },
  {
    title: "fails on another price, even if the amount is right",
    expected: { price: 5n, amount: AMOUNT },
    fails:
      /^expected the round to be settled with settledPrice 5 \(real value 0\.000000000000000005\), but it is 2000000000000000000000 \(real value 2000\.0\)$/u,
    failsNegated: itDid,
    shows: () => ({ expected: 5n, actual: PRICE }),
  },
  {
    title: "fails on another amount",
    expected: { price: PRICE, amount: 78n },
    fails:
      /^expected the round to be settled with settledAmount 78, but it is 77$/u,
    failsNegated: itDid,
  },
  ...Object.entries({ price: -1n, amount: 1.5 }).map(([key, value]) => ({
    title: `refuses ${key} ${value}, which is no unsigned integer`,
    expected: { [key]: value },
    throws:
      /^VAULT_INVALID_INTEGER settled(?:Price|Amount) is not a whole number/u,
    failsNegated: itDid,
  })),
  {
    title: "fails on a transaction that leaves the round unsettled",
    transaction: ({ setVolume }) => setVolume(1n),
    fails:
      /^expected transaction 0x[0-9a-f]{64} to settle the vault's round, but it is still not settled \(the round from 2023-11-14T22:13:20Z to 2027-01-15T08:00:00Z with strike price 1900\)$/u,
    shows: (before) => ({
      expected: { before, settled: true },
      actual: { before, settled: false },
    }),
  },
  {
    title: "fails on an unsettled round before it compares the price",
    transaction: ({ setVolume }) => setVolume(1n),
    expected: { price: 0n },
    fails: /still not settled/u,
    failsNegated: /^\.withPrice\(\) cannot follow \.not: it would not/u,
  },
  {
    title: "fails on a transaction after the settlement",
    transaction: async ({ settle, setVolume }) => {
      await settle();
      return await setVolume(1n);
    },
    fails:
      /^expected transaction 0x[0-9a-f]{64} to settle the vault's round, but it was settled before \(/u,
  },
  {
    title: "fails on a transaction that opens another round",
    transaction: async ({ vault, mocks }) => {
      await mocks.startNextRound({ startTime: 5n, endTime: 6n });
      const block = await vault.connection.ethers.provider.getBlock("latest");
      return block?.transactions[0];
    },
    fails: /but another round took its place\n {2}before: .*\n {3}after: /u,
  },
  {
    title: "fails on a settlement with nothing to do",
    transaction: async ({ vault, settle }) => {
      await settle();
      return await vault.settleAll();
    },
    fails:
      /to be settled by a transaction, but nothing was sent: the settlement had nothing to do$/u,
  },
  {
    title: "passes on no settlement that was refused",
    transaction: ({ vault }) =>
      vault.settleAll({
        confirm: async () => await Promise.resolve("because"),
      }),
    ...noVerdict(
      /^expected a settlement that was sent, but it was refused: .*because/u,
    ),
  },
  {
    title: "leaves a rejected promise's error to the test",
    transaction: async () => await Promise.reject(new Error("not the keeper")),
    throws: /not the keeper/u,
  },
  {
    title: "passes on no transaction that was mined and reverted",
    transaction: async ({ mocks, settle, send }) => {
      await mocks.fail("settleAll");
      await send("evm_setAutomine", false);
      const reverted = await settle();
      await send("evm_mine");
      return reverted;
    },
    ...noVerdict(
      /^transaction 0x[0-9a-f]{64} reverted, so it changed nothing/u,
    ),
  },
  ...["settlement", "other transaction"].map((which) => ({
    title: `passes on no ${which} in a block of two transactions`,
    transaction: async ({ settle, setVolume, send }: World) => {
      await send("evm_setAutomine", false);
      const [settling, other] = [await settle(), await setVolume(1n)];
      await send("evm_mine");
      return which === "settlement" ? settling : other;
    },
    ...noVerdict(/^block \d+ of transaction .* holds 2 transactions/u),
  })),
  {
    title: "passes on no transaction of another network",
    transaction: async () => {
      const elsewhere = await connectTo(undefined);
      const [signer] = await elsewhere.ethers.getSigners();
      return await signer?.sendTransaction({ to: signer, value: 123n });
    },
    ...noVerdict(
      /is not known on the vault's network.*hre\.vault and network\.create\(\) are different chains/u,
    ),
  },
  ...[undefined, 1, "0x12", {}, { hash: 5 }].map((subject) => ({
    title: `passes on no ${inspect(subject)} in place of a transaction`,
    transaction: () => subject,
    ...noVerdict(/^expected a transaction, its hash or a settlement, got/u),
  })),
  {
    title: "leaves the error of an unreadable round to the test",
    vault: ({ vault, mocks }) =>
      vault.at({ vaultFactory: mocks.addresses.vault }),
    throws: /^VAULT_CALL_REVERTED /u,
  },
  {
    title: "refuses a contract for a vault",
    // eslint-disable-next-line @typescript-eslint/consistent-type-assertions -- wrong on purpose
    vault: ({ mocks }) => mocks.contracts.vault as unknown as HardhatVault,
    ...noVerdict(
      /^a vault is needed \(connection\.vault, mocks\.vault or await hre\.vault\.connect\(\)\), got/u,
    ),
  },
];

const roundSettled: readonly Case[] = [
  {
    title: "fails on an open round",
    transaction: () => undefined,
    fails:
      /^expected the vault's latest round to be settled, but it is not \(.*with strike price 1900\)$/u,
    shows: (round) => ({
      expected: { ...round, settled: true },
      actual: round,
    }),
  },
  {
    title: "passes on a settled round, its price and its amount",
    expected: { price: PRICE, amount: AMOUNT },
    failsNegated: /not to be settled, but it is \(.*settledAmount 77/u,
  },
];

const changesReadings: readonly Case[] = [
  {
    title: "passes on new values, pairs and differences",
    expected: {
      round: {
        settled: true,
        settledPrice: { from: 0, to: PRICE },
        settledAmount: { by: 77 },
      },
    },
    failsNegated:
      /^expected transaction .* not to change readings so, but it did:/u,
  },
  {
    title: "passes on a negative difference",
    transaction: ({ setVolume }) => setVolume(95n),
    expected: { volume: { by: -5n } },
    failsNegated: /but it did:\n {2}volume: 100 → 95$/u,
  },
  {
    title: "passes on the changes of its own block, not of a later one",
    transaction: async ({ setVolume }) => {
      const sent = await setVolume(95n);
      await setVolume(7n);
      return sent;
    },
    expected: { volume: 95n },
    failsNegated: /but it did:\n {2}volume: 100 → 95$/u,
  },
  {
    title: "names each reading that changed otherwise",
    expected: {
      volume: 5n,
      round: {
        settled: true,
        settledPrice: 1n,
        settledAmount: { by: 70n },
        strikePrice: openRound.strikePrice,
      },
      pools: { public: { locked: { by: -1n } } },
    },
    fails:
      /^expected transaction 0x[0-9a-f]{64} to change readings otherwise:\n {2}volume: expected a change to 5, but it is 100 as before\n {2}round\.settledPrice: expected a change to 1, but it changed 0 → 20{21}\n {2}round\.settledAmount: expected a change by \+70, but it changed 0 → 77\n {2}round\.strikePrice: expected a change to 190{20}, but it is 190{20} as before\n {2}pools\.public\.locked: expected a change by -1, but it is 0 as before$/u,
    failsNegated: /but it did:\n {2}round\.settled: false → true$/u,
  },
  {
    title: "fails on a change to another value than 0",
    transaction: ({ setVolume }) => setVolume(95n),
    expected: { volume: 0n, minXMargin: { by: 5n } },
    fails: /volume: expected a change to 0, but it changed 100 → 95$/mu,
    shows: () => ({
      expected: { volume: 0n, minXMargin: 5n },
      actual: { volume: 95n, minXMargin: 0n },
    }),
  },
  {
    title: "fails if the value before is another one",
    expected: { round: { settledAmount: { from: 1n, to: 77n } } },
    fails: /a change from 1 to 77, but it changed 0 → 77$/u,
  },
  {
    title: "passes on any change if none is stated",
    failsNegated:
      /^expected transaction .* to change no reading of the vault, but it did:\n {2}round\.settledPrice: 0 → /u,
  },
  {
    title: "fails on a transaction that changes nothing if none is stated",
    transaction: ({ setVolume }) => setVolume(100n),
    fails:
      /^expected transaction .* to change a reading of the vault, but all \d+ values are as before$/u,
  },
  {
    title: "fails on a settlement with nothing to do",
    transaction: async ({ vault, settle }) => {
      await settle();
      return await vault.settleAll();
    },
    fails: /^expected readings to change, but no transaction was sent/u,
  },
  {
    title: "reads only what is named",
    transaction: ({ setVolume }) => setVolume(1n),
    vault: withoutRound,
    expected: { volume: 1n },
    failsNegated: /volume: 100 → 1$/u,
  },
  ...[undefined, { round: { settled: true } }].map((expected) => ({
    title: `leaves the error of ${expected === undefined ? "any reading" : "a named reading"} to the test`,
    vault: withoutRound,
    expected,
    throws: /^VAULT_CALL_REVERTED /u,
  })),
  ...(
    [
      [{}, /must be an object that names a reading/u],
      [5, /must be an object that names a reading/u],
      [{ volum: 1n }, /^there is no reading volum; there are /u],
      [{ round: { settld: true } }, /^there is no reading round\.settld/u],
      [{ round: true, volume: 2n }, /^round must be an object that names/u],
      [{ volume: { to: 1n } }, /^volume must be a value, \{ from, to \}/u],
      [{ volume: { by: 0n } }, /with an integer that is not 0$/u],
    ] as const
  ).map(([expected, message]) => ({
    title: `refuses to expect ${inspect(expected)}`,
    expected,
    ...noVerdict(message),
  })),
  ...(
    [
      [{ round: { settled: 1n } }, /round\.settled is not one of true, false/u],
      [{ volume: "one" }, /volume is not a whole number/u],
      [{ volume: { from: 1n, to: -1n } }, /volume is not a whole number/u],
    ] as const
  ).map(([expected, throws]) => ({
    title: `refuses to expect ${inspect(expected)}`,
    expected,
    throws,
  })),
];

/** The vault is no factory: its round cannot be read, before or after. */
function withoutRound({ vault, mocks }: World): HardhatVault {
  return vault.at({ vaultFactory: mocks.addresses.vault });
}

const cases = { settlesRound, roundSettled, changesReadings };

describe("assertions of hardhat-vault/assert and hardhat-vault/chai", () => {
  let world: World;
  let start: unknown;
  let round: VaultRound;
  /** Messages of failed assertions, of those cases that ran. */
  const messages = new Set<string>();

  before(async () => {
    world = await createWorld();
    round = await world.vault.getLatestRoundInfo();
    start = await world.send("evm_snapshot");
  });
  after(async () => {
    await world.vault.connection.close();
  });
  beforeEach(async () => {
    await world.send("evm_setAutomine", true);
    await world.send("evm_revert", start);
    start = await world.send("evm_snapshot");
  });

  async function expectOutcome(
    name: CheckName,
    { transaction, vault, expected, throws, shows }: Case,
    check: Check,
    fails: RegExp | undefined,
  ): Promise<void> {
    const reader = vault === undefined ? world.vault : await vault(world);
    const sent =
      transaction === undefined ? world.settle() : transaction(world);
    if (name === "roundSettled") {
      await sent;
    }
    const made = check(name, reader, sent, expected);
    const failure = await failureOf(made);
    const { name: kind, message, ...details } = failure;
    const isAssertion = kind === "AssertionError";
    if (isAssertion) {
      messages.add(message);
    }
    const code = "code" in details ? `${String(details.code)} ` : "";
    expect(isAssertion, `${code}${message}`).to.equal(fails !== undefined);
    expect(isAssertion ? message : `${code}${message}`).to.match(
      fails ?? throws ?? /^$/u,
    );
    if (shows !== undefined && check === checkWithFunction) {
      expect(failure).to.be.instanceOf(AssertionError);
      const found = { code: "ERR_ASSERTION", operator: name, ...shows(round) };
      expect(failure).to.deep.include(found);
    }
  }

  for (const name of [
    "settlesRound",
    "roundSettled",
    "changesReadings",
  ] as const) {
    for (const each of cases[name]) {
      const { title, fails, throws } = each;
      for (const [entry, check] of checks) {
        it(`${name} of ${entry} ${title}`, async () => {
          await expectOutcome(name, each, check, fails);
        });
      }
      const passes = fails === undefined && throws === undefined;
      const negated = each.failsNegated ?? (passes ? itDid : undefined);
      it(`${name} with .not ${negated === undefined ? "does not fail" : "fails"}: it ${title}`, async () => {
        await expectOutcome(name, each, matcher(true), negated);
      });
    }

    for (const [entry, check] of checks) {
      it(`${name} of ${entry} begins the stack of a failure in the line of the test`, async () => {
        const sent = world.setVolume(1n);
        const made = check(name, world.vault, sent, {});
        const { message, stack = "" } = await failureOf(made);
        // Not every check waits for it.
        await sent;
        const title = `AssertionError: ${message}\n`;
        expect(stack.slice(0, title.length)).to.equal(title);
        expect(stack.slice(title.length).split("\n")[0]).to.match(
          /test\/assert\/assertions\.ts:\d+:\d+/u,
        );
      });
    }
  }

  it("settlesRound waits for a settlement that is sent and not mined yet", async () => {
    const { vault, send } = world;
    await send("evm_setAutomine", false);
    const settlement = await vault.settleAll({ timeout: 300 });
    expect(settlement).to.include({ status: "unconfirmed", blockNumber: null });
    const assertion = functions.settlesRound(vault, settlement, {
      price: PRICE,
    });
    await send("evm_mine");
    await assertion;
  });

  it("settlesRound says of a settlement that left the round open that it is still not settled", async () => {
    const { vault, setVolume } = world;
    const { hash } = await setVolume(1n);
    const settlement = await vault.settleAll();
    const left = { ...settlement, status: "not-settled", hash } as const;
    expect(
      (await failureOf(functions.settlesRound(vault, left))).message,
    ).to.include("still not settled");
  });

  it("settlesRound waits for a transaction that the node does not have yet", async () => {
    const { vault, settle } = world;
    const { provider } = vault.connection;
    const request = provider.request.bind(provider);
    const { hash } = await settle();
    let looks = 0;
    provider.request = async (call) => {
      looks += call.method === "eth_getTransactionReceipt" ? 1 : 0;
      const isMissing = looks < 2 && call.method.startsWith("eth_getTrans");
      const answer: unknown = isMissing ? null : await request(call);
      return answer;
    };
    await functions.settlesRound(vault, hash).finally(() => {
      provider.request = request;
    });
    expect(looks).to.equal(2);
  });

  it("hardhat-vault/assert refuses a misspelt expectation, and a price that no round can have", async () => {
    const misspelt = await failureOf(
      // @ts-expect-error -- price or amount
      functions.settlesRound(world.vault, world.settle(), { strike: 1n }),
    );
    expect(misspelt.message).to.equal(
      "there is no 'strike' of a settlement to expect; there are price, amount",
    );
    messages.add(misspelt.message);
    // Of an open round, too.
    await expectVaultError(
      functions.roundSettled(world.vault, { price: -1n }),
      "VAULT_INVALID_INTEGER",
    );
  });

  it("matchers of hardhat-vault/chai begin with the test's own message, and refuse to be chained, and details without a round", async () => {
    const { vault, setVolume } = world;
    const sent = await setVolume(1n);
    const own = failureOf(expect(sent, "round 2").to.settleRound(vault));
    expect((await own).message).to.match(/^round 2: expected transaction/u);
    const first = expect(sent).to.not.settleRound(vault);
    await first;
    const bare: unknown = expect(sent);
    const changed: unknown = expect(sent).to.changeReadings(vault);
    for (const [assertion, message] of [
      [
        () => first.and.to.changeReadings(vault),
        "changeReadings cannot be chained after settleRound: write a second expect()",
      ],
      [
        () => expect(vault).to.not.have.settledRound().settledRound(),
        "settledRound cannot be chained after settledRound: write a second expect()",
      ],
      ...[bare, changed].map(
        (unsettled) =>
          [
            () =>
              // eslint-disable-next-line @typescript-eslint/consistent-type-assertions -- the types have it only after a round
              (unsettled as Chai.SettledRoundAssertion).withAmount(1n),
            ".withAmount() must follow .settleRound() or .settledRound()",
          ] as const,
      ),
    ] as const) {
      const failure = await failureOf(assertion());
      expect(failure.message).to.equal(message);
      messages.add(failure.message);
    }
  });

  it("docs/reference-assertions.md has every message, no other, and a heading for every function", async function () {
    const sections = await readSections("reference-assertions");
    expect(
      sections.flatMap(({ heading }) => heading.split(", ")),
    ).to.include.members(Object.keys(functions));
    const documented = sections
      .filter(({ text }) => text.includes("| message "))
      .flatMap(({ rows }) => rows.map(([cell]) => String(codeIn(cell)[0])))
      .filter((message) => /^[^{].* /u.test(message))
      .map((message) => message.split("…").map((part) => part.trim()));
    for (const message of messages) {
      expect(
        documented.filter((parts) => hasInOrder(message, parts)),
        message,
      ).to.have.length(1);
    }
    const others = documented.filter(
      (parts) => ![...messages].some((message) => hasInOrder(message, parts)),
    );
    const tests = this.test?.parent?.tests ?? [];
    // Not with --grep: each of the others was to print its messages.
    if (tests.every((one) => one === this.test || one.state !== undefined)) {
      expect(others, "it would take half a minute").to.deep.equal([
        ["transaction", "was not mined within 30 s"],
      ]);
    }
  });
});

/** Whether a text begins and ends with these parts, with the others between. */
function hasInOrder(text: string, parts: readonly string[]): boolean {
  const escaped = parts.map((part) =>
    part.replaceAll(/[.*+?^${}()|[\]\\]/gu, "\\$&"),
  );
  return new RegExp(`^${escaped.join("[^]*")}$`, "u").test(text);
}

/** What an assertion throws; an error without a name if it passes. */
async function failureOf(assertion: PromiseLike<unknown>): Promise<Error> {
  try {
    await assertion;
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error));
  }
  return Object.assign(new Error(""), { name: "" });
}

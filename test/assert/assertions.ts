import { readFile } from "node:fs/promises";
import { setImmediate } from "node:timers/promises";
import { inspect } from "node:util";

import { expect } from "chai";

import * as functions from "../../src/assert/index.js";
import "../../src/chai/index.js";
import type { HardhatVault } from "../../src/types.js";
import { connectTo } from "../helpers/hre.js";
import { codeIn, readSections } from "../helpers/reference-page.js";

/** Every assertion, on a transaction that changes the volume of an open round. */
const failing: Readonly<
  Record<string, (vault: HardhatVault, sent: unknown) => PromiseLike<unknown>>
> = {
  settlesRound: (vault, sent) =>
    // @ts-expect-error -- price or amount
    functions.settlesRound(vault, sent, { strike: 1n }),
  roundSettled: (vault) => functions.roundSettled(vault),
  changesReadings: (vault, sent) =>
    functions.changesReadings(vault, sent, { volume: 2n }),
  settleRound: (vault, sent) => expect(sent).to.settleRound(vault),
  settledRound: (vault) => expect(vault).to.have.settledRound(),
  changeReadings: (vault, sent) =>
    expect(sent).to.changeReadings(vault, { volume: 2n }),
};

describe("assertions of hardhat-vault/assert and hardhat-vault/chai", () => {
  let vault: HardhatVault;
  let setVolume: () => Promise<{ readonly hash: string }>;

  before(async () => {
    const connection = await connectTo(undefined);
    ({ vault } = connection);
    const { contracts } = await vault.deployMocks();
    const [signer] = await connection.ethers.getSigners();
    const contract = contracts.vault.connect(signer);
    setVolume = async () => await contract.setVolume(1n);
  });
  after(async () => {
    await vault.connection.close();
  });

  for (const [name, check] of Object.entries(failing)) {
    it(`${name} begins the stack of a failure in the line of the test`, async () => {
      const failure = await failureOf(check(vault, await setVolume()));
      const { message, stack = "" } = failure;
      const title = `AssertionError: ${message}\n`;
      expect(stack.slice(0, title.length)).to.equal(title);
      expect(stack.slice(title.length).split("\n")[0]).to.match(
        /test\/assert\/assertions\.ts:\d+:\d+/u,
      );
    });
  }

  for (const expected of [1n, "1", null, new Map([["price", 1n]]), [1n]]) {
    it(`settlesRound and roundSettled refuse ${inspect(expected)} as an expectation`, async () => {
      const settled = await vault.deployMocks({ scenario: "expired-round" });
      const { hash } = await settled.vault.settleAll();
      const checks: ReadonlyArray<PromiseLike<unknown>> = [
        Reflect.apply(functions.settlesRound, undefined, [
          ...[settled.vault, hash, expected],
        ]),
        Reflect.apply(functions.roundSettled, undefined, [
          ...[settled.vault, expected],
        ]),
      ];
      for (const check of checks) {
        const { message } = await failureOf(check);
        expect(message).to.match(/^an object with price and amount is needed/u);
      }
    });
  }

  it("settlesRound and roundSettled refuse a value that is undefined", async () => {
    const settled = await vault.deployMocks({ scenario: "expired-round" });
    const { hash } = await settled.vault.settleAll();
    for (const check of [
      async () => {
        // @ts-expect-error -- omitted, or a number
        await functions.settlesRound(settled.vault, hash, { price: undefined });
      },
      async () => {
        // @ts-expect-error -- omitted, or a number
        await functions.roundSettled(settled.vault, { amount: undefined });
      },
    ]) {
      const { message } = await failureOf(check());
      expect(message).to.match(
        /^settled\w+ is not a whole number.*: undefined/u,
      );
    }
  });

  it("settlesRound that refuses an expectation leaves no rejected promise if the transaction fails, too", async () => {
    const failed = Promise.reject(new Error("no gas"));
    const { message } = await failureOf(
      // @ts-expect-error -- an object
      functions.settlesRound(vault, failed, 1n),
    );
    expect(message).to.contain("is needed, got 1n");
    // Node.js reports a rejection without a handler at the end of a turn.
    await setImmediate();
  });

  it("settleRound and its negation fail if another round took the round's place", async () => {
    const mocks = await vault.deployMocks({ scenario: "expired-round" });
    const [signer] = await vault.connection.ethers.getSigners();
    const { hash } = await mocks.contracts.vaultFactory
      .connect(signer)
      .startNextRound({
        ...{ startTime: 5n, endTime: 1_800_000_000n, strikePrice: 7n },
        ...{ filledVolume: 0n, maxVolume: 1n, APY: 1n, minDeposit: 1n },
      });
    for (const check of [
      expect(hash).to.settleRound(mocks.vault),
      expect(hash).to.not.settleRound(mocks.vault),
    ]) {
      const { message } = await failureOf(check);
      expect(message).to.contain("another round took its place");
    }
  });

  it("settlesRound waits for a transaction that the node does not have yet", async () => {
    const { provider } = vault.connection;
    const request = provider.request.bind(provider);
    const { hash } = await setVolume();
    let looks = 0;
    provider.request = async (call) => {
      looks += call.method === "eth_getTransactionReceipt" ? 1 : 0;
      const isMissing = looks < 2 && call.method.startsWith("eth_getTrans");
      const answer: unknown = isMissing ? null : await request(call);
      return answer;
    };
    const failure = await failureOf(functions.settlesRound(vault, hash));
    provider.request = request;
    expect(failure.message).to.include("still not settled");
    expect(looks).to.equal(2);
  });

  it("docs/reference-assertions.md has every message, no other, and a heading for every function", async () => {
    const sections = await readSections("reference-assertions");
    expect(
      sections.flatMap(({ heading }) => heading.split(", ")),
    ).to.include.members(Object.keys(functions));
    const documented = sections
      .filter(({ text }) => text.includes("| message "))
      .flatMap(({ rows }) => rows.map(([cell]) => String(codeIn(cell)[0])))
      .filter((message) => /^[^{].* /u.test(message))
      .map((message) => message.split("…").map((part) => part.trim()));
    const recorded = await readFile(
      "test/tasks/screens/calls-assertions.txt",
      "utf8",
    );
    const messages = Array.from(
      recorded.matchAll(/"message": (".*")/gu),
      ([, message = ""]) => String(JSON.parse(message)),
    );
    for (const message of messages) {
      expect(
        documented.filter((parts) => hasInOrder(message, parts)),
        message,
      ).to.have.length(1);
    }
    expect(
      documented.filter(
        (parts) => !messages.some((message) => hasInOrder(message, parts)),
      ),
      "it would take half a minute",
    ).to.deep.equal([["transaction", "was not mined within 30 s"]]);
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

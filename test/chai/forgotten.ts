import { spawnSync } from "node:child_process";
import { setImmediate, setTimeout } from "node:timers/promises";

import { expect } from "chai";

import "../../src/chai/index.js";
import { asRecord } from "../../src/json.js";
import { failureOf } from "../helpers/open-round.js";

/** What no chain has: a matcher with it fails without a request. */
const none = (): Promise<never> => Promise.reject(new Error("never sent"));

/** The error that a test throws, or that nobody catches within two seconds. */
async function firstErrorOf(test: () => unknown): Promise<unknown> {
  const event = "uncaughtException";
  const listeners = process.listeners(event);
  process.removeAllListeners(event);
  try {
    return await Promise.race([
      new Promise((resolve) => {
        process.once(event, resolve);
      }),
      Promise.resolve()
        .then(test)
        .then(
          async () => await setTimeout(2_000),
          (error: unknown) => error,
        ),
    ]);
  } finally {
    process.removeAllListeners(event);
    for (const listener of listeners) {
      process.on(event, listener);
    }
  }
}

describe("matchers that nobody calls or awaits", () => {
  const nameOne = (): PromiseLike<unknown> =>
    // its type is the function that it is, and not what somebody awaits by mistake
    // eslint-disable-next-line @typescript-eslint/unbound-method -- it is not called
    expect({}).to.have.settledRound as unknown as PromiseLike<unknown>;
  for (const [how, fail] of [
    // Nothing may be thrown elsewhere, too.
    ["with", async () => await failureOf(nameOne())],
    ["without", async () => await firstErrorOf(() => void nameOne())],
  ] as const) {
    it(`a matcher that is named and not called fails, ${how} await`, async () => {
      const { message, stack } = asRecord(await fail());
      expect(message).to.equal(
        ".settledRound is a function: write .settledRound(), else nothing is checked",
      );
      expect(String(stack).split("\n")[1]).to.match(
        /test\/chai\/forgotten\.[jt]s:\d+:\d+/u,
      );
    });
  }

  it("a matcher that fails and is not awaited throws where no test can miss it", async () => {
    const thrown = await firstErrorOf(() => {
      // @ts-expect-error -- a vault is asserted
      void expect(none()).to.settleRound(undefined);
    });
    expect(String(thrown)).to.contain("never sent");
  });

  it("a misspelt word behind a matcher fails its test, and the matcher's failure no later one", async () => {
    let thrown: unknown;
    const later = await firstErrorOf(async () => {
      try {
        // @ts-expect-error -- a vault is asserted
        const words = expect(none()).to.settleRound(undefined).and;
        Reflect.get(words, "withPrise");
      } catch (error) {
        thrown = error;
      }
      // By then, the matcher has failed.
      // @ts-expect-error -- a vault is asserted
      await failureOf(expect(none()).to.settleRound(undefined));
    });
    expect(String(thrown)).to.contain("Invalid Chai property: withPrise");
    expect(later).to.equal(undefined);
  });

  it("a matcher that nobody awaits fails a process that ends before its verdict", () => {
    const matchers = new URL("../../src/chai/index.ts", import.meta.url).href;
    const script = `
      const { expect } = await import("chai");
      await import(${JSON.stringify(matchers)});
      expect(new Promise(() => {})).to.settleRound();
      expect(new Promise(() => {})).to.changeReadings();
      expect(new Promise(() => {})).to.settleRound().then(() => {});
      // It has its verdict.
      expect(async () => 1).to.not.be.rejectedWithVaultError("VAULT_NO_CODE");`;
    const { status, stderr } = spawnSync(
      process.execPath,
      ["--import", "tsx", "--input-type=module", "--eval", script],
      { encoding: "utf8" },
    );
    expect(stderr).to.equal(
      ["settleRound", "changeReadings"]
        .map(
          (name) =>
            `\nA test ended without awaiting .${name}(): write \`await expect(…)\`.\n`,
        )
        .join(""),
    );
    expect(status).to.equal(1);
  });

  it("a matcher that follows one that fails leaves no rejected promise", async () => {
    const { message } = await failureOf(
      // @ts-expect-error -- a vault is asserted
      expect(1).to.settleRound(undefined).and.to.changeReadings(undefined),
    );
    expect(message).to.contain("cannot be chained after settleRound");
    // Node.js reports a rejection without a handler at the end of a turn.
    await setImmediate();
  });
});

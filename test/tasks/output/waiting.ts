import { channel } from "node:diagnostics_channel";
import { Writable } from "node:stream";
import { stripVTControlCharacters } from "node:util";

import { expect } from "chai";

import { whileWaiting } from "../../../tasks/output/waiting.js";
import type { Ticker, Waiting } from "../../../tasks/output/waiting.js";
import { createTestHre, httpNetwork } from "../../helpers/hre.js";
import { startRpcServer } from "../../helpers/rpc-server.js";
import type { RpcHandler } from "../../helpers/rpc-server.js";

function terminal(isTTY: boolean): {
  stderr: NodeJS.WritableStream & { isTTY: boolean };
  /** All that was written, and what a person sees of it. */
  written: () => string;
  shown: () => string;
} {
  let written = "";
  const stream = new Writable({
    write(chunk: Buffer, _encoding, done) {
      written += chunk.toString();
      done();
    },
  });
  return {
    stderr: Object.assign(stream, { isTTY }),
    written: () => written,
    shown: () => stripVTControlCharacters(written),
  };
}

/** A clock that stands still until it is set, and ticks then. */
class ManualClock {
  public isStopped = false;
  #now = 0;
  #tick = (): void => undefined;

  public readonly now = (): number => this.#now;
  public readonly ticker: Ticker = (tick) => {
    this.#tick = tick;
    return () => {
      this.isStopped = true;
    };
  };

  public set(now: number): void {
    this.#now = now;
    this.#tick();
  }
}

describe("output - waiting", () => {
  for (const isTTY of [true, false]) {
    it(`should say how often the node was asked, on a terminal alone: ${isTTY}`, async () => {
      const hre = await createTestHre();
      const { provider } = await hre.network.create();
      const { stderr, shown } = terminal(isTTY);
      const ask = async (): Promise<unknown> =>
        await provider.request({ method: "eth_chainId" });
      const clock = new ManualClock();
      const result = await whileWaiting(
        hre.hooks,
        stderr,
        async () => {
          await ask();
          clock.set(900);
          expect(shown()).to.equal("");
          await ask();
          await ask();
          clock.set(3_100);
          return "done";
        },
        clock.ticker,
        clock.now,
      );
      expect(result).to.equal("done");
      expect(clock.isStopped).to.equal(isTTY);
      expect(shown().trim()).to.equal(
        isTTY ? "Asked the node 3 times so far, for 3s…" : "",
      );
      // Nothing counts any more.
      await ask();
    });
  }

  it("should write one line on a terminal that is dumb, and nothing that moves", async () => {
    const { TERM } = process.env;
    process.env["TERM"] = "dumb";
    try {
      const hre = await createTestHre();
      const { provider } = await hre.network.create();
      const { stderr, written } = terminal(true);
      const clock = new ManualClock();
      await whileWaiting(
        hre.hooks,
        stderr,
        async () => {
          await provider.request({ method: "eth_chainId" });
          clock.set(1_100);
          clock.set(9_100);
        },
        clock.ticker,
        clock.now,
      );
      expect(written()).to.equal("Asked the node 1 time so far, for 1s…\n");
    } finally {
      if (TERM === undefined) {
        Reflect.deleteProperty(process.env, "TERM");
      } else {
        process.env["TERM"] = TERM;
      }
    }
  });

  it("should say that it waits for the rate limit, however the node says so", async () => {
    const answers: Record<string, RpcHandler> = {
      // Hardhat asks again by itself, and tells nobody.
      http: ({ response, occurrence }) => {
        if (occurrence > 0) {
          return { result: "0x1" };
        }
        response.writeHead(429, { "retry-after": "0" });
        response.end();
        return "handled";
      },
      "json-rpc": () => ({ error: { code: -32005, message: "slow down" } }),
      none: () => ({ result: "0x1" }),
    };
    const server = await startRpcServer({});
    const hre = await createTestHre({
      networks: { live: httpNetwork(server.url) },
    });
    const { provider } = await hre.network.create("live");
    for (const [name, handler] of Object.entries(answers)) {
      server.handler = handler;
      server.requests.length = 0;
      const { stderr, shown } = terminal(true);
      const clock = new ManualClock();
      await whileWaiting(
        hre.hooks,
        stderr,
        async () => {
          await provider
            .request({ method: "eth_chainId" })
            .catch(() => undefined);
          clock.set(2_000);
          clock.set(20_000);
        },
        clock.ticker,
        clock.now,
      );
      const [first, later] = shown().split("…");
      expect(first?.trim(), name).to.equal(
        name === "none"
          ? "Asked the node 1 time so far, for 2s"
          : "Waiting for the rate limit: asked the node 1 time so far, for 2s",
      );
      expect(later?.trim(), name).to.equal(
        "Asked the node 1 time so far, for 20s",
      );
    }
    await server.stop();
  });

  /** What work shows on a terminal, by a clock of its own. */
  const shownBy = async (
    { isTTY = true, columns }: { isTTY?: boolean; columns?: number },
    work: (
      startProgress: Waiting["startProgress"],
      clock: ManualClock,
    ) => unknown,
  ): Promise<{ written: string; shown: string }> => {
    const hre = await createTestHre();
    const { stderr, written, shown } = terminal(isTTY);
    const clock = new ManualClock();
    await whileWaiting(
      hre.hooks,
      Object.assign(stderr, { columns }),
      async ({ startProgress }) => work(startProgress, clock),
      clock.ticker,
      clock.now,
    );
    return { written: written(), shown: shown() };
  };

  it("should say so beside a bar, which nothing else moves", async () => {
    const { shown } = await shownBy({ columns: 80 }, (startProgress, clock) => {
      const progress = startProgress({ total: 10, unit: "blocks" });
      progress.update({ done: 1 });
      progress.update({ done: 2 });
      channel("undici:request:headers").publish({
        response: { statusCode: 429 },
      });
      clock.set(100);
    });
    expect(shown).to.contain("2 of 10 blocks  waiting for the rate limit");
  });

  it("should show rate and time left on a terminal, and go away", async () => {
    const { shown } = await shownBy(
      { columns: 120 },
      (startProgress, clock) => {
        const progress = startProgress({ total: 100, unit: "orders" });
        clock.set(1_000);
        progress.update({ done: 25 });
        progress.hide();
        clock.set(2_000);
      },
    );
    expect(shown.trim()).to.match(
      /^█{6}░{18} 25 % {2}25 of 100 orders {2}25\/s {2}3s left$/u,
    );
  });

  it("should follow what is found to be the whole, and be full without one", async () => {
    const { shown } = await shownBy(
      { columns: 120 },
      (startProgress, clock) => {
        const progress = startProgress({ total: 0, unit: "orders" });
        progress.update({ done: 0 });
        expect(clock.now()).to.equal(0);
        progress.update({ done: 3, total: 4 });
        clock.set(1_000);
        progress.update({ done: 5, total: 4 });
        clock.set(2_000);
      },
    );
    expect(shown).to.match(/█{24} 100 % {2}0 of 0 orders/u);
    expect(shown).to.match(/█{18}░{6} 75 % {2}3 of 4 orders/u);
    expect(shown).to.match(/█{24} 100 % {2}5 of 4 orders/u);
  });

  it("should group digits, and tell less on a narrow terminal", async () => {
    const { shown } = await shownBy({ columns: 60 }, (startProgress, clock) => {
      const progress = startProgress({ total: 20_000, unit: "orders" });
      clock.set(1_000);
      progress.update({ done: 10_000 });
    });
    expect(shown).to.match(
      /█{4}░{4} 50 % {2}10,000 of 20,000 orders {2}1s left/u,
    );
  });

  it("should write progress in lines where a terminal is dumb", async () => {
    const { TERM } = process.env;
    process.env["TERM"] = "dumb";
    try {
      const { written } = await shownBy({}, (startProgress, clock) => {
        const progress = startProgress({ total: 20_000, unit: "orders" });
        for (let time = 0; time <= 4_500; time += 500) {
          clock.set(time);
          progress.update({ done: time * 2 });
        }
        progress.hide();
      });
      expect(written).to.equal(
        "4,000 of 20,000 orders\n8,000 of 20,000 orders\n",
      );
    } finally {
      if (TERM === undefined) {
        Reflect.deleteProperty(process.env, "TERM");
      } else {
        process.env["TERM"] = TERM;
      }
    }
  });

  it("should show no progress where there is no terminal", async () => {
    const { written } = await shownBy({ isTTY: false }, (startProgress) => {
      const progress = startProgress({ total: 10, unit: "orders" });
      progress.update({ done: 5 });
      progress.hide();
    });
    expect(written).to.equal("");
  });

  /** What was written, with what takes a line back as `⌫`. */
  const marked = (text: string): string =>
    stripVTControlCharacters(text.replaceAll("\u001b[2K", "⌫"));

  it("should leave the line to whatever else is written, a bar and a question", async () => {
    const hre = await createTestHre();
    const { provider } = await hre.network.create();
    const { stderr, written } = terminal(true);
    Object.assign(stderr, { columns: 80 });
    const clock = new ManualClock();
    let readUpTo = 0;
    /** What was written since it was last asked for. */
    const latest = (): string => {
      const text = written().slice(readUpTo);
      readUpTo = written().length;
      return text;
    };
    /** What comes of a look at the clock, once the node was asked. */
    const seen = async (): Promise<string> => {
      await provider.request({ method: "eth_chainId" });
      latest();
      clock.set(clock.now() + 1_500);
      return latest();
    };
    hre.hooks.registerHandlers("userInterruptions", {
      requestSecretInput: async () => await seen(),
    });
    await whileWaiting(
      hre.hooks,
      stderr,
      async (waiting) => {
        expect(await seen()).to.contain(
          "Asked the node 1 time so far, for 1s…",
        );
        waiting.stderr.write("told\n");
        expect(marked(latest())).to.match(/^⌫+told\n$/u);
        waiting.stderr.write("once more\n");
        expect(marked(latest())).to.equal("once more\n");

        await seen();
        waiting.inPlace((text) => stderr.write(text))("out", () => undefined);
        expect(marked(latest())).to.match(/^⌫+out$/u);

        await waiting.pause(async () => {
          expect(await seen()).to.equal("");
        });
        expect(await seen()).to.contain(
          "Asked the node 1 time so far, for 1s…",
        );

        const progress = waiting.startProgress({ total: 2, unit: "blocks" });
        progress.update({ done: 1 });
        expect(await seen()).to.equal("");
        await waiting.pause(async () => {
          progress.update({ done: 2 });
          expect(await seen()).to.equal("");
        });
        clock.set(clock.now());
        expect(latest()).to.contain("2 of 2 blocks");
        waiting.inPlace((text) => stderr.write(text))("row", () => undefined);
        expect(marked(latest())).to.match(/^⌫+row$/u);
        clock.set(clock.now());
        expect(latest()).to.equal("");
        progress.update({ done: 2 });
        expect(latest()).to.contain("2 of 2 blocks");
        progress.hide();
        expect(await seen()).to.contain("Asked the node");

        expect(
          await hre.interruptions.requestSecretInput("a keystore", "password"),
        ).to.equal("");
      },
      clock.ticker,
      clock.now,
    );
  });

  it("should leave nothing behind where the work fails", async () => {
    const hre = await createTestHre();
    const { stderr } = terminal(true);
    const clock = new ManualClock();
    let thrown: unknown;
    try {
      await whileWaiting(
        hre.hooks,
        stderr,
        async () => await Promise.reject(new Error("no")),
        clock.ticker,
      );
    } catch (error) {
      thrown = error;
    }
    expect(String(thrown)).to.include("no");
    expect(clock.isStopped).to.equal(true);
  });
});

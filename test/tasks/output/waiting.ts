import { channel } from "node:diagnostics_channel";
import { Writable } from "node:stream";
import { stripVTControlCharacters } from "node:util";

import { expect } from "chai";

import { startProgress } from "../../../tasks/output/progress.js";
import { whileWaiting } from "../../../tasks/output/waiting.js";
import { createTestHre, httpNetwork } from "../../helpers/hre.js";
import { startRpcServer } from "../../helpers/rpc-server.js";
import type { RpcHandler } from "../../helpers/rpc-server.js";

function terminal(isTTY: boolean): {
  stderr: NodeJS.WritableStream & { isTTY: boolean };
  shown: () => string;
} {
  let shown = "";
  const stream = new Writable({
    write(chunk: Buffer, _encoding, done) {
      shown += chunk.toString();
      done();
    },
  });
  return {
    stderr: Object.assign(stream, { isTTY }),
    shown: () => stripVTControlCharacters(shown),
  };
}

describe("output - waiting", () => {
  for (const isTTY of [true, false]) {
    it(`should say how often the node was asked, on a terminal alone: ${isTTY}`, async () => {
      const hre = await createTestHre();
      const { provider } = await hre.network.create();
      const { stderr, shown } = terminal(isTTY);
      const ask = async (): Promise<unknown> =>
        await provider.request({ method: "eth_chainId" });
      let [clock, tick] = [0, (): void => undefined];
      let isStopped = false;
      const result = await whileWaiting(
        hre.hooks,
        stderr,
        async () => {
          await ask();
          clock = 900;
          tick();
          expect(shown()).to.equal("");
          await ask();
          await ask();
          clock = 3_100;
          tick();
          return "done";
        },
        (next) => {
          tick = next;
          return () => {
            isStopped = true;
          };
        },
        () => clock,
      );
      expect(result).to.equal("done");
      expect(isStopped).to.equal(isTTY);
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
      let written = "";
      const stderr = Object.assign(
        new Writable({
          write(chunk: Buffer, _encoding, done) {
            written += chunk.toString();
            done();
          },
        }),
        { isTTY: true },
      );
      let [clock, tick] = [0, (): void => undefined];
      await whileWaiting(
        hre.hooks,
        stderr,
        async () => {
          await provider.request({ method: "eth_chainId" });
          clock = 1_100;
          tick();
          clock = 9_100;
          tick();
        },
        (next) => {
          tick = next;
          return () => undefined;
        },
        () => clock,
      );
      expect(written).to.equal("Asked the node 1 time so far, for 1s…\n");
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
      let [clock, tick] = [0, (): void => undefined];
      await whileWaiting(
        hre.hooks,
        stderr,
        async () => {
          await provider
            .request({ method: "eth_chainId" })
            .catch(() => undefined);
          clock = 2_000;
          tick();
          clock = 20_000;
          tick();
        },
        (next) => {
          tick = next;
          return () => undefined;
        },
        () => clock,
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

  it("should say so beside a bar, which nothing else moves", () => {
    const { stderr, shown } = terminal(true);
    const progress = startProgress(
      Object.assign(stderr, { columns: 80 }),
      { total: 10, unit: "blocks" },
      () => 0,
    );
    progress.update(1);
    channel("undici:request:headers").publish({
      response: { statusCode: 429 },
    });
    progress.update(2);
    progress.hide();
    expect(shown()).to.contain("2 of 10 blocks  waiting for the rate limit");
  });

  /** What was written, with what takes a line back as `⌫`. */
  const marked = (text: string): string =>
    stripVTControlCharacters(text.replaceAll("\u001b[2K", "⌫"));

  it("should leave the line to whatever else is written, a bar and a question", async () => {
    const hre = await createTestHre();
    const { provider } = await hre.network.create();
    let written = "";
    const stderr = Object.assign(
      new Writable({
        write(chunk: Buffer, _encoding, done) {
          written += chunk.toString();
          done();
        },
      }),
      { isTTY: true, columns: 80 },
    );
    let [clock, tick] = [0, (): void => undefined];
    /** What comes of a look at the clock, once the node was asked. */
    const seen = async (): Promise<string> => {
      await provider.request({ method: "eth_chainId" });
      clock += 1_500;
      written = "";
      tick();
      return written;
    };
    const since = (): string => {
      const text = marked(written);
      written = "";
      return text;
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
        since();
        waiting.stderr.write("told\n");
        expect(since()).to.match(/^⌫+told\n$/u);
        waiting.stderr.write("once more\n");
        expect(since()).to.equal("once more\n");

        await seen();
        since();
        waiting.inPlace((text) => (written += text))("out", () => undefined);
        expect(since()).to.match(/^⌫+out$/u);

        await waiting.pause(async () => {
          expect(await seen()).to.equal("");
        });
        expect(await seen()).to.contain(
          "Asked the node 1 time so far, for 1s…",
        );

        const progress = startProgress(
          waiting.stderr,
          { total: 2, unit: "blocks" },
          () => 0,
        );
        progress.update(1);
        expect(await seen()).to.equal("");
        progress.hide();
        expect(await seen()).to.contain("Asked the node");

        expect(
          await hre.interruptions.requestSecretInput("a keystore", "password"),
        ).to.equal("");
      },
      (next) => {
        tick = next;
        return () => undefined;
      },
      () => clock,
    );
  });

  it("should leave nothing behind where the work fails", async () => {
    const hre = await createTestHre();
    const { stderr } = terminal(true);
    let isStopped = false;
    let thrown: unknown;
    try {
      await whileWaiting(
        hre.hooks,
        stderr,
        async () => await Promise.reject(new Error("no")),
        () => () => {
          isStopped = true;
        },
      );
    } catch (error) {
      thrown = error;
    }
    expect(String(thrown)).to.include("no");
    expect(isStopped).to.equal(true);
  });
});

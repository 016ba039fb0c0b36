import { setTimeout } from "node:timers/promises";
import { stripVTControlCharacters } from "node:util";

import { expect } from "chai";

import { withTerminal } from "../../tasks/terminal.js";
import { fieldsOf } from "../helpers/fields.js";
import { createTestHre, hreOnLive } from "../helpers/hre.js";
import { startRpcServer } from "../helpers/rpc-server.js";
import { replace } from "../helpers/run-vault-task.js";
import {
  documentedContracts,
  documentedHandler,
} from "../helpers/documented-node.js";

/** What was written to stderr since the last call, with `⌫` for each line erased, the empty one below too. */
async function onTerminal(
  isTTY: boolean,
  work: (latest: () => string) => Promise<unknown>,
): Promise<void> {
  let written = "";
  const restore = replace(process.stderr, {
    isTTY,
    columns: 80,
    write: (text: string): boolean => {
      written += text;
      return true;
    },
  });
  try {
    await work(() => {
      const text = written;
      written = "";
      return stripVTControlCharacters(text.replaceAll("\u001b[2K", "⌫"));
    });
  } finally {
    restore();
  }
}

describe("the line on a terminal while a task waits", () => {
  const { env } = process;
  beforeEach(() => {
    process.env = { ...env, TERM: "xterm" };
  });
  afterEach(() => {
    process.env = env;
  });

  it("the line is replaced by the next one, and by the output of the task or Hardhat", async () => {
    const hre = await createTestHre();
    await onTerminal(true, async (latest) => {
      let displayed = "";
      hre.hooks.registerHandlers("userInterruptions", {
        displayMessage: async () => {
          displayed = await Promise.resolve(latest());
        },
        requestInput: async () => await Promise.resolve(latest()),
        requestSecretInput: async () => await Promise.resolve(latest()),
      });
      const { interruptions } = hre;
      const result = await withTerminal(
        hre.hooks,
        async ({ progress, err }) => {
          progress("Waiting for live");
          expect(latest()).to.equal("Waiting for live…\n");
          progress("Reading orders", { done: 1_200, total: 20_000 });
          expect(latest()).to.match(/^⌫+Reading orders: 1,200 of 20,000\n$/u);
          await err.write("told\n");
          expect(latest()).to.match(/^⌫+told\n$/u);
          await err.write("once more\n");
          expect(latest()).to.equal("once more\n");

          for (const interrupt of [
            async () => {
              await interruptions.displayMessage("a keystore", "locked");
              return displayed;
            },
            async () => await interruptions.requestInput("a plugin", "name"),
            async () =>
              await interruptions.requestSecretInput("a keystore", "password"),
          ]) {
            progress("again");
            latest();
            expect(await interrupt()).to.match(/^⌫+$/u);
          }

          progress("the last");
          latest();
          return await Promise.reject(new Error("no"));
        },
      ).catch(String);
      expect(result).to.equal("Error: no");
      expect(latest()).to.match(/^⌫+$/u);
    });
  });

  it("after a second without news, the line shows for how long, also after output", async () => {
    const { hooks } = await createTestHre();
    await onTerminal(true, async (latest) => {
      await withTerminal(hooks, async ({ progress, err }) => {
        let shown = "";
        // A busy machine skips a second.
        const shows = async (pattern: RegExp): Promise<void> => {
          while (!pattern.test(shown)) {
            await setTimeout(20);
            shown += latest();
          }
        };
        progress("Waiting for live");
        await shows(/Waiting for live… [1-9]\d* s\n/u);
        await err.write("told\n");
        await shows(/told\nWaiting for live… [1-9]\d* s\n/u);
        progress("Waiting for another");
        await shows(
          /Waiting for another…\n[^]*Waiting for another… [1-9]\d* s\n/u,
        );
      });
    });
  });

  it("the line is hidden before others write to stdout, which goes to stderr", async () => {
    const { hooks } = await createTestHre();
    await onTerminal(true, async (latest) => {
      await withTerminal(hooks, async ({ progress }) => {
        progress("Waiting for live");
        latest();
        process.stdout.write("of Solidity\n");
        expect(latest()).to.match(/^⌫+of Solidity\n$/u);
        await Promise.resolve();
      });
    });
  });

  it("the line fits a terminal of unknown width, which has 0 columns, with its seconds", async () => {
    const { hooks } = await createTestHre();
    await onTerminal(true, async (latest) => {
      replace(process.stderr, { columns: 0 });
      await withTerminal(hooks, async ({ progress }) => {
        progress("long ".repeat(20));
        expect(latest()).to.equal(`${"long ".repeat(16)}\n`);
        let shown = "";
        while (!shown.includes("\n")) {
          await setTimeout(20);
          shown += latest();
        }
        expect(shown).to.match(/^⌫+(?:long ){15}l [1-9] s\n$/u);
      });
    });
  });

  it("the line is hidden before a task asks", async () => {
    const { hooks } = await createTestHre();
    await onTerminal(true, async (latest) => {
      let hidden = "";
      const restore = replace(process.stdin, {
        isTTY: true,
        on: () => undefined,
        // The first thing that a question does.
        setRawMode: () => {
          hidden = latest();
          throw new Error("asked");
        },
      });
      const asked = withTerminal(hooks, async ({ progress, ask }) => {
        progress("Waiting for live");
        latest();
        return await ask?.("Settle?");
      });
      expect(await asked.catch(String).finally(restore)).to.equal(
        "Error: asked",
      );
      expect(hidden).to.match(/^⌫+$/u);
    });
  });

  it("a task learns that the reader of its output has gone, and fails if it cannot be written", async () => {
    const { hooks } = await createTestHre();
    for (const [code, expected] of [
      ["EPIPE", "false"],
      ["ERR_STREAM_DESTROYED", "false"],
      ["ENOSPC", "VAULT_OUTPUT_NOT_WRITTEN"],
    ] as const) {
      const failure = Object.assign(new Error("no"), { code });
      for (const write of [
        (_text: string, done: (error: Error) => void): boolean => {
          done(failure);
          return true;
        },
        (): never => {
          throw failure;
        },
      ]) {
        const restore = replace(process.stdout, { write });
        const written = await withTerminal(
          hooks,
          async ({ out }) => await out.write("text"),
        )
          .catch((error: unknown) => fieldsOf(error)["code"])
          .finally(restore);
        expect(String(written), code).to.equal(expected);
      }
    }
  });

  it("a task waits while the buffer of stdout is full", async () => {
    const { hooks } = await createTestHre();
    const events: string[] = [];
    const restore = replace(process.stdout, {
      write: (text: string, done: () => void): boolean => {
        setImmediate(() =>
          setImmediate(() => {
            events.push(`${text} is written`);
            done();
          }),
        );
        return false;
      },
    });
    await withTerminal(hooks, async ({ out }) => {
      await out.write("first");
      events.push("next");
    }).finally(restore);
    expect(events).to.deep.equal(["first is written", "next"]);
  });

  it("a task leaves no handler of Hardhat's questions behind", async () => {
    const { hooks } = await createTestHre();
    const areHandled = async (): Promise<boolean> =>
      await hooks.hasHandlers("userInterruptions", "requestSecretInput");
    const during = await withTerminal(hooks, areHandled);
    expect([during, await areHandled()]).to.deep.equal([true, false]);
  });

  it("a task can ask if stdin and stderr are a terminal, also if stdout is a file", async () => {
    const { hooks } = await createTestHre();
    for (const [stdin, stdout, stderr, canAsk] of [
      [true, false, true, true],
      [true, true, false, false],
      [false, true, true, false],
    ] as const) {
      const restoreStdin = replace(process.stdin, { isTTY: stdin });
      const restoreStdout = replace(process.stdout, { isTTY: stdout });
      let found: unknown;
      await onTerminal(stderr, async () => {
        await withTerminal(hooks, async ({ ask, out }) => {
          found = ask;
          expect(out.isTTY).to.equal(stdout);
          await Promise.resolve();
        });
      }).finally(() => {
        restoreStdin();
        restoreStdout();
      });
      expect(found !== undefined).to.equal(canAsk);
    }
  });

  it("the line shows how often a request of a read task has failed, from the second time on", async () => {
    const server = await startRpcServer({
      handler: async (exchange) => {
        const { occurrence, request, response } = exchange;
        if (request.method !== "eth_call" || occurrence > 2) {
          return await documentedHandler(exchange);
        }
        response.writeHead(503).end();
        return "handled";
      },
    });
    const contracts = documentedContracts;
    const hre = await hreOnLive(server.url, { vault: { contracts } });
    await onTerminal(true, async (latest) => {
      const restore = replace(process.stdout, { write: () => true });
      await hre.tasks.getTask(["vault", "volume"]).run({}).finally(restore);
      expect(latest())
        .to.include("Waiting for live: eth_call failed 2 times…")
        .and.not.include("failed 1 times");
    });
    await server.stop();
  });

  for (const [name, isTTY, variable] of [
    ["no terminal", false, "xterm"],
    ["a dumb terminal", true, "dumb"],
  ] as const) {
    it(`the line is not shown on ${name}`, async () => {
      process.env["TERM"] = variable;
      const { hooks } = await createTestHre();
      await onTerminal(isTTY, async (latest) => {
        await withTerminal(hooks, async ({ progress, err }) => {
          progress("Waiting for live");
          await err.write("told\n");
        });
        expect(latest()).to.equal("told\n");
      });
    });
  }
});

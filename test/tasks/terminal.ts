import { writeFileSync } from "node:fs";
import path from "node:path";
import { stripVTControlCharacters } from "node:util";

import { expect } from "chai";
import type { HardhatRuntimeEnvironment } from "hardhat/types/hre";

import { withTerminal } from "../../tasks/terminal.js";
import type { Terminal } from "../../tasks/terminal.js";
import { useFixtureProject } from "../helpers/fixture-project.js";
import { createTestHre } from "../helpers/hre.js";
import { parseTyped, replace } from "../helpers/run-vault-task.js";
import { runInTerminal } from "../helpers/terminal.js";
import type { TerminalOptions } from "../helpers/terminal.js";

describe("the terminal of a task", () => {
  const { env } = process;
  let hre: HardhatRuntimeEnvironment;
  beforeEach(async () => {
    process.env = { ...env, TERM: "xterm" };
    hre = await createTestHre();
  });
  afterEach(() => {
    process.env = env;
  });

  /** @param latest Returns what was written to stderr since the last call, with `⌫` for each line erased, the empty one below too. */
  const onTerminal = async <Result>(
    work: (latest: () => string) => Promise<Result>,
    { isTTY = true, columns = 80 } = {},
  ): Promise<Result> => {
    let written = "";
    const write = (text: string): boolean => {
      // After Ctrl-C a hidden cursor would stay hidden.
      expect(text).to.not.include("\u001b[?25l");
      written += text;
      return true;
    };
    const restores = [
      replace(process.stdin, { isTTY }),
      replace(process.stderr, { isTTY, columns, write }),
    ];
    return await work(() => {
      const text = written;
      written = "";
      return stripVTControlCharacters(text.replaceAll("\u001b[2K", "⌫"));
    }).finally(() => {
      restores.forEach((restore) => {
        restore();
      });
    });
  };
  /** Shows a line on a terminal, and returns what is written once something else happens. */
  const afterLine = async (
    act: (terminal: Terminal, latest: () => string) => unknown,
    columns = 80,
  ): Promise<string> =>
    await onTerminal(
      async (latest) =>
        await withTerminal(hre, async (terminal) => {
          terminal.progress("Waiting for live");
          expect(latest()).to.equal("Waiting for live…");
          const seen: unknown = await act(terminal, latest);
          return typeof seen === "string" ? seen : latest();
        }),
      { columns },
    );
  for (const [title, act, shown] of [
    [
      "the next line",
      ({ progress }) => {
        progress("Reading orders", { done: 1_200, total: 20_000 });
      },
      /^⌫+Reading orders: 1,200 of 20,000$/u,
    ],
    ["a message", async ({ err }) => await err.write("told\n"), /^⌫+told\n$/u],
    ["output", async ({ out }) => await out.write(""), /^⌫+$/u],
    ["what others print", () => process.stdout.write("told\n"), /^⌫+told\n$/u],
    [
      "what Hardhat prints",
      async () => await hre.interruptions.displayMessage("a plugin", "told"),
      /^⌫+\[a plugin\] told\n$/u,
    ],
  ] satisfies ReadonlyArray<
    readonly [string, (terminal: Terminal) => unknown, RegExp]
  >) {
    it(`the line is replaced by ${title}`, async () => {
      expect(await afterLine(act)).to.match(shown);
    });
  }

  it("the line is cut to the width of the terminal, and the next one replaces it", async () => {
    await afterLine(({ progress }, latest) => {
      progress("Simulating a settlement");
      expect(latest()).to.match(/^⌫+Simulating a sett$/u);
    }, 18);
  });

  for (const [name, isTTY, term] of [
    ["no terminal", false, "xterm"],
    ["a terminal that can erase nothing", true, "dumb"],
  ] as const) {
    it(`the line is not shown on ${name}`, async () => {
      process.env["TERM"] = term;
      const work = async (latest: () => string): Promise<string> => {
        await withTerminal(hre, async ({ progress, err }) => {
          progress("Waiting for live");
          await err.write("told\n");
        });
        return latest();
      };
      expect(await onTerminal(work, { isTTY })).to.equal("told\n");
    });
  }

  for (const [to, code, isThrown, expected] of [
    ["out", "EPIPE", false, /^false$/u],
    ["out", "ERR_STREAM_DESTROYED", false, /^false$/u],
    ["out", "ENOSPC", true, /^VaultError: .* no\\u\{1b\}/u],
    ["err", "ENOSPC", true, /^false$/u],
  ] as const) {
    it(`a write to std${to} that ${isThrown ? "throws" : "passes to its callback"} ${code} is ${String(expected)} for a task`, async () => {
      const failure = Object.assign(new Error("no\u001b"), { code });
      const write = (_text: string, done: (error: Error) => void): boolean => {
        if (isThrown) {
          throw failure;
        }
        done(failure);
        return true;
      };
      const restore = replace(process[`std${to}`], { write });
      const written = await withTerminal(
        hre,
        async (terminal) => await terminal[to].write("text"),
      )
        .catch((error: unknown) => String(error))
        .finally(restore);
      expect(String(written)).to.match(expected);
    });
  }

  it("a task waits while the buffer of stdout is full", async () => {
    const events: string[] = [];
    const write = (text: string, done: () => void): boolean => {
      setImmediate(() =>
        setImmediate(() => {
          events.push(`${text} is written`);
          done();
        }),
      );
      return false;
    };
    const restore = replace(process.stdout, { write });
    await withTerminal(hre, async ({ out }) => {
      await out.write("first");
      events.push("next");
    }).finally(restore);
    expect(events).to.deep.equal(["first is written", "next"]);
  });

  it("a stream that fails does not end the process", async () => {
    await withTerminal(hre, async () => await Promise.resolve());
    for (const stream of [process.stdout, process.stderr]) {
      expect(stream.emit("error", new Error("closed"))).to.equal(true);
    }
  });

  it("a task that is process 1 ends on a signal by one handler, which the next task shares", async () => {
    const restore = replace(process, { pid: 1 });
    const count = async (): Promise<number> =>
      await withTerminal(
        hre,
        async () => await Promise.resolve(process.listenerCount("SIGTERM")),
      );
    const counts = [await count(), await count()];
    process.removeAllListeners("SIGTERM");
    restore();
    expect(counts).to.deep.equal([1, 1]);
  });

  it("tasks that run at once keep stdout for their own output, until the last one ends", async () => {
    const written: string[] = [];
    const keepAs = (name: string) => ({
      isTTY: false,
      // Calls nobody back, as a replacement of stdout may do.
      write: (text: string) => {
        written.push(`${name} ${text}`);
      },
    });
    const restores = [
      replace(process.stdout, keepAs("out")),
      replace(process.stderr, keepAs("err")),
    ];
    await withTerminal(hre, async ({ out }) => {
      await withTerminal(hre, async (inner) => {
        await inner.out.write("first");
      });
      process.stdout.write("of others");
      await out.write("second");
    }).finally(() => {
      process.stdout.write("afterwards");
      restores.forEach((restore) => {
        restore();
      });
    });
    expect(written).to.deep.equal([
      ...["out first", "err of others", "out second", "out afterwards"],
    ]);
  });

  for (const [title, expected, ...typed] of [
    ["with no if Ctrl-C was typed before it", false, "\u0003", "y\r"],
    ["with no if Ctrl-D was typed before it", false, "\u0004"],
    ["by a plugin that asks in place of Hardhat", true, "no\r"],
  ] as const) {
    it(`a question is answered ${title}, and leaves stdin as it was`, async () => {
      const { stdin } = process;
      const modes: boolean[] = [];
      const asked: string[] = [];
      hre.hooks.registerHandlers("userInterruptions", {
        requestInput: async (_context, from, text) => {
          asked.push(`${from}: ${text}`);
          return await Promise.resolve(" YES ");
        },
      });
      const listeners = stdin.listenerCount("data");
      const answer = await onTerminal(async () => {
        const restore = replace(stdin, {
          isTTY: true,
          setRawMode: (isRaw: boolean) => modes.push(isRaw),
          resume: () => typed.forEach((keys) => stdin.emit("data", keys)),
          pause: () => stdin,
        });
        return await withTerminal(
          hre,
          async ({ ask }) => await ask?.("Settle?"),
        ).finally(restore);
      });
      expect([answer, ...modes]).to.deep.equal([expected, true, false]);
      expect(stdin.listenerCount("data")).to.equal(listeners);
      expect(asked).to.deep.equal(
        expected ? ["hardhat-vault: Settle? (y/N)"] : [],
      );
    });
  }

  for (const [stdin, stdout, stderr, canAsk] of [
    [true, false, true, true],
    [true, true, false, false],
    [false, true, true, false],
  ] as const) {
    it(`a task ${canAsk ? "can" : "cannot"} ask if stdin, stdout and stderr are terminals: ${[stdin, stdout, stderr].join()}`, async () => {
      const restores = [
        replace(process.stdin, { isTTY: stdin }),
        replace(process.stdout, { isTTY: stdout }),
        replace(process.stderr, { isTTY: stderr }),
      ];
      const found = await withTerminal(
        hre,
        async ({ ask, out }) =>
          await Promise.resolve([ask !== undefined, out.isTTY]),
      );
      restores.forEach((restore) => {
        restore();
      });
      expect(found).to.deep.equal([canAsk, stdout]);
    });
  }
});

// What each task shows on a terminal is in goldens.ts; here somebody types.
describe("questions in a terminal", () => {
  it("settle takes y and yes for a yes, in any case, but neither the end of input nor what was typed before its question", async () => {
    const project = await useFixtureProject("terminal");
    const typedAhead = "typed-ahead";
    const answers: NonNullable<TerminalOptions["answers"]> = [
      ["(y/N)", "\u0003"],
      ["(y/N)", "\u0004"],
      ["$ npx hardhat vault settle", "y\ry"],
      // The terminal shows it: then the task may start.
      [
        "y\r\ny",
        () => {
          writeFileSync(path.join(project.path, typedAhead), "");
        },
      ],
      ["(y/N)", "\r"],
      ...["yarn", "yo", "yes, not now", "", "no", " YES ", "y"].map(
        (text) => ["(y/N)", `${text}\r`] as const,
      ),
    ];
    const deploy = "deploy-mocks --scenario expired-round";
    // Each asks, whatever the answer before was: else the session would not end.
    const typed = Array.from({ length: 10 }, () => [deploy, "settle"]).flat();
    // One session: its start takes longer than all that it does.
    const commands = typed.map((command, index) => [
      ...[command, ...parseTyped(command)],
      ...(index === 5 ? [typedAhead] : []),
    ]);
    const { exitCode, lines } = await runInTerminal(
      ["run", "--no-compile", "session.ts"],
      {
        ...{ cwd: project.path, columns: 80, answers },
        env: { TEST_COMMANDS: JSON.stringify(commands) },
      },
    );
    await project.remove();
    expect(exitCode, lines.map(({ text }) => text).join("\n")).to.equal(0);
    // After a no, one line is all.
    const outcomes = lines.flatMap(
      ({ text }) => /^(?:Outcome|Cancelled\.) +(.*)$/u.exec(text)?.[1] ?? [],
    );
    const refused = Array.from({ length: 8 }, () => "Nothing was sent.");
    expect(outcomes).to.deep.equal([...refused, "Settled", "Settled"]);
  });
});

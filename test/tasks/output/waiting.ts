import { Writable } from "node:stream";
import { stripVTControlCharacters } from "node:util";

import { expect } from "chai";

import {
  describeProgress,
  whileWaiting,
} from "../../../tasks/output/waiting.js";
import { createTestHre } from "../../helpers/hre.js";

function terminal(isTTY: boolean): {
  stderr: Writable & { isTTY: boolean; columns: number };
  /** What was written since the last call, with `⌫` for each line erased. */
  latest: () => string;
} {
  let written = "";
  const stream = new Writable({
    write(chunk: Buffer, _encoding, done) {
      written += chunk.toString();
      done();
    },
  });
  return {
    stderr: Object.assign(stream, { isTTY, columns: 80 }),
    latest: () => {
      const text = written;
      written = "";
      return stripVTControlCharacters(text.replaceAll("\u001b[2K", "⌫"));
    },
  };
}

describe("output - the line while a task waits", () => {
  let { TERM } = process.env;

  beforeEach(() => {
    ({ TERM } = process.env);
    process.env["TERM"] = "xterm";
  });
  afterEach(() => {
    if (TERM === undefined) {
      Reflect.deleteProperty(process.env, "TERM");
    } else {
      process.env["TERM"] = TERM;
    }
  });

  it("should be replaced by the next text, and by whatever a task or Hardhat writes", async () => {
    const hre = await createTestHre();
    const { stderr, latest } = terminal(true);
    hre.hooks.registerHandlers("userInterruptions", {
      requestSecretInput: async () => await Promise.resolve(latest()),
    });
    const result = await whileWaiting(
      hre.hooks,
      stderr,
      async ({ say, hide, stderr: own, inPlace }) => {
        say("Waiting for live…");
        expect(latest()).to.equal("Waiting for live…\n");
        say(describeProgress("Reading orders", { done: 1_200, total: 20_000 }));
        expect(latest()).to.match(/^⌫+Reading orders: 1,200 of 20,000\n$/u);
        own.write("told\n");
        expect(latest()).to.match(/^⌫+told\n$/u);
        own.write("once more\n");
        expect(latest()).to.equal("once more\n");

        say("again");
        latest();
        inPlace((text) => stderr.write(text))("out", () => undefined);
        expect(latest()).to.match(/^⌫+out$/u);

        say("again");
        latest();
        hide();
        expect(latest()).to.match(/^⌫+$/u);

        say("again");
        latest();
        expect(
          await hre.interruptions.requestSecretInput("a keystore", "password"),
        ).to.match(/^⌫+$/u);

        say("the last");
        latest();
        return await Promise.reject(new Error("no"));
      },
    ).catch(String);
    expect(result).to.equal("Error: no");
    expect(latest()).to.match(/^⌫+$/u);
  });

  for (const [name, isTTY, variable] of [
    ["no terminal", false, "xterm"],
    ["a dumb terminal", true, "dumb"],
  ] as const) {
    it(`should never be shown on ${name}`, async () => {
      process.env["TERM"] = variable;
      const hre = await createTestHre();
      const { stderr, latest } = terminal(isTTY);
      await whileWaiting(hre.hooks, stderr, async ({ say, hide, ...to }) => {
        say("Waiting for live…");
        to.stderr.write("told\n");
        hide();
        await Promise.resolve();
      });
      expect(latest()).to.equal("told\n");
    });
  }
});

import { Writable } from "node:stream";
import { stripVTControlCharacters } from "node:util";

import { expect } from "chai";

import { whileWaiting } from "../../../tasks/output/waiting.js";
import { createTestHre } from "../../helpers/hre.js";

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

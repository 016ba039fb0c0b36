import { getEventListeners } from "node:events";
import { mock } from "node:test";
import { setImmediate } from "node:timers/promises";

import { expect } from "chai";

import { collectGarbage } from "../../bench/measure.js";
import { orAbort, pause, unlessAborted } from "../../src/rpc/signals.js";

const never = async (): Promise<never> => await new Promise(() => undefined);

describe("a wait that a signal ends", () => {
  it("pause() and orAbort() keep the process while they wait, and leave no timer, which would keep it", async () => {
    const begun = mock.method(globalThis, "setTimeout");
    const ended = mock.method(globalThis, "clearTimeout");
    const stop = new AbortController();
    const waits = [
      pause(60_000, stop.signal),
      orAbort(never, [stop.signal]).catch(String),
    ];
    const timers = begun.mock.calls.map(({ result }) => result);
    const keeping = timers.filter((timer) => timer?.hasRef() === true);
    stop.abort("enough");
    expect(await Promise.all(waits)).to.deep.equal([undefined, "enough"]);
    const stopped = ended.mock.calls.map(({ arguments: [timer] }) => timer);
    begun.mock.restore();
    ended.mock.restore();
    expect(keeping).to.have.lengthOf(2);
    expect(timers.filter((timer) => !stopped.includes(timer))).to.have.lengthOf(
      0,
    );
  });

  it("orAbort() ends at once if its signal is aborted before", async () => {
    const signals = [AbortSignal.abort("enough")];
    const waiting = orAbort(never, signals).catch(String);
    expect(await Promise.race([waiting, setImmediate("waits")])).to.equal(
      "enough",
    );
  });

  it("unlessAborted() has no answer once its signal is aborted, though the work fails later", async () => {
    const stop = new AbortController();
    let fail: (() => void) | undefined;
    const work = new Promise<string>((_resolve, reject) => {
      fail = () => reject(new Error("no"));
    });
    for (const whenAborted of ["before", "already"]) {
      const waiting = unlessAborted(work, stop.signal);
      stop.abort("enough");
      expect(await waiting, whenAborted).to.equal(undefined);
    }
    fail?.();
  });

  it("orAbort() leaves no listener at a signal, which may last as long as the process, however the work ends", async () => {
    const { signal } = new AbortController();
    for (const work of [Promise.resolve(), Promise.reject(new Error("no"))]) {
      await orAbort(async () => await work, [signal]).catch(String);
    }
    expect(getEventListeners(signal, "abort")).to.deep.equal([]);
  });

  it("orAbort() lets go of the answer, though Node.js keeps its listener", async () => {
    const { signal } = new AbortController();
    const listening = mock.method(signal, "addEventListener");
    const answerOf = async (): Promise<WeakRef<object>> =>
      new WeakRef(
        await orAbort(
          async () => await Promise.resolve({ large: true }),
          [signal],
        ),
      );
    const answer = await answerOf();
    await setImmediate();
    collectGarbage();
    expect(listening.mock.callCount()).to.equal(1);
    expect(answer.deref()).to.equal(undefined);
  });
});

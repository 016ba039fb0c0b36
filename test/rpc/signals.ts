import { getEventListeners } from "node:events";
import { mock } from "node:test";
import { setImmediate } from "node:timers/promises";

import { expect } from "chai";

import { collectGarbage } from "../../bench/measure.js";
import { isAbortOf, orAbort, pause } from "../../src/rpc/signals.js";

describe("a wait that a signal ends", () => {
  it("pause() and orAbort() keep the process while they wait, and leave no timer, which would keep it", async () => {
    const begun = [
      mock.method(globalThis, "setTimeout"),
      mock.method(globalThis, "setInterval"),
    ];
    const ended = [
      mock.method(globalThis, "clearTimeout"),
      mock.method(globalThis, "clearInterval"),
    ];
    const stop = new AbortController();
    const waits = [
      pause(60_000, stop.signal),
      orAbort(new Promise<never>(() => undefined), stop.signal).catch(String),
    ];
    const timers = begun.flatMap(({ mock: { calls } }) =>
      calls.map(({ result }) => result),
    );
    const keeping = timers.filter((timer) => timer?.hasRef() === true);
    stop.abort("enough");
    expect(await Promise.all(waits)).to.deep.equal([undefined, "enough"]);
    const stopped = ended.flatMap(({ mock: { calls } }) =>
      calls.map(({ arguments: [timer] }) => timer),
    );
    for (const method of [...begun, ...ended]) {
      method.mock.restore();
    }
    expect(keeping).to.have.lengthOf(3);
    expect(timers.filter((timer) => !stopped.includes(timer))).to.have.lengthOf(
      0,
    );
  });

  it("orAbort() ends at once if its signal is aborted before", async () => {
    const work = new Promise<never>(() => undefined);
    const waiting = orAbort(work, AbortSignal.abort("enough")).catch(String);
    expect(await Promise.race([waiting, setImmediate("waits")])).to.equal(
      "enough",
    );
  });

  it("isAbortOf() is true only for the reason of an aborted signal", () => {
    const signal = AbortSignal.abort("enough");
    expect(isAbortOf([signal], "enough")).to.equal(true);
    expect(isAbortOf([signal], new Error("no"))).to.equal(false);
  });

  it("orAbort() leaves no listener at a signal, which may last as long as the process, however the work ends", async () => {
    const { signal } = new AbortController();
    await orAbort(Promise.resolve(), signal);
    await orAbort(
      async () => await Promise.reject(new Error("no")),
      signal,
    ).catch(String);
    expect(getEventListeners(signal, "abort")).to.deep.equal([]);
  });

  it("orAbort() lets go of the answer, though Node.js keeps its listener", async () => {
    const { signal } = new AbortController();
    const listening = mock.method(signal, "addEventListener");
    const answerOf = async (): Promise<WeakRef<object>> =>
      new WeakRef(await orAbort(Promise.resolve({ large: true }), signal));
    const answer = await answerOf();
    await setImmediate();
    collectGarbage();
    expect(listening.mock.callCount()).to.equal(1);
    expect(answer.deref()).to.equal(undefined);
  });
});

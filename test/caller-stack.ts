import { expect } from "chai";

import { withCallerStack } from "../src/caller-stack.js";

/** The stack of what the work throws. */
async function stackOf(work: () => Promise<unknown>): Promise<string> {
  return await work().then(
    () => "it succeeded",
    (error: unknown) => (error instanceof Error ? String(error.stack) : "none"),
  );
}

/** Fails behind a queue, so that V8 keeps no frame of the caller. */
const failLater = async (): Promise<never> =>
  await new Promise((_resolve, reject) => {
    setImmediate(() => {
      reject(new Error("late"));
    });
  });

describe("the stack of an error", () => {
  it("ends with the frames of the function that called, once each", async () => {
    const callerOfWork = async (): Promise<unknown> =>
      await withCallerStack(failLater);
    const stack = await stackOf(callerOfWork);
    expect(stack).to.match(/^Error: late\n/u);
    expect(stack.split("callerOfWork")).to.have.lengthOf(2);
    expect(stack).to.not.contain("withCallerStack");
    const twice = async (): Promise<unknown> =>
      await withCallerStack(callerOfWork);
    const lines = (await stackOf(twice)).split("\n");
    expect(lines).to.deep.equal([...new Set(lines)]);
  });

  it("is not looked for in what is no error", async () => {
    const work = withCallerStack(
      async () =>
        await new Promise((_resolve, reject) => {
          // eslint-disable-next-line @typescript-eslint/prefer-promise-reject-errors -- as the reason of a signal may be
          reject("enough");
        }),
    );
    const [end] = await Promise.allSettled([work]);
    expect(end).to.deep.equal({ status: "rejected", reason: "enough" });
  });
});

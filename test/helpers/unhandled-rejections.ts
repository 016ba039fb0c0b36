import type { RootHookObject } from "mocha";

function fail(reason: unknown): never {
  throw reason;
}

/** Fails the test that a rejected promise without a handler belongs to. */
export const mochaHooks: RootHookObject = {
  // A worker of Mocha runs many files, and removes all listeners after each.
  beforeAll() {
    if (!process.listeners("unhandledRejection").includes(fail)) {
      process.on("unhandledRejection", fail);
    }
  },
};

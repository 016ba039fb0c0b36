import { inspect } from "node:util";

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
  /** A worker sends failures as JSON: a bigint would hide all tests of its file. */
  afterEach(this: Mocha.Context) {
    const error: object = this.currentTest?.err ?? {};
    for (const key of ["actual", "expected"]) {
      const value: unknown = Reflect.get(error, key);
      try {
        JSON.stringify(value);
      } catch {
        Reflect.set(error, key, inspect(value, { depth: 9, sorted: true }));
      }
    }
  },
};

import { expect } from "chai";

import {
  operationEntry,
  readOperationNames,
} from "../../src/protocol/index.js";
import { toFlag } from "../../tasks/parse-options.js";
import { newTasks } from "../helpers/every-vault-task.js";

describe("the help of a task", () => {
  for (const { id, description, options, positionalArguments } of newTasks) {
    const name = id.slice(1).join(" ");
    it(`the help of vault ${name} names only options that it has`, () => {
      const flags = Object.keys(options).map(toFlag);
      const all = [...Object.values(options), ...positionalArguments];
      for (const text of [description, ...all.map((one) => one.description)]) {
        expect(flags).to.include.members(text.match(/--[a-z-]+/gu) ?? []);
      }
    });
  }

  it("the help offers the pending block only in tasks that read it", () => {
    const reading = readOperationNames.map((name) => operationEntry(name).task);
    const offering = newTasks.filter(({ options }) =>
      String(options["block"]?.description).includes("pending"),
    );
    expect(offering.map(({ id }) => id[1])).to.have.members([
      ...["status", ...reading],
    ]);
  });
});

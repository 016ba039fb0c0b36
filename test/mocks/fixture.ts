import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { devNull, tmpdir } from "node:os";
import path from "node:path";

import { expect } from "chai";

import { VaultClient } from "../../src/client/index.js";
import { readFixture } from "../../src/mocks/fixture.js";
import { capture } from "../../src/mocks/index.js";
import type { CapturedFixture } from "../../src/mocks/index.js";
import { expectVaultError } from "../helpers/assertions.js";
import {
  documentedContracts,
  documentedNode,
} from "../helpers/documented-node.js";
import { fieldsOf } from "../helpers/fields.js";

describe("a file that is no fixture", () => {
  let folder: string;
  let file: string;
  let fixture: CapturedFixture;

  before(async () => {
    folder = await mkdtemp(path.join(tmpdir(), "hardhat-vault-fixtures-"));
    file = path.join(folder, "recorded.json");
    const vault = new VaultClient(documentedNode(), documentedContracts);
    ({ fixture } = await capture(vault, { orders: [1n] }));
  });
  after(async () => {
    await rm(folder, { recursive: true });
  });

  const expectRefusal = async (
    problem: string,
    content: unknown,
  ): Promise<void> => {
    await writeFile(file, JSON.stringify(content));
    const read = readFixture(file);
    const { details } = await expectVaultError(read, "VAULT_INVALID_FIXTURE");
    expect(details["file"]).to.equal(file);
    expect(details["problem"]).to.include(problem);
  };

  for (const [title, change, problem] of [
    ["another format", { format: "other" }, "format"],
    ["another version", { version: 2 }, "version"],
    ["an unknown key", { extra: 1 }, "extra"],
    [
      "a key that is a URL, which it hides",
      { "https://node.example/v2/k3y": 1 },
      '"<url>" is not a field',
    ],
    ["no reading", { volume: undefined }, "volume"],
    ["an order's id with a zero before it", { orders: { "01": {} } }, "id"],
    [
      "revert data that is not hex",
      { volume: { error: { revertData: "0x1" } } },
      "volume.error.revertData",
    ],
  ] as const) {
    it(`readFixture() refuses ${title}: VAULT_INVALID_FIXTURE`, async () => {
      await expectRefusal(problem, { ...fixture, ...change });
    });
  }

  it("readFixture() refuses a number that JSON rounded: VAULT_INVALID_FIXTURE", async () => {
    const round = { ...fieldsOf(fixture["round"]), APY: 2 ** 60 };
    await expectRefusal("round.APY", { ...fixture, round });
  });

  for (const [title, changes, settledPrice, settledAmount] of [
    ["what it has of a settled round", { settled: true }, 4n, 5n],
    ["the price of an open round, and its orders", { settled: false }, 4n, 1n],
    [
      "the strike price of an open round without one, and its orders",
      ...([{ settled: false, settledPrice: "0" }, 3n, 1n] as const),
    ],
  ] as const) {
    it(`readFixture() scripts a settlement with ${title}`, async () => {
      const round = {
        ...fieldsOf(fixture["round"]),
        ...{ strikePrice: "3", settledPrice: "4", settledAmount: "5" },
        ...changes,
      };
      await writeFile(file, JSON.stringify({ ...fixture, round }));
      const { settlement } = await readFixture(file);
      expect(settlement).to.include({ settledPrice, settledAmount });
    });
  }

  for (const [title, name, problem] of [
    ["a file that is not JSON", "text", "it is not JSON"],
    ["a file that is not there", "none", "there is no such file"],
    ["a device", devNull, "not a regular file"],
  ] as const) {
    it(`readFixture() refuses ${title}: VAULT_INVALID_FIXTURE`, async () => {
      await writeFile(path.join(folder, "text"), "{");
      const { details } = await expectVaultError(
        readFixture(path.resolve(folder, name)),
        "VAULT_INVALID_FIXTURE",
      );
      expect(details["problem"]).to.include(problem);
    });
  }
});

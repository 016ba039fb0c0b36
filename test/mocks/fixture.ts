import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";

import { expect } from "chai";
import type { NetworkConnection } from "hardhat/types/network";

import { capture } from "../../src/mocks/index.js";
import type { CapturedFixture } from "../../src/mocks/index.js";
import type { HardhatVault, MockVaultHandle } from "../../src/types.js";
import { expectVaultError } from "../helpers/assertions.js";
import { fieldsOf } from "../helpers/fields.js";
import { createTestHre } from "../helpers/hre.js";

const FILE = "fixtures/recorded.json";

describe("deployMocks() with a file that is no fixture", () => {
  let root: string;
  let connection: NetworkConnection;
  let vault: HardhatVault;
  let fixture: CapturedFixture;
  let order: unknown;

  before(async () => {
    root = await mkdtemp(path.join(tmpdir(), "hardhat-vault-fixtures-"));
    await mkdir(path.join(root, "fixtures"));
    await writeFile(path.join(root, "package.json"), "{}");
    const hre = await createTestHre({}, { projectRoot: root });
    connection = await hre.network.create();
    ({ vault } = connection);
    await vault.deployMocks();
    ({ fixture } = await capture(vault, { orders: [1n] }));
    order = fieldsOf(fixture["orders"])["1"];
  });
  after(async () => {
    await connection.close();
    await rm(root, { recursive: true });
  });

  const replay = async (content: unknown): Promise<MockVaultHandle> => {
    const text =
      typeof content === "string" ? content : JSON.stringify(content);
    await writeFile(path.join(root, FILE), text);
    return await vault.deployMocks({ fixture: FILE });
  };
  const orderWith = (changes: object) => (): unknown => ({
    orders: { 1: { ...fieldsOf(order), ...changes } },
  });
  const roundWith = (changes: object) => (): unknown => ({
    round: { ...fieldsOf(fixture["round"]), ...changes },
  });
  const own = (key: string): object => Object.fromEntries([[key, {}]]);
  const ordersWith = (key: string) => (): unknown => ({ orders: own(key) });

  const broken: ReadonlyArray<
    readonly [title: string, change: () => unknown, problem: string]
  > = [
    ["another format", () => ({ format: "other" }), "format"],
    ["a later version", () => ({ version: 2 }), "version"],
    ["an unknown key", () => ({ extra: 1 }), "extra"],
    ["no reading", () => ({ volume: undefined }), "volume"],
    ["no pools", () => ({ pools: {} }), "pools.public"],
    ["no round", () => ({ round: null }), "round"],
    ["a rounded number", roundWith({ APY: 2 ** 60 }), "round.APY"],
    ["a flag in words", roundWith({ settled: "no" }), "round.settled"],
    ["no orders", () => ({ orders: undefined }), "orders"],
    ["an order's id with a zero before it", ordersWith("01"), "id"],
    ["the id __proto__", ordersWith("__proto__"), "id"],
    ["an order without a field", orderWith({ number: undefined }), "number"],
    [
      "revert data that is not hex",
      () => ({ volume: { error: { revertData: "0x1" } } }),
      "volume.error.revertData",
    ],
    ["a failure of null", () => ({ volume: { error: null } }), "volume.error"],
    ["a number as settlement", () => ({ settlement: 5 }), "settlement"],
  ];
  for (const [title, change, problem] of broken) {
    it(`deployMocks() refuses ${title}: VAULT_INVALID_FIXTURE`, async () => {
      const { details } = await expectVaultError(
        replay({ ...fixture, ...fieldsOf(change()) }),
        "VAULT_INVALID_FIXTURE",
      );
      expect(details["file"]).to.equal(path.join(root, FILE));
      expect(details["problem"]).to.include(problem);
    });
  }

  for (const [title, deploy, problem] of [
    [
      "a file that is not JSON",
      async () => await replay("{"),
      "it is not JSON",
    ],
    [
      "a file that is not there",
      async () => await vault.deployMocks({ fixture: "none.json" }),
      "there is no such file",
    ],
    [
      "a folder",
      async () => await vault.deployMocks({ fixture: "fixtures" }),
      "it is a folder",
    ],
    [
      "a key that is a URL, which it hides",
      async () =>
        await replay({ ...fixture, "https://node.example/v2/k3y": 1 }),
      '"<url>" is not a field',
    ],
  ] as const) {
    it(`deployMocks() refuses ${title}: VAULT_INVALID_FIXTURE`, async () => {
      const { details } = await expectVaultError(
        deploy,
        "VAULT_INVALID_FIXTURE",
      );
      expect(details["problem"]).to.include(problem);
    });
  }
});

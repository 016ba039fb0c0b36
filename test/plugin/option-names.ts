import { expect } from "chai";
import type { HardhatRuntimeEnvironment } from "hardhat/types/hre";
import type { NetworkConnection } from "hardhat/types/network";

import { VaultClient } from "../../src/client/index.js";
import { capture, connectMocks, deployMocks } from "../../src/mocks/index.js";
import { asRecord } from "../../src/json.js";
import { readOperationNames } from "../../src/protocol/index.js";
import type { HardhatVault, MockVaultHandle } from "../../src/types.js";
import { expectVaultError } from "../helpers/assertions.js";
import { createTestHre } from "../helpers/hre.js";

/** Calls what JavaScript can call, and TypeScript refuses: its line is in the stack. */
async function callWith(
  target: object,
  method: string,
  ...args: readonly unknown[]
): Promise<unknown> {
  const found: unknown = Reflect.get(target, method);
  if (typeof found !== "function") {
    throw new Error(`no method ${method}`);
  }
  const called: unknown = Reflect.apply(found, target, args);
  const result: unknown = await called;
  return typeof result === "object" &&
    result !== null &&
    Symbol.asyncIterator in result
    ? await Array.fromAsync(
        // the symbol was found
        result as AsyncIterable<unknown>,
      )
    : result;
}

describe("misspelt options", () => {
  let hre: HardhatRuntimeEnvironment;
  let connection: NetworkConnection;
  let vault: HardhatVault;
  let mocks: MockVaultHandle;
  before(async () => {
    hre = await createTestHre();
    connection = await hre.network.getOrCreate();
    ({ vault } = connection);
    mocks = await vault.deployMocks();
  });
  after(async () => {
    await connection.close();
  });

  const refusals: ReadonlyArray<
    readonly [method: string, args: readonly unknown[], said: string]
  > = [
    [
      "calMargins",
      [{ maxVolume: 1n, APY: 1n, endTime: 1n, endtime: 2n }],
      '"endtime" is not an argument; the arguments are maxVolume, APY, endTime',
    ],
    ["snapshot", [{ blockNumber: 1 }], '"blockNumber" is not an option'],
    ["orders", [{ sate: "open" }], '"sate" is not an option'],
    ["rounds", [{ blockTag: 1 }], '"blockTag" is not an option'],
    ["settleAll", [{ confirmation: 2 }], '"confirmation" is not an option'],
    ["simulateSettleAll", [{ at: 2 }], '"at" is not an option'],
    ["fork", [{ block: 2 }], '"block" is not an option'],
    ["mockAt", ["trading", { override: {} }], '"override" is not an option'],
    [
      "deployMocks",
      [{ senario: "expired-round" }],
      '"senario" is not an option; the options are scenario, fixture, overrides, at, allowLiveNetwork',
    ],
    [
      "deployMocks",
      ["expired-round"],
      'an object with options is needed, got "expired-round"',
    ],
    ["deployMocks", [null], "an object with options is needed, got null"],
    ["settleAll", [["yes"]], "an object with options is needed, got a list"],
    [
      "settleAll",
      [{ resume: true, from: "0x" }],
      "from: resuming does not take it",
    ],
    ["orders", [{ ids: [1], firstId: 1 }], "ids"],
  ];
  for (const [method, args, said] of refusals) {
    it(`${method}(${JSON.stringify(args, (_, value: unknown) => (typeof value === "bigint" ? String(value) : value))}) is refused with VAULT_INVALID_ARGUMENT`, async () => {
      const { message, stack } = await expectVaultError(
        callWith(vault, method, ...args),
        "VAULT_INVALID_ARGUMENT",
      );
      expect(message).to.contain(said);
      expect(stack).to.contain("test/plugin/option-names.");
    });
  }

  /** What the reads need in front of their options. */
  const needed: Readonly<Record<string, readonly unknown[]>> = {
    getFundingFeeRate: ["put"],
    getOrderInfo: [1n],
    getLPAmountInfo: ["private"],
    calMargins: [{ maxVolume: 1n, APY: 1n, endTime: 1n }],
    read: ["queryVolume", []],
  };
  for (const method of [...readOperationNames, "read"]) {
    it(`${method}() refuses a misspelt option with the names that there are`, async () => {
      const args = needed[method] ?? [];
      const { message } = await expectVaultError(
        callWith(vault, method, ...args, { timeOut: 1 }),
        "VAULT_INVALID_ARGUMENT",
      );
      expect(message).to.contain(
        '"timeOut" is not an option; the options are from, blockTag, timeout, signal, onRetry',
      );
    });
  }

  for (const [method, args] of [
    ["at", [{ vault: "hello" }]],
    ["getOrderInfo", ["x"]],
    ["getFundingFeeRate", ["both"]],
    ["getLPAmountInfo", ["both"]],
    ["queryVolume", [{ from: "hello" }]],
    ["queryVolume", [{ blockTag: "newest" }]],
    ["snapshot", [{ blockTag: "newest" }]],
    ["orders", [{ ids: ["x"] }]],
    ["orders", [{ state: "shut" }]],
    ["rounds", [{ fromBlock: "x" }]],
    ["settleAll", [{ from: "hello" }]],
    ["settleAll", [{ confirmations: 0 }]],
    ["simulateSettleAll", [{ from: "hello" }]],
    ["instance", ["typo"]],
  ] as const) {
    for (const which of ["connection.vault", "hre.vault"] as const) {
      it(`${which}.${method}(${JSON.stringify(args)}) fails with a line of the test`, async () => {
        const made = async (): Promise<unknown> => {
          const target = which === "hre.vault" ? hre.vault : vault;
          const result = await callWith(target, method, ...args);
          // What at() and instance() of hre.vault return fails when it is used.
          return await callWith(asRecord(result), "queryVolume");
        };
        const error: unknown = await made().catch((thrown: unknown) => thrown);
        expect(error).to.have.property("name", "VaultError");
        expect(error)
          .to.have.property("stack")
          .which.contains("test/plugin/option-names.");
      });
    }
  }

  it("capture(), fail() and succeed() refuse a misspelt option with VAULT_INVALID_ARGUMENT", async () => {
    for (const call of [
      async () => await callWith({ capture }, "capture", vault, { order: [] }),
      async () =>
        await callWith(mocks, "fail", "getLPAmountInfo", "no", { pol: 1 }),
      async () => await callWith(mocks, "succeed", "settleAll", { pools: 1 }),
    ]) {
      const { message } = await expectVaultError(
        call(),
        "VAULT_INVALID_ARGUMENT",
      );
      expect(message).to.match(/is not an option; the options are \w/u);
    }
  });

  it("new VaultClient() refuses a misspelt option with VAULT_INVALID_ARGUMENT", async () => {
    const { message } = await expectVaultError(
      (async (): Promise<unknown> =>
        await Promise.resolve(
          Reflect.construct(VaultClient, [
            connection.provider,
            {},
            { network: "live" },
          ]),
        ))(),
      "VAULT_INVALID_ARGUMENT",
    );
    expect(message).to.contain('"network" is not an option');
  });

  it("an option that is undefined and known is accepted", async () => {
    const volume = await vault.queryVolume({ blockTag: undefined });
    expect(volume).to.be.a("bigint");
  });

  describe("providers that are none", () => {
    const secretUrl = "https://node.test/v3/5d0c8a3f9b6e4d1283a7c6b5e4f30912";
    for (const [title, provider] of [
      ["a text", secretUrl],
      ["undefined", undefined],
      ["an object with send()", { send: async () => await Promise.resolve() }],
      ["an object with sendAsync()", { sendAsync: () => undefined }],
      ["an object without it", { url: secretUrl }],
    ] as const) {
      it(`${title} is refused with VAULT_INVALID_ARGUMENT that names EIP-1193`, async () => {
        for (const call of [
          async (): Promise<unknown> =>
            await Promise.resolve(
              Reflect.construct(VaultClient, [provider, {}]),
            ),
          async () => await callWith({ deployMocks }, "deployMocks", provider),
          async () =>
            await callWith({ connectMocks }, "connectMocks", provider, {}),
        ]) {
          const { message } = await expectVaultError(
            call(),
            "VAULT_INVALID_ARGUMENT",
          );
          expect(message).to.contain(
            `an EIP-1193 provider, an object with request(), is needed, got ${title}.`,
          );
          expect(message).to.not.contain("5d0c");
        }
      });
    }
  });
});

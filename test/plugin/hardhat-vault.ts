import { inspect } from "node:util";
import { assert, expect } from "chai";
import { ZeroAddress } from "ethers";
import type { HardhatRuntimeEnvironment } from "hardhat/types/hre";
import type { NetworkConnection } from "hardhat/types/network";

import { VaultClient } from "../../src/client/index.js";
import type { MockVaultHandle, HardhatVault } from "../../src/types.js";
import {
  ORDER_ID,
  distinctState,
  expectedReads,
} from "../helpers/distinct-state.js";
import { differentNodes } from "../helpers/every-node.js";
import type { TestNode } from "../helpers/every-node.js";
import { fetchProvider } from "../helpers/fetch-provider.js";
import { configuredCaller } from "../../src/plugin/hardhat-vault.js";
import { connectTo, createTestHre, hreOnLive } from "../helpers/hre.js";
import { THIRD } from "../helpers/names.js";
import { capture, connectMocks, deployMocks } from "../../src/mocks/index.js";
import { asRecord } from "../../src/json.js";
import { expectVaultError } from "../helpers/assertions.js";

for (const { name, start } of differentNodes) {
  describe(`every operation on ${name}`, () => {
    let node: TestNode;
    let hre: HardhatRuntimeEnvironment;
    let connection: NetworkConnection;
    let mocks: MockVaultHandle;

    before(async () => {
      node = await start();
      hre = await (node.url === undefined
        ? createTestHre()
        : hreOnLive(node.url));
      connection = await hre.network.getOrCreate();
      mocks = await connection.vault.deployMocks({ overrides: distinctState });
    });
    after(async () => {
      await connection.close();
      await node.stop();
    });

    it("connection.vault, hre.vault and a VaultClient without Hardhat read every value", async () => {
      const provider =
        node.url === undefined ? connection.provider : fetchProvider(node.url);
      for (const client of [
        connection.vault,
        hre.vault,
        new VaultClient(provider, mocks.addresses),
      ]) {
        for (const { operation, args, expected } of expectedReads) {
          const method: unknown = Reflect.get(client, operation);
          assert(typeof method === "function");
          const value: unknown = await Reflect.apply(method, client, args);
          expect(value, `${operation}(${inspect(args)})`).to.deep.equal(
            expected,
          );
        }
      }
    });

    it("the typed contracts read the same values", async () => {
      for (const contracts of [
        connection.vault.contracts,
        await hre.vault.contracts,
      ]) {
        const read = await contracts.trading.getOrderInfo(ORDER_ID);
        expect(read.state).to.equal(255n);
        expect(await contracts.vaultFactory.minSLDMargin()).to.equal(46n);
      }
    });
  });
}

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

/** Calls a constructor as JavaScript can. */
const newClient = async (...args: readonly unknown[]): Promise<unknown> =>
  await Promise.resolve(Reflect.construct(VaultClient, args));

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

  const terms = { maxVolume: 1n, APY: 1n, endTime: 1n };
  const ofReads =
    '"timeOut" is not an option; the options are from, blockTag, timeout, signal, onRetry';
  const refusals: ReadonlyArray<
    readonly [method: string, args: readonly unknown[], said: string]
  > = [
    ["queryVolume", [{ timeOut: 1 }], ofReads],
    ["calMargins", [terms, { timeOut: 1 }], ofReads],
    [
      "calMargins",
      [{ ...terms, endtime: 2n }],
      '"endtime" is not an argument; the arguments are maxVolume, APY, endTime',
    ],
    ["snapshot", [{ valueOf: 1 }], '"valueOf" is not an option'],
    ["orders", [{ sate: "open" }], '"sate" is not an option'],
    ["rounds", [{ blockTag: 1 }], '"blockTag" is not an option'],
    ["settleAll", [{ confirmation: 2 }], '"confirmation" is not an option'],
    ["simulateSettleAll", [{ at: 2 }], '"at" is not an option'],
    ["fork", [{ block: 2 }], '"block" is not an option'],
    ["mockAt", ["trading", { override: {} }], '"override" is not an option'],
    [
      "deployMocks",
      ["expired-round"],
      'an object with options is needed, got "expired-round"',
    ],
    ["settleAll", [["yes"]], "an object with options is needed, got a list"],
  ];
  for (const [method, args, said] of refusals) {
    it(`${method}() refuses arguments with VAULT_INVALID_ARGUMENT: ${said}`, async () => {
      const { message } = await expectVaultError(
        callWith(vault, method, ...args),
        "VAULT_INVALID_ARGUMENT",
      );
      expect(message).to.contain(said);
    });
  }

  it("capture(), fail(), succeed() and new VaultClient() refuse a misspelt option with VAULT_INVALID_ARGUMENT", async () => {
    for (const call of [
      async () => await callWith({ capture }, "capture", vault, { order: [] }),
      async () =>
        await callWith(mocks, "fail", "getLPAmountInfo", "no", { pol: 1 }),
      async () => await callWith(mocks, "succeed", "settleAll", { pools: 1 }),
      async () => await newClient(connection.provider, {}, { network: "live" }),
    ]) {
      const { message } = await expectVaultError(
        call(),
        "VAULT_INVALID_ARGUMENT",
      );
      expect(message).to.match(/is not an option; the options are \w/u);
    }
  });

  it("an option that is undefined and known is accepted", async () => {
    const volume = await vault.queryVolume({ blockTag: undefined });
    expect(volume).to.be.a("bigint");
  });

  for (const [method, args] of [
    ["at", [{ vault: "hello" }]],
    ["queryVolume", [{ blockTag: "newest" }]],
    ["settleAll", [{ from: "hello" }]],
    ["instance", ["typo"]],
  ] as const) {
    it(`${method}(${JSON.stringify(args)}) of connection.vault and of hre.vault fails with a line of the test`, async () => {
      for (const target of [vault, hre.vault]) {
        const made = async (): Promise<unknown> => {
          const result = await callWith(target, method, ...args);
          // What at() and instance() of hre.vault return fails when it is used.
          return await callWith(asRecord(result), "queryVolume");
        };
        const error: unknown = await made().catch((thrown: unknown) => thrown);
        expect(error).to.have.property("name", "VaultError");
        expect(error)
          .to.have.property("stack")
          .which.contains("test/plugin/hardhat-vault.");
      }
    });
  }

  const secretUrl = "https://node.test/v3/5d0c8a3f9b6e4d1283a7c6b5e4f30912";
  for (const [title, type, provider] of [
    ["a URL", "string", secretUrl],
    ["one of ethers", "object", { send: async () => await Promise.resolve() }],
    ["an object with a URL", "object", { url: secretUrl }],
  ] as const) {
    it(`a provider that is ${title} is refused with VAULT_INVALID_ARGUMENT that names EIP-1193`, async () => {
      for (const call of [
        async () => await newClient(provider, {}),
        async () => await callWith({ deployMocks }, "deployMocks", provider),
        async () =>
          await callWith({ connectMocks }, "connectMocks", provider, {}),
      ]) {
        const { message } = await expectVaultError(
          call(),
          "VAULT_INVALID_ARGUMENT",
        );
        expect(message).to.contain(
          `an EIP-1193 provider, an object with request(), is needed, got a value of type ${type}.`,
        );
        expect(message).to.not.contain("5d0c");
      }
    });
  }
});

describe("the settings of a vault", () => {
  const NOWHERE = "http://127.0.0.1:1";
  const own = { tokenDecimals: 6, displayDecimals: { volume: 6 } };

  it("configuredCaller() is the zero address, or that of the network with its checksum, which has to be right", async () => {
    expect(configuredCaller("live", {})).to.equal(ZeroAddress);
    const from = THIRD.toLowerCase();
    expect(configuredCaller("live", { from })).to.equal(THIRD);
    const { details } = await expectVaultError(
      () => configuredCaller("live", { from: THIRD.replace("3C", "3c") }),
      "VAULT_INVALID_ADDRESS",
    );
    expect(details).to.include({ where: "networks.live.from" });
  });

  it("display has the decimals of the settings, and nothing else without recorded mocks", async () => {
    const { vault } = await connectTo(NOWHERE, { vault: own });
    await vault.useScalesOfMocks();
    expect(vault.display).to.deep.equal(own);
    const { vault: bare } = await connectTo(NOWHERE);
    await bare.useScalesOfMocks();
    expect(bare.display).to.deep.equal({
      ...{ tokenDecimals: undefined, displayDecimals: {} },
    });
  });

  for (const [title, contracts, scaled] of [
    ["all contracts are theirs", {}, true],
    ["a contract is configured", { trading: THIRD }, false],
  ] as const) {
    it(`useScalesOfMocks() ${scaled ? "adopts" : "does not adopt"} the scales of recorded mocks if ${title}, and the settings come first`, async () => {
      const { vault } = await connectTo(NOWHERE, {
        vault: { ...own, contracts },
      });
      const found = { file: "x.json" };
      Object.defineProperty(vault.deployments, "find", {
        value: async () => await Promise.resolve(found),
      });
      await vault.useScalesOfMocks();
      const { tokenDecimals, displayDecimals } = vault.display;
      expect([tokenDecimals, displayDecimals?.volume]).to.deep.equal([6, 6]);
      expect(displayDecimals?.order).to.equal(scaled ? 18 : undefined);
    });
  }

  for (const [guard, found] of [
    [undefined, undefined],
    [false, undefined],
    [
      THIRD.toLowerCase(),
      { address: THIRD, source: "networks.live.vault.guard" },
    ],
  ] as const) {
    it(`guardAddress() of the setting ${String(guard)} is ${found === undefined ? "none" : "that address"}`, async () => {
      const { vault } = await connectTo(NOWHERE, { vault: { guard } });
      expect(await vault.guardAddress()).to.deep.equal(found);
    });
  }

  it("deployments are recorded over HTTP alone", async () => {
    const { vault } = await connectTo(NOWHERE);
    expect(vault.deployments).to.not.equal(undefined);
    const inProcess = await connectTo(undefined);
    expect(inProcess.vault.deployments).to.equal(undefined);
    await inProcess.close();
  });

  describe("of an instance", () => {
    const contracts = { vault: THIRD };
    const connect = async (): Promise<NetworkConnection> =>
      await connectTo(NOWHERE, {
        vault: { contracts, instances: { daily: {}, none: {} } },
      });

    it("an instance names itself, and is the same object each time", async () => {
      const { vault } = await connect();
      const daily = vault.instance("daily");
      expect(vault.instance("daily")).to.equal(daily);
      expect(daily.instance("daily")).to.equal(daily);
      expect([
        vault.networkName,
        vault.instanceName,
        daily.at({}).instanceName,
        daily.instance("none").instanceName,
      ]).to.deep.equal(["live", undefined, "daily", "none"]);
    });

    it("an instance of a vault whose operation has ended sends nothing more", async () => {
      const { vault } = await connect();
      const signal = AbortSignal.abort("enough");
      const ended = vault.withOptions({ signal });
      const read = ended.instance("daily").queryVolume();
      expect(await read.catch((reason: unknown) => reason)).to.equal("enough");
    });
  });
});

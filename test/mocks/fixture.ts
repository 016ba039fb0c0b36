import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";

import { expect } from "chai";

import type { HardhatVault } from "../../src/plugin/hardhat-vault.js";
import { VaultClient } from "../../src/client/index.js";
import { capture } from "../../src/mocks/index.js";
import type { CapturedFixture } from "../../src/mocks/index.js";
import { scenarios } from "../../src/mocks/scenarios.js";
import { keysOf } from "../../src/protocol/keys-of.js";
import { toSafeJson } from "../../src/untrusted-text.js";
import { startAnvil } from "../helpers/anvil.js";
import { expectVaultError } from "../helpers/assertions.js";
import type { ServerProcess } from "../helpers/child-process.js";
import { connectTo, createTestHre } from "../helpers/hre.js";
import { recordCalls } from "../helpers/recording-provider.js";

const MAX = 2n ** 256n - 1n;

async function freshVault(): Promise<HardhatVault> {
  const hre = await createTestHre();
  return (await hre.network.create()).vault;
}

describe("mocks - capture and replay", () => {
  let anvil: ServerProcess;
  let live: HardhatVault;
  let folder: string;

  before(async () => {
    anvil = await startAnvil();
    ({ vault: live } = await connectTo(anvil.url));
    folder = await mkdtemp(path.join(tmpdir(), "vault-fixture-"));
  });

  after(async () => {
    await rm(folder, { recursive: true, force: true });
    await anvil.stop();
  });

  async function save(fixture: unknown): Promise<string> {
    const file = path.join(folder, "fixture.json");
    await writeFile(file, toSafeJson(fixture, 2));
    return file;
  }

  for (const scenario of keysOf(scenarios)) {
    it(`should replay ${scenario} as it was`, async () => {
      await live.deployMocks({ scenario });
      const orders = [0n, 1n, 2n, 3n, 4n, 5n, 1_000n, MAX];
      const { fixture, failed } = await capture(live, { orders });
      expect(failed).to.equal(0);

      const replay = await freshVault();
      const mocks = await replay.deployMocks({ fixture: await save(fixture) });
      expect(mocks.scenario).to.equal(null);
      const { chainId, block, ...readings } = await live.snapshot();
      expect({ chainId, block }).to.deep.include({
        chainId: fixture.chainId,
      });
      const {
        chainId: _id,
        block: _block,
        ...replayed
      } = await replay.snapshot();
      expect(replayed).to.deep.equal(readings);
      for (const id of orders) {
        expect(await replay.getOrderInfo(id), `order ${id}`).to.deep.equal(
          await live.getOrderInfo(id),
        );
      }
      const anyRound = { maxVolume: 1n, APY: 1n, endTime: 1n };
      expect(await replay.calMargins(anyRound)).to.deep.equal(
        await live.calMargins(anyRound),
      );
      // What was recorded once is what is recorded of the replay.
      const again = await capture(replay, { orders });
      expect({ ...again.fixture, block: 0, chainId: 0 }).to.deep.equal({
        ...fixture,
        block: 0,
        chainId: 0,
      });
    });
  }

  it("should not invent an order that was not captured", async () => {
    const mocks = await live.deployMocks();
    await mocks.set({ orders: { 2: null } });
    for (const [orders, missing, unknown] of [
      [[1n, 2n], [2n], [3n, 4n]],
      [[], [], [1n, 2n, 3n]],
    ] as const) {
      const { fixture } = await capture(live, { orders });
      const replay = await freshVault();
      await replay.deployMocks({ fixture: await save(fixture) });
      for (const id of orders) {
        expect(await replay.getOrderInfo(id)).to.deep.equal(
          await live.getOrderInfo(id),
        );
      }
      for (const id of missing) {
        expect((await replay.getOrderInfo(id)).state).to.equal(0);
      }
      for (const id of unknown) {
        const error = await expectVaultError(
          replay.getOrderInfo(id),
          "VAULT_CALL_REVERTED",
        );
        expect(error.message).to.contain(`OrderNotFound(orderID: ${id})`);
      }
    }
  });

  it("should let a replay script orders that were not captured", async () => {
    await live.deployMocks();
    const { fixture } = await capture(live, { orders: [1n] });
    const replay = await freshVault();
    const mocks = await replay.deployMocks({ fixture: await save(fixture) });
    await mocks.set({ orders: { 6: { state: 2 } } });
    expect(await replay.getOrderInfo(6n)).to.deep.equal({
      ...(await live.getOrderInfo(1n)),
      state: 2,
    });
    await replay.deployMocks({
      fixture: await save(fixture),
      overrides: { missingOrdersRevert: false },
    });
    expect((await replay.getOrderInfo(9n)).state).to.equal(0);
  });

  it("should record failures, and fail alike in a replay", async () => {
    const mocks = await live.deployMocks();
    await mocks.fail("queryVolume", "closed for today");
    await mocks.fail("minXMargin", { panic: 0x12 });
    await mocks.fail("getLPAmountInfo", { data: "0x" }, { pool: "private" });
    await mocks.set({ missingOrdersRevert: true });
    const { fixture, failed } = await capture(live, { orders: [1n, 77n] });
    expect(failed).to.equal(4);

    const replay = await freshVault();
    await replay.deployMocks({ fixture: await save(fixture) });
    for (const [attempt, reason] of [
      [async () => await replay.queryVolume(), /closed for today/u],
      [async () => await replay.minXMargin(), /division or modulo by zero/u],
      [async () => await replay.getLPAmountInfo("private"), /no reason given/u],
      [async () => await replay.getOrderInfo(77n), /OrderNotFound/u],
    ] as const) {
      const error = await expectVaultError(attempt, "VAULT_CALL_REVERTED");
      expect(error.message).to.match(reason);
    }
    await replay.getLPAmountInfo("public");
    await replay.getOrderInfo(1n);
  });

  it("capture sends the client's own sender with every call", async () => {
    const mocks = await live.deployMocks();
    await mocks.fail("queryVolume", "closed");
    const from = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8";
    const provider = recordCalls(live.provider);
    const client = new VaultClient(provider, mocks.addresses, { from });
    const { failed } = await capture(client, { orders: [1n] });
    expect(failed).to.equal(1);
    const calls = provider.calls.filter(({ method }) => method === "eth_call");
    // The lens twice, the margins, and what failed once more.
    expect(calls.length).to.be.at.least(4);
    for (const { params = [] } of calls) {
      expect(params[0]).to.have.property("from", from);
    }
  });

  it("capture reads everything at one block, while the chain goes on or at a past block", async () => {
    const mocks = await live.deployMocks();
    const { number } = await live.block();
    const moving = new VaultClient(live.provider, mocks.addresses);
    const snapshot = moving.snapshot.bind(moving);
    moving.snapshot = async (options) => {
      const found = await snapshot(options);
      await mocks.set({ orders: { 1: { number: 1n } }, volume: 1n });
      await mocks.set({ margins: { baseMarginAmount: 1n } });
      return found;
    };
    const captured = await capture(moving, { orders: [1n] });
    const past = await capture(live, { orders: [1n], blockTag: number });
    for (const { fixture } of [captured, past]) {
      expect(fixture.block.number).to.equal(number);
      expect(fixture["volume"]).to.equal((420n * 10n ** 18n).toString());
      expect(Reflect.get(Object(fixture["orders"]), "1")).to.include({
        number: (2n * 10n ** 18n).toString(),
      });
      expect(fixture["margins"]).to.not.include({ baseMarginAmount: "1" });
    }
  });

  it("should refuse the pending block, which is not one fixed block", async () => {
    for (const vault of [live, await freshVault()]) {
      const error = await expectVaultError(
        capture(vault, { blockTag: "pending" }),
        "VAULT_INVALID_ARGUMENT",
      );
      expect(error.shortMessage).to.match(
        /^blockTag: pending is not a fixed block/u,
      );
    }
  });

  it("should not take a broken configuration for a failed reading", async () => {
    const vault = await freshVault();
    const error: unknown = await capture(vault).catch((each: unknown) => each);
    expect(error).to.have.property("code", "VAULT_CONTRACT_NOT_CONFIGURED");
  });

  it("should settle a replay", async () => {
    await live.deployMocks();
    const { fixture } = await capture(live);
    const replay = await freshVault();
    await replay.deployMocks({ fixture: await save(fixture) });
    const { status, after } = await replay.settleAll();
    expect(status).to.equal("settled");
    expect(after).to.include({
      settledPrice: 65_000n * 10n ** 18n,
      settledAmount: 420n * 10n ** 18n,
    });
  });

  describe("files that cannot be used", () => {
    let fixture: CapturedFixture;
    let vault: HardhatVault;

    before(async () => {
      await live.deployMocks();
      ({ fixture } = await capture(live, { orders: [1n] }));
      vault = await freshVault();
    });

    const round = (changes: object): object => ({
      ...fixture,
      round: Object.assign({}, fixture["round"], changes),
    });

    const order = (changes: object): object => {
      const { 1: first } = Object.assign({ 1: {} }, fixture["orders"]);
      return { ...fixture, orders: { 1: first, 2: { ...first, ...changes } } };
    };

    const invalid: ReadonlyArray<[string, () => unknown, RegExp]> = [
      ["of a newer version", () => ({ ...fixture, version: 2 }), /version/u],
      ["of something else", () => ({ name: "package" }), /format/u],
      ["a list", () => [fixture], /object/u],
      [
        "without a reading",
        () => ({ ...fixture, pools: {} }),
        /pools\.public/u,
      ],
      ["without a value", () => ({ ...fixture, volume: undefined }), /volume/u],
      ["with more readings", () => ({ ...fixture, extra: 1 }), /extra/u],
      ["a rounded number", () => round({ APY: 2 ** 60 }), /round\.APY/u],
      ["a negative", () => round({ APY: "-5" }), /round\.APY/u],
      [
        "above uint256",
        () => round({ APY: (MAX + 1n).toString() }),
        /round\.APY is not a whole number/u,
      ],
      ["a text as bool", () => round({ settled: "no" }), /round\.settled/u],
      ["an unknown field", () => round({ price: "1" }), /round.*price/u],
      ...["one", `${MAX + 1n}`, "01", "__proto__"].map(
        (id): [string, () => unknown, RegExp] => [
          `the order id ${id}`,
          () => ({ ...fixture, orders: Object.fromEntries([[id, {}]]) }),
          /An order's id is not a whole number|orders\.__proto__/u,
        ],
      ),
      [
        "an order with a field __proto__ beside its own",
        () => order(Object.fromEntries([["__proto__", {}]])),
        /orders\.2: .*__proto__/u,
      ],
      [
        "an order without a field",
        () => order({ number: undefined }),
        /orders\.2: number is missing/u,
      ],
      [
        "an order's integer as an empty text",
        () => order({ number: "" }),
        /orders\.2\.number is not a whole number/u,
      ],
      [
        "an order's state above uint8",
        () => order({ state: 256 }),
        /orders\.2\.state is not a whole number/u,
      ],
      ["an order's text as a number", () => order({ exType: 1 }), /exType/u],
      [
        "an order's bytes that are no hex",
        () => order({ exType: { bytes: "0x1" } }),
        /fixture\.json.*orders\.2\.exType: a text, or its bytes/u,
      ],
      [
        "revert data that is no hex",
        () => ({ ...fixture, volume: { error: { revertData: "1" } } }),
        /volume\.error\.revertData: data is not 0x hex/u,
      ],
    ];
    for (const [what, content, text] of invalid) {
      it(`should refuse one that is or has ${what}`, async () => {
        const error = await expectVaultError(
          vault.deployMocks({ fixture: await save(content()) }),
          "VAULT_INVALID_FIXTURE",
        );
        expect(error.shortMessage).to.match(text);
      });
    }

    it("should take the greatest values of an order", async () => {
      await vault.deployMocks({
        fixture: await save(
          order({ number: MAX.toString(), state: 255, contractType: 0 }),
        ),
      });
      expect(await vault.getOrderInfo(2n)).to.include({
        number: MAX,
        state: 255,
        contractType: 0,
      });
    });

    it("should refuse one that is not JSON, or not there", async () => {
      const file = path.join(folder, "broken.json");
      await writeFile(file, (await readFile(await save(fixture))).subarray(9));
      for (const [name, text] of [
        [file, /it is not JSON/u],
        [path.join(folder, "absent.json"), /there is no such file/u],
        [folder, /it is a folder/u],
      ] as const) {
        const error = await expectVaultError(
          vault.deployMocks({ fixture: name }),
          "VAULT_INVALID_FIXTURE",
        );
        expect(error.shortMessage).to.match(text);
      }
    });

    it("should refuse a scenario beside it", async () => {
      await expectVaultError(
        vault.deployMocks({
          scenario: "extremes",
          fixture: await save(fixture),
        }),
        "VAULT_INVALID_ARGUMENT",
      );
    });
  });
});

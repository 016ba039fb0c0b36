import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";

import { expect } from "chai";
import { toQuantity } from "ethers";

import { VaultClient } from "../../src/client/index.js";
import { capture, scenarios } from "../../src/mocks/index.js";
import type { CapturedFixture } from "../../src/mocks/index.js";
import type { HardhatVault } from "../../src/types.js";
import { expectVaultError } from "../helpers/assertions.js";
import { createTestHre } from "../helpers/hre.js";
import { keysOf } from "../helpers/keys-of.js";
import { recordCalls } from "../helpers/recording-provider.js";

const MAX = 2n ** 256n - 1n;

async function freshVault(): Promise<HardhatVault> {
  const hre = await createTestHre();
  return (await hre.network.create()).vault;
}

describe("mocks - capture and fixtures", () => {
  let live: HardhatVault;
  let replay: HardhatVault;
  let folder: string;

  before(async () => {
    live = await freshVault();
    replay = await freshVault();
    folder = await mkdtemp(path.join(tmpdir(), "vault-fixture-"));
  });

  after(async () => {
    await rm(folder, { recursive: true, force: true });
  });

  async function save(fixture: unknown): Promise<string> {
    const file = path.join(folder, "fixture.json");
    await writeFile(file, JSON.stringify(fixture, null, 2));
    return file;
  }

  for (const scenario of keysOf(scenarios)) {
    it(`deployMocks({ fixture }) returns what capture() recorded of ${scenario}`, async () => {
      await live.deployMocks({ scenario });
      const orders = [0n, 1n, 2n, 3n, 4n, 5n, 1_000n, MAX];
      const { fixture, failed } = await capture(live, { orders });
      expect(failed).to.equal(0);
      const mocks = await replay.deployMocks({ fixture: await save(fixture) });
      expect(mocks.scenario).to.equal(null);
      const { chainId, block: _block, ...readings } = await live.snapshot();
      expect(fixture.chainId).to.equal(chainId);
      expect(await replay.snapshot()).to.deep.include(readings);
      for (const id of orders) {
        expect(await replay.getOrderInfo(id), `order ${id}`).to.deep.equal(
          await live.getOrderInfo(id),
        );
      }
      const anyRound = { maxVolume: 1n, APY: 1n, endTime: 1n };
      expect(await replay.calMargins(anyRound)).to.deep.equal(
        await live.calMargins(anyRound),
      );
      const again = await capture(replay, { orders });
      expect({ ...again.fixture, block: fixture.block }).to.deep.equal(fixture);
    });
  }

  it("a replay reverts with OrderNotFound for an order that was not captured, until it is scripted, and settles at the recorded strike price", async () => {
    const source = await live.deployMocks();
    await source.set({ orders: { 2: null } });
    const { fixture } = await capture(live, { orders: [1n, 2n] });
    const file = await save(fixture);
    const mocks = await replay.deployMocks({ fixture: file });
    expect((await replay.getOrderInfo(2n)).state).to.equal(0);
    const { message } = await expectVaultError(
      replay.getOrderInfo(6n),
      "VAULT_CALL_REVERTED",
    );
    expect(message).to.contain("OrderNotFound(orderID: 6)");
    await mocks.set({ orders: { 6: { state: 2 } } });
    expect(await replay.getOrderInfo(6n)).to.deep.equal({
      ...(await live.getOrderInfo(1n)),
      state: 2,
    });
    const overrides = { missingOrdersRevert: false };
    await replay.deployMocks({ fixture: file, overrides });
    expect((await replay.getOrderInfo(9n)).state).to.equal(0);
    const { status, after } = await replay.settleAll();
    expect(status).to.equal("settled");
    expect(after).to.include({
      settledPrice: 65_000n * 10n ** 18n,
      settledAmount: 420n * 10n ** 18n,
    });
  });

  it("capture() records failures, with which a replay fails too", async () => {
    const mocks = await live.deployMocks();
    await mocks.fail("queryVolume", "closed for today");
    await mocks.fail("minXMargin", { panic: 0x12 });
    await mocks.fail("getLPAmountInfo", { data: "0x" }, { pool: "private" });
    await mocks.set({ missingOrdersRevert: true });
    const { fixture, failed } = await capture(live, { orders: [1n, 77n] });
    expect(failed).to.equal(4);
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

  it("capture() calls with the client's own sender, at the block of its first call", async () => {
    const mocks = await live.deployMocks();
    await mocks.fail("queryVolume", "closed");
    const from = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8";
    const provider = recordCalls(live.provider);
    const client = new VaultClient(provider, mocks.addresses, { from });
    const { fixture, failed } = await capture(client, { orders: [1n] });
    expect(failed).to.equal(1);
    const calls = provider.calls.filter(({ method }) => method === "eth_call");
    // The lens twice, the margins, and the failed call once more.
    expect(calls.length).to.be.at.least(4);
    for (const [index, { params = [] }] of calls.entries()) {
      expect(params[0]).to.have.property("from", from);
      expect(params[1]).to.equal(
        index === 0 ? "latest" : toQuantity(fixture.block.number),
      );
    }
  });

  it("capture() records the block of blockTag, and refuses pending and a vault without addresses", async () => {
    const mocks = await live.deployMocks();
    const { number } = await live.block();
    await mocks.set({ volume: 1n, orders: { 1: { number: 1n } } });
    const { fixture } = await capture(live, { orders: [1n], blockTag: number });
    expect(fixture).to.deep.include({
      volume: (420n * 10n ** 18n).toString(),
    });
    expect(fixture.block.number).to.equal(number);
    expect(Reflect.get(Object(fixture["orders"]), "1")).to.include({
      number: (2n * 10n ** 18n).toString(),
    });
    const { shortMessage } = await expectVaultError(
      capture(live, { blockTag: "pending" }),
      "VAULT_INVALID_ARGUMENT",
    );
    expect(shortMessage).to.match(/^blockTag: pending is not a fixed block/u);
    await expectVaultError(
      capture(await freshVault()),
      "VAULT_CONTRACT_NOT_CONFIGURED",
    );
  });

  describe("files that cannot be used", () => {
    let fixture: CapturedFixture;

    before(async () => {
      await live.deployMocks();
      ({ fixture } = await capture(live, { orders: [1n] }));
    });

    const orders = (changes: object): object => {
      const { 1: first } = Object.assign({ 1: {} }, fixture["orders"]);
      return { orders: { 1: first, 2: { ...first, ...changes } } };
    };

    const expectInvalid = async (file: string, text: RegExp): Promise<void> => {
      const { shortMessage } = await expectVaultError(
        replay.deployMocks({ fixture: file }),
        "VAULT_INVALID_FIXTURE",
      );
      expect(shortMessage).to.match(text);
    };

    it("deployMocks() refuses each with VAULT_INVALID_FIXTURE", async () => {
      const round = (changes: object): object => ({
        round: Object.assign({}, fixture["round"], changes),
      });
      const own = (key: string): object => Object.fromEntries([[key, {}]]);
      const invalid: ReadonlyArray<readonly [object, RegExp]> = [
        [{ version: 2 }, /version/u],
        [{ format: undefined, name: "package" }, /format/u],
        [{ pools: {} }, /pools\.public/u],
        [{ volume: undefined }, /volume/u],
        [{ extra: 1 }, /extra/u],
        [round({ APY: 2 ** 60 }), /round\.APY/u],
        [round({ APY: "-5" }), /round\.APY/u],
        [round({ APY: `${MAX + 1n}` }), /round\.APY is not a whole number/u],
        [round({ settled: "no" }), /round\.settled/u],
        [round({ price: "1" }), /round.*price/u],
        [{ orders: own("one") }, /An order's id is not a whole number/u],
        [{ orders: own("01") }, /An order's id is not a whole number/u],
        [{ orders: own(`${MAX + 1n}`) }, /An order's id is not a whole/u],
        [{ orders: own("__proto__") }, /orders\.__proto__|An order's id/u],
        [orders(own("__proto__")), /orders\.2: .*__proto__/u],
        [orders({ number: undefined }), /orders\.2: number is missing/u],
        [orders({ number: "" }), /orders\.2\.number is not a whole number/u],
        [orders({ state: 256 }), /orders\.2\.state is not a whole number/u],
        [orders({ exType: 1 }), /exType/u],
        [
          orders({ exType: { bytes: "0x1" } }),
          /fixture\.json.*orders\.2\.exType: a text, or its bytes/u,
        ],
        [
          { volume: { error: { revertData: "1" } } },
          /volume\.error\.revertData: data is not 0x hex/u,
        ],
      ];
      for (const [content, text] of invalid) {
        const file = await save({ ...fixture, ...content });
        await expectInvalid(file, text);
      }
      await expectInvalid(await save([fixture]), /object/u);
      await expectInvalid(
        path.join(folder, "absent"),
        /there is no such file/u,
      );
      await expectInvalid(folder, /it is a folder/u);
      const file = await save(fixture);
      await writeFile(file, (await readFile(file)).subarray(9));
      await expectInvalid(file, /it is not JSON/u);
    });

    it("deployMocks() refuses a scenario and a fixture together with VAULT_INVALID_ARGUMENT", async () => {
      await expectVaultError(
        replay.deployMocks({
          scenario: "extremes",
          fixture: await save(fixture),
        }),
        "VAULT_INVALID_ARGUMENT",
      );
    });
  });
});

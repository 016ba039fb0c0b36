import { readFile } from "node:fs/promises";
import path from "node:path";

import { expect } from "chai";
import { Transaction, toQuantity } from "ethers";
import type { HttpNetworkUserConfig } from "hardhat/types/config";

import type {
  SettleAllOptions,
  Settlement,
  SettlementEvent,
} from "../../src/types.js";
import { forbiddenBy, raiseFees } from "../../src/settlement/replace.js";
import { fieldsOf } from "../helpers/fields.js";
import { openLaneWithNode, startCase } from "../helpers/settlement-lane.js";
import type { LaneWithNode } from "../helpers/settlement-lane.js";
import { expectVaultError } from "../helpers/assertions.js";

const SEND = "eth_sendRawTransaction";
const GWEI = 1_000_000_000n;

describe("fees of a replacement", () => {
  for (const [title, old, asked, raised] of [
    [
      "both fees are an eighth more, rounded up",
      { maxFeePerGas: 1_001n, maxPriorityFeePerGas: 1n },
      { maxFeePerGas: 0n, maxPriorityFeePerGas: 0n },
      { maxFeePerGas: 1_127n, maxPriorityFeePerGas: 2n },
    ],
    [
      "both fees are what the node asks if that is more",
      { maxFeePerGas: 1_000n, maxPriorityFeePerGas: 10n },
      { maxFeePerGas: 5_000n, maxPriorityFeePerGas: 50n },
      { maxFeePerGas: 5_000n, maxPriorityFeePerGas: 50n },
    ],
    [
      "the whole fee is never below the tip",
      { maxFeePerGas: 8n, maxPriorityFeePerGas: 8n },
      { maxFeePerGas: 0n, maxPriorityFeePerGas: 50n },
      { maxFeePerGas: 50n, maxPriorityFeePerGas: 50n },
    ],
    [
      "a tip of nothing rises, too",
      { maxFeePerGas: 8n, maxPriorityFeePerGas: 0n },
      { maxFeePerGas: 0n, maxPriorityFeePerGas: 0n },
      { maxFeePerGas: 9n, maxPriorityFeePerGas: 1n },
    ],
    [
      "a gas price stays a gas price",
      { gasPrice: 9n },
      { gasPrice: 1n },
      { gasPrice: 11n },
    ],
    [
      "the whole fee is at least a gas price that the node asks for by now",
      { maxFeePerGas: 8n, maxPriorityFeePerGas: 8n },
      { gasPrice: 500n },
      { maxFeePerGas: 500n, maxPriorityFeePerGas: 9n },
    ],
    [
      "a gas price is at least the whole fee that the node asks for by now",
      { gasPrice: 9n },
      { maxFeePerGas: 500n, maxPriorityFeePerGas: 1n },
      { gasPrice: 500n },
    ],
  ] as const) {
    it(title, () => {
      expect(raiseFees(old, asked)).to.deep.equal(raised);
    });
  }

  for (const [title, fees, name] of [
    [
      "a tip above its limit",
      { maxFeePerGas: 9n, maxPriorityFeePerGas: 6n },
      "t",
    ],
    [
      "a fee above its limit",
      { maxFeePerGas: 11n, maxPriorityFeePerGas: 1n },
      "f",
    ],
    ["a gas price above the limit", { gasPrice: 11n }, "f"],
  ] as const) {
    it(`${title} is forbidden, and the limit named`, () => {
      const limits = {
        maxFeePerGas: { wei: 10n, setting: "f" },
        maxPriorityFeePerGas: { wei: 5n, setting: "t" },
      };
      expect(forbiddenBy(fees, limits)).to.include(`${name} allows`);
    });
  }
  it("fees at their limits are allowed", () => {
    expect(
      forbiddenBy(
        { maxFeePerGas: 10n, maxPriorityFeePerGas: 5n },
        {
          maxFeePerGas: { wei: 10n, setting: "f" },
          maxPriorityFeePerGas: { wei: 5n, setting: "t" },
        },
      ),
    ).to.equal(undefined);
  });
});

describe("a settlement that is stuck in the pool of anvil", () => {
  let lane: LaneWithNode;
  let events: SettlementEvent[];

  before(async () => {
    lane = await openLaneWithNode();
  });
  beforeEach(async () => {
    events = [];
    await automine(true);
    await startCase(lane);
    await automine(false);
  });
  after(async () => {
    await lane.close();
  });

  const automine = async (isOn: boolean): Promise<void> => {
    await lane.world.provider.send("evm_setAutomine", [isOn]);
  };
  const settle = async (
    options: SettleAllOptions,
    settings?: Partial<HttpNetworkUserConfig>,
  ): Promise<Settlement> => {
    const vault =
      settings === undefined ? lane.vault : await lane.connect(settings);
    return await vault.settleAll({
      pollingInterval: 20,
      timeout: 4_000,
      onEvent: (event) => {
        events.push(event);
      },
      ...options,
    });
  };
  const resume = async (
    more: SettleAllOptions = {},
    settings?: Partial<HttpNetworkUserConfig>,
  ): Promise<Settlement> => await settle({ resume: true, ...more }, settings);
  const stuck = async (
    settings?: Partial<HttpNetworkUserConfig>,
  ): Promise<Settlement> => {
    const sent = await settle({ timeout: 1_500 }, settings);
    expect(sent.status).to.equal("unconfirmed");
    return sent;
  };
  const ofVault = (
    more: Readonly<Record<string, unknown>>,
  ): Partial<HttpNetworkUserConfig> => ({
    vault: { contracts: lane.world.contracts, ...more },
  });
  const sentBytes = (): Transaction[] =>
    lane.server.requests
      .filter(({ method }) => method === SEND)
      .map(({ params }) => Transaction.from(String(params[0])));
  const replacements = (): number =>
    events.filter(({ type }) => type === "replacing").length;
  const logged = async (): Promise<readonly unknown[]> => {
    const file = "vault-deployments/settlements.ndjson";
    const text = await readFile(path.join(lane.project.path, file), "utf8");
    return text
      .trimEnd()
      .split("\n")
      .map((line) => fieldsOf(JSON.parse(line)));
  };

  it("settle raises its fees by itself after the time of the settings, and so often; the last is what is mined", async () => {
    const unconfirmed = await settle(
      { timeout: 20_000 },
      ofVault({
        ...{ timeBeforeBumpingFees: 100, maxFeeBumps: 2 },
        maxFeePerGasLimit: 10n ** 15n,
      }),
    );
    expect(unconfirmed.status).to.equal("unconfirmed");
    expect(replacements()).to.equal(2);
    const all = sentBytes();
    expect(all.map(({ hash }) => hash)).to.deep.equal(unconfirmed.hashes);
    expect(new Set(all.map(({ nonce }) => nonce)).size).to.equal(1);
    expect(new Set(all.map(({ data, to }) => `${to} ${data}`)).size).to.equal(
      1,
    );
    for (const [index, { maxFeePerGas, maxPriorityFeePerGas }] of all
      .slice(1)
      .entries()) {
      const old = all[index];
      expect(Number(maxFeePerGas)).to.be.at.least(
        Number(old?.maxFeePerGas) * 1.125,
      );
      expect(Number(maxPriorityFeePerGas)).to.be.at.least(
        Number(old?.maxPriorityFeePerGas) * 1.125,
      );
    }
    await lane.world.mine();
    expect(await resume()).to.deep.include({
      status: "settled",
      hash: unconfirmed.hashes[2],
      hashes: unconfirmed.hashes,
    });
  });

  it("settle never raises its fees where that is not configured", async () => {
    await stuck();
    expect(replacements()).to.equal(0);
  });

  it("resume raises no fee by itself, whatever the settings say", async () => {
    await stuck();
    const seen = await resume(
      {},
      ofVault({ timeBeforeBumpingFees: 1, maxFeePerGasLimit: 10n ** 15n }),
    );
    expect(seen.status).to.equal("unconfirmed");
    expect(replacements()).to.equal(0);
  });

  it("resume with bump sends the same call at a higher fee; what is mined counts", async () => {
    const { hash } = await stuck();
    const bumped = await resume({ bump: true });
    expect(bumped.status).to.equal("unconfirmed");
    expect(bumped.hashes).to.have.length(2);
    expect(bumped.hashes[0]).to.equal(hash);
    const [old, raised] = sentBytes();
    expect([raised?.to, raised?.data, raised?.nonce]).to.deep.equal([
      old?.to,
      old?.data,
      old?.nonce,
    ]);
    await lane.world.mine();
    expect(await resume()).to.include({
      status: "settled",
      hash: raised?.hash,
    });
    expect((await lane.world.round()).settled).to.equal(true);
  });

  it("resume with bump raises a gas price", async () => {
    await stuck({ gasPrice: Number(10n * GWEI) });
    await resume({ bump: true });
    const [old, raised] = sentBytes();
    expect([old?.type, raised?.type]).to.deep.equal([0, 0]);
    expect(raised?.gasPrice).to.equal(((old?.gasPrice ?? 0n) * 9n) / 8n);
  });

  it("resume with bump sends nothing above a limit, and names it", async () => {
    await stuck();
    const { status, reason, hashes } = await resume(
      { bump: true },
      ofVault({ maxFeePerGasLimit: 1n }),
    );
    expect(status).to.equal("unconfirmed");
    expect(reason).to.match(
      /not replaced at a higher fee: it would need a maxFeePerGas of \d+ wei, and networks\.live\.vault\.maxFeePerGasLimit allows 1 wei/u,
    );
    expect(hashes).to.have.length(1);
    expect(sentBytes()).to.have.length(1);
  });

  it("resume with bump offers the limit if that is below the node's price with its reserve for later blocks", async () => {
    const { provider } = lane.world;
    await provider.send("anvil_setNextBlockBaseFeePerGas", [
      toQuantity(50n * GWEI),
    ]);
    await lane.world.mine();
    await stuck(ofVault({ maxFeePerGasLimit: 60n * GWEI }));
    await resume({ bump: true }, ofVault({ maxFeePerGasLimit: 70n * GWEI }));
    expect(
      sentBytes().map(({ maxFeePerGas }) => maxFeePerGas),
      String(
        events.flatMap((event) =>
          event.type === "trouble" ? event.message : [],
        ),
      ),
    ).to.deep.equal([60n * GWEI, 70n * GWEI]);
  });

  it("resume with bump sends nothing if the round changed", async () => {
    await stuck();
    const { provider } = lane.world;
    // The block of the next round leaves the stuck transaction out.
    await provider.send("anvil_setBalance", [lane.settler, "0x0"]);
    await automine(true);
    await lane.world.openNextRound();
    await automine(false);
    await provider.send("anvil_setBalance", [
      lane.settler,
      `0x${(10n ** 22n).toString(16)}`,
    ]);
    const { reason } = await resume({ bump: true });
    expect(reason).to.include("The round changed");
    expect(sentBytes()).to.have.length(1);
  });

  it("resume with cancel uses the nonce, so that the settlement is cancelled, and the log has it", async () => {
    const { hash } = await stuck();
    const under = await resume({ cancel: true });
    expect(under.status).to.equal("unconfirmed");
    await lane.world.mine();
    const cancelled = await resume();
    expect(cancelled).to.deep.include({
      status: "cancelled",
      hash: under.hashes[1],
      hashes: [hash, under.hashes[1]],
    });
    const [, last] = sentBytes();
    expect([last?.to, last?.value, last?.data]).to.deep.equal([
      lane.settler,
      0n,
      "0x",
    ]);
    expect((await lane.world.round()).settled).to.equal(false);
    expect((await logged()).at(-1)).to.nested.include({
      network: "live",
      chainId: 31_337,
      vault: lane.world.contracts.vault,
      instance: null,
      "settlement.status": "cancelled",
      "settlement.hash": cancelled.hash,
    });
    // The next one may begin.
    await automine(true);
    expect(await settle({ timeout: 10_000 })).to.include({ status: "settled" });
  });

  it("resume with cancel is settled if the settlement was mined first", async () => {
    const { hash } = await stuck();
    await lane.world.mine();
    expect(await resume({ cancel: true })).to.include({
      status: "settled",
      hash,
    });
    expect(sentBytes()).to.have.length(1);
  });

  it("resume sends a replacement that the journal has and the node never got", async () => {
    const { hash } = await stuck();
    lane.server.inject({
      method: SEND,
      occurrence: 1,
      kind: "drop before forwarding",
    });
    const interrupted = await resume({ cancel: true, timeout: 2_000 });
    expect(interrupted.hashes).to.have.length(2);
    lane.server.reset();
    await resume({ timeout: 2_000 });
    await lane.world.mine();
    expect(await resume()).to.deep.include({
      status: "cancelled",
      hashes: [hash, interrupted.hashes[1]],
    });
  });

  it("resume refuses with VAULT_CANNOT_REPLACE, and keeps the journal, without signed bytes", async () => {
    lane.server.hide("eth_signTransaction");
    const { hash } = await stuck({ accounts: "remote" });
    for (const request of [{ bump: true }, { cancel: true }]) {
      expect(await resume(request)).to.include({
        status: "refused",
        code: "VAULT_CANNOT_REPLACE",
        hash,
      });
    }
    await lane.world.mine();
    expect(await resume()).to.include({ status: "settled", hash });
  });

  it("settle sends once without signed bytes, also if a gateway answers HTTP status 429", async () => {
    lane.server.hide("eth_signTransaction");
    const method = "eth_sendTransaction";
    lane.server.inject({ method, occurrence: 0, kind: "429 with Retry-After" });
    const { status } = await settle({}, { accounts: "remote" });
    const sends = lane.server.requests.filter((one) => one.method === method);
    expect([status, sends.length]).to.eql(["unconfirmed", 1]);
  });

  it("bump and cancel exclude each other, and need resume", async () => {
    for (const options of [
      { bump: true },
      { cancel: true },
      { bump: true, resumeFirst: true },
      { bump: true, cancel: true, resume: true },
    ] as const) {
      const { message } = await expectVaultError(
        lane.vault.settleAll(options),
        "VAULT_INVALID_ARGUMENT",
      );
      expect(message).to.match(/resume: true|excludes/u);
    }
  });

  const giveUp = async (): Promise<void> => {
    for (let occurrence = 0; occurrence < 5; occurrence += 1) {
      lane.server.inject({
        method: SEND,
        occurrence,
        kind: "JSON-RPC refusal",
      });
    }
    expect(await settle({ timeout: 10_000 })).to.include({ status: "refused" });
  };

  it("a settlement that was given up after a refused send can be cancelled while its nonce is free", async () => {
    await giveUp();
    await automine(true);
    expect(await resume({ cancel: true, timeout: 10_000 })).to.include({
      status: "cancelled",
    });
  });

  it("the same account settles again after a refused send", async () => {
    await giveUp();
    lane.server.reset();
    await automine(true);
    expect(await settle({ timeout: 10_000 })).to.include({ status: "settled" });
  });
});

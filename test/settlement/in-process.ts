import { expect } from "chai";
import type { HardhatUserConfig } from "hardhat/types/config";
import type { NetworkConnection } from "hardhat/types/network";

import type { MockVaultHandle } from "../../src/mocks/index.js";
import type { SettlementPreflight } from "../../src/settlement/types.js";
import { createTestHre } from "../helpers/hre.js";

describe("settleAll in process", () => {
  let connection: NetworkConnection;
  let mocks: MockVaultHandle;

  const open = async (userConfig: HardhatUserConfig = {}): Promise<void> => {
    const hre = await createTestHre(userConfig);
    connection = await hre.network.create();
    mocks = await connection.vault.deployMocks();
  };
  beforeEach(async () => {
    await open();
  });
  afterEach(async () => {
    await connection.close();
  });

  it("should settle with the first account and ask nobody", async () => {
    const { vault, ethers } = connection;

    const settlement = await vault.settleAll();

    const [first] = await ethers.getSigners();
    const [recorded] = await mocks.settlements();
    expect(settlement).to.include({ status: "settled", reason: null });
    expect(settlement.before?.settled).to.equal(false);
    expect(settlement.after).to.deep.equal(await vault.getLatestRoundInfo());
    expect(settlement.blockNumber).to.equal(
      await ethers.provider.getBlockNumber(),
    );
    expect(settlement.gasUsed).to.equal(
      (await ethers.provider.getTransactionReceipt(settlement.hash ?? ""))
        ?.gasUsed,
    );
    expect(recorded?.caller).to.equal(first?.address);
  });

  it("settleAll simulates on the network itself before it asks, undoes that, and compares afterwards", async () => {
    const { vault, provider } = connection;
    const blocks = async (): Promise<unknown> =>
      await provider.request({ method: "eth_blockNumber" });
    const before = await blocks();
    const seen: unknown[] = [];

    const { status, preview } = await vault.settleAll({
      confirm: async ({ preview: shown }) => {
        seen.push(
          shown?.engine,
          shown?.changes.find(({ field }) => field === "settledPrice")?.after,
          await blocks(),
        );
        return true;
      },
    });

    expect(seen).to.deep.equal(["in-process", 66_250n * 10n ** 18n, before]);
    expect(status).to.equal("settled");
    expect(preview?.differences).to.deep.equal([]);
  });

  it("settleAll leaves fees to Hardhat, asks for the pending nonce alone, and keeps no journal", async () => {
    const { vault, provider } = connection;
    const asked: Array<{ method: string; params: readonly unknown[] }> = [];
    const request = provider.request.bind(provider);
    provider.request = async (args): Promise<unknown> => {
      // A copy: Hardhat fills in what is missing in the very object.
      const params: unknown = structuredClone(args.params);
      asked.push({
        method: args.method,
        params: Array.isArray(params) ? params : [],
      });
      return await request(args);
    };

    await vault.settleAll();

    // The simulation sends one, too, and undoes it: ours is the last.
    const [sent] =
      asked.findLast(({ method }) => method === "eth_sendTransaction")
        ?.params ?? [];
    expect(sent).to.have.keys([
      "from",
      "to",
      "data",
      "value",
      "chainId",
      "nonce",
      "gas",
    ]);
    expect(
      asked
        .filter(({ method }) => method === "eth_getTransactionCount")
        .map(({ params: [, tag] }) => tag),
    ).to.deep.equal(["pending"]);
    expect(asked.map(({ method }) => method)).not.to.include(
      "eth_signTransaction",
    );
  });

  it("should take a signer, an address or an impersonated account", async () => {
    const { vault, ethers, provider } = connection;
    const [, second, third] = await ethers.getSigners();
    const stranger = "0x00000000000000000000000000000000000A11cE";
    await provider.request({
      method: "hardhat_impersonateAccount",
      params: [stranger],
    });
    await provider.request({
      method: "hardhat_setBalance",
      params: [stranger, "0xde0b6b3a7640000"],
    });

    for (const from of [second, third?.address, stranger]) {
      const { status, reason } = await vault.settleAll({ from });
      expect(status, String(reason)).to.equal("settled");
      await mocks.startNextRound();
    }

    expect((await mocks.settlements()).map(({ caller }) => caller)).to.eql([
      second?.address,
      third?.address,
      stranger,
    ]);
  });

  const reverts = [
    ["a string", "not yet", "not yet"],
    ["no data", { data: "0x" }, "no reason given"],
  ] as const;
  for (const [name, scripted, expected] of reverts) {
    it(`should say why the contract refuses: ${name}`, async () => {
      await mocks.fail("settleAll", scripted);
      const preflights: SettlementPreflight[] = [];

      const settlement = await connection.vault.settleAll({
        onEvent: (event) => {
          if (event.type === "preflight") {
            preflights.push(event.preflight);
          }
        },
      });

      expect(settlement).to.include({ status: "reverted", hash: null });
      expect(settlement.reason).to.include(expected);
      expect(preflights).to.have.length(1);
      expect(preflights[0]).to.include({ outcome: "reverts", gas: null });
      expect(await mocks.settlements()).to.deep.equal([]);
    });
  }

  it("should be unconfirmed, hash and all, where nobody mines", async () => {
    const { vault, provider } = connection;
    await provider.request({ method: "evm_setAutomine", params: [false] });

    const settlement = await vault.settleAll({ timeout: 2_000 });

    expect(settlement).to.include({ status: "unconfirmed", blockNumber: null });
    expect(settlement.hash).to.match(/^0x[0-9a-f]{64}$/u);
    expect(settlement.reason).to.include("it waits in the node's pool");
    await provider.request({ method: "evm_mine", params: [] });
    expect((await vault.getLatestRoundInfo()).settled).to.equal(true);
  });

  it("should not care what a listener does", async () => {
    const settlement = await connection.vault.settleAll({
      onEvent: () => {
        throw new Error("the listener's own problem");
      },
    });

    expect(settlement.status).to.equal("settled");
  });

  it("should have nothing to resume: there is no journal", async () => {
    expect(await connection.vault.settleAll({ resume: true })).to.include({
      status: "refused",
    });
  });
});

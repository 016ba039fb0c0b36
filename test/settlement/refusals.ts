import { expect } from "chai";
import { Wallet } from "ethers";
import { configVariable } from "hardhat/config";
import type { HttpNetworkUserConfig } from "hardhat/types/config";

import { buildSettlement } from "../../src/settlement/calldata.js";
import type { SettleAllOptions } from "../../src/settlement/types.js";
import { expectVaultError } from "../helpers/assertions.js";
import { STATE_OVERRIDES } from "../helpers/faulty-rpc-server.js";
import { openLaneWithNode } from "../helpers/settlement-lane.js";
import type { LaneWithNode } from "../helpers/settlement-lane.js";
import { DEV_KEYS, DEV_MNEMONIC } from "../helpers/world.js";
import { mined } from "../helpers/transactions.js";

describe("when a settlement is refused", () => {
  let lane: LaneWithNode;
  let restore: () => Promise<void>;

  before(async () => {
    lane = await openLaneWithNode();
    restore = await lane.world.checkpoint();
  });
  beforeEach(async () => {
    lane.server.reset();
    await lane.removeJournals();
  });
  afterEach(async () => {
    // Whatever the reason: nothing was sent.
    const methods = lane.server.requests.map(({ method }) => method);
    expect(methods).not.to.include("eth_sendRawTransaction");
    expect(methods).not.to.include("eth_sendTransaction");
    expect(await lane.world.settlers()).to.deep.equal([]);
    await lane.world.provider.send("anvil_dropAllTransactions", []);
    await restore();
  });
  after(async () => {
    await lane.close();
  });

  const expectRefused = async (
    settings: Partial<HttpNetworkUserConfig>,
    options: SettleAllOptions = {},
  ): Promise<string> => {
    const vault = await lane.connect(settings);
    const settlement = await vault.settleAll({
      pollingInterval: 20,
      ...options,
    });
    expect(settlement.code).to.match(/^VAULT_/u);
    expect(settlement, settlement.reason ?? "").to.include({
      status: "refused",
      hash: null,
      blockNumber: null,
      gasUsed: null,
      after: null,
    });
    return settlement.reason ?? "";
  };

  it("settle refuses an unknown --from with VAULT_UNKNOWN_SIGNER and names the known accounts", async () => {
    const stranger = Wallet.createRandom().address;
    const { code } = await lane.vault.settleAll({ from: stranger });
    expect(code).to.equal("VAULT_UNKNOWN_SIGNER");

    expect(await expectRefused({ accounts: "remote" }, { from: stranger }))
      .to.include(stranger)
      .and.include(lane.settler);
    expect(await expectRefused({}, { from: stranger }))
      .to.include(stranger)
      .and.include(lane.settler);
  });

  for (const settings of [
    { gas: 60_000 },
    { gas: 22_000 },
    { gas: 20_000 },
    { gasMultiplier: 0.5 },
  ]) {
    it(`refuses ${JSON.stringify(settings)}, less than the simulation used, before the question`, async () => {
      const vault = await lane.connect(settings);
      const settlement = await vault.settleAll({
        confirm: async () => await Promise.reject(new Error("asked")),
      });
      expect(settlement).to.include({
        status: "refused",
        code: "VAULT_GAS_LIMIT_TOO_LOW",
      });
      expect(settlement.reason).to.include(
        "Raise `gas` or `gasMultiplier` in networks.live",
      );
    });
  }

  it("should keep the reason that the contract gives, before sending", async () => {
    await mined(
      await lane.world.vault.setRevert(
        "0xa015aefe",
        // Error(string) with an escape sequence in it, as a hostile vault may.
        `0x08c379a0${"20".padStart(64, "0")}${"4".padStart(64, "0")}${"1b5b326a".padEnd(64, "0")}`,
      ),
    );

    const settlement = await lane.vault.settleAll();

    expect(settlement).to.include({
      status: "reverted",
      code: "VAULT_CALL_REVERTED",
      reason: "\u001b[2j",
      hash: null,
    });
  });

  for (const [how, hidden] of [
    ["a simulation", []],
    ["a call", ["eth_simulateV1", STATE_OVERRIDES]],
  ] as const) {
    it(`should not send to a contract that cannot settle, seen by ${how}`, async () => {
      lane.server.hide(...hidden);
      const { vaultFactory } = lane.world.contracts;
      const vault = (await lane.connect({})).at({
        ...lane.world.contracts,
        vault: vaultFactory,
      });

      const settlement = await vault.settleAll({ from: lane.settler });

      lane.server.show();
      expect(settlement).to.include({
        status: "reverted",
        code: "VAULT_CALL_REVERTED",
        hash: null,
      });
      expect(settlement.reason).to.match(
        /^no reason given\. .*check the address, which comes from at\(\)/u,
      );
    });
  }

  it("should refuse an address without code", async () => {
    const empty = Wallet.createRandom().address;

    const { message } = await expectVaultError(
      lane.vault.at({ vault: empty }).settleAll(),
      "VAULT_NO_CODE",
    );

    expect(message).to.include(empty).and.include("at()");
  });

  for (const [name, value] of [
    ["is not set", undefined],
    ["is not a key", "0x1234567890"],
  ] as const) {
    it(`should name a configuration variable that ${name}, not its value`, async () => {
      if (value !== undefined) {
        process.env["VAULT_TEST_KEY"] = value;
      }
      try {
        const vault = await lane.connect({
          accounts: [configVariable("VAULT_TEST_KEY")],
        });

        const error = await expectVaultError(
          vault.settleAll(),
          value === undefined ? "VAULT_CONFIG_VARIABLE" : "VAULT_INVALID_KEY",
        );

        expect(JSON.stringify([error.message, error.details])).not.to.include(
          "1234567890",
        );
      } finally {
        delete process.env["VAULT_TEST_KEY"];
      }
    });
  }

  it("settle throws VAULT_INVALID_KEY, without its words, for a wrong checksum", async () => {
    const mnemonic = DEV_MNEMONIC.replace(/junk$/u, "test");
    const vault = await lane.connect({ accounts: { mnemonic } });

    const { message, details } = await expectVaultError(
      vault.settleAll(),
      "VAULT_INVALID_KEY",
    );

    expect(message).to.include("networks.live.accounts.mnemonic");
    expect(JSON.stringify([message, details])).not.to.include("test test");
  });

  it("should have no estimate for what reverts, and an error for anything else", async () => {
    const vault = await lane.connect({ gas: 777_777 });
    lane.server.inject({
      method: "eth_estimateGas",
      occurrence: 0,
      kind: "JSON-RPC refusal",
    });
    await expectVaultError(
      buildSettlement(vault, lane.settler),
      "VAULT_RPC_ERROR",
    );

    await lane.world.vault.setRevert("0xa015aefe", "0x12345678");
    expect((await buildSettlement(vault, lane.settler)).estimatedGas).to.equal(
      null,
    );
  });

  it("should build nothing for a chain that is not the configured one", async () => {
    await expectVaultError(
      buildSettlement(await lane.connect({ chainId: 1 })),
      "VAULT_WRONG_CHAIN",
    );
  });

  it("buildSettlement needs no other address than the vault's", async () => {
    const { vault: address } = lane.world.contracts;
    const contracts = { vault: address };
    const vault = await lane.connect({ vault: { contracts } });
    expect((await buildSettlement(vault)).to).to.equal(address);
  });

  it("should take a key from a configuration variable", async () => {
    process.env["VAULT_TEST_KEY"] = DEV_KEYS[1];
    try {
      const vault = await lane.connect({
        accounts: [configVariable("VAULT_TEST_KEY")],
      });
      let from;

      await vault.settleAll({
        confirm: async (preflight) => {
          ({ from } = preflight);
          return await Promise.resolve("only looking");
        },
      });

      expect(from).to.equal(new Wallet(DEV_KEYS[1]).address);
    } finally {
      delete process.env["VAULT_TEST_KEY"];
    }
  });
});

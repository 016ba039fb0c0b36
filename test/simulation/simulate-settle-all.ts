import { expect } from "chai";
import { ZeroAddress } from "ethers";
import { configVariable } from "hardhat/config";

import { encodeRevertData } from "../../src/mocks/failure.js";
import type { HardhatVault } from "../../src/types.js";
import { startAnvil } from "../helpers/anvil.js";
import { expectVaultError } from "../helpers/assertions.js";
import {
  burnsGas,
  failsFromBlock,
  failsInvalid,
  paysItsCaller,
  refusesCode,
} from "../helpers/bytecode.js";
import type { ServerProcess } from "../helpers/child-process.js";
import { fieldsOf } from "../helpers/fields.js";
import { connectTo } from "../helpers/hre.js";
import type { NetworkSettings } from "../helpers/hre.js";
import {
  SETTLEMENT_CHANGES,
  deployProtocol,
  directProvider,
} from "../helpers/world.js";
import type { MockProtocol } from "../helpers/world.js";
import { startRpcServer } from "../helpers/rpc-server.js";
import { deploySettlingVault } from "../helpers/settling-vaults.js";
import type { RpcHandler, RpcServer } from "../helpers/rpc-server.js";
import { simulateToShow, simulate } from "../../tasks/simulate.js";
import { renderText } from "../../tasks/output/render-text.js";
import { createStyle } from "../../tasks/output/style.js";

/** Of anvil's development accounts. */
const FIRST_ACCOUNT = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266";
const SECOND_ACCOUNT = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8";
const SECOND_KEY =
  "0x59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d";
const NOBODY = "0x00000000000000000000000000000000000000AA";

const ROUND_END = 2_000_000_000;

const readMethods = [
  "eth_accounts",
  "eth_blockNumber",
  "eth_call",
  "eth_chainId",
  "eth_getBalance",
  "eth_getBlockByNumber",
  "eth_getCode",
  "eth_getStorageAt",
  "eth_getTransactionCount",
  "eth_maxPriorityFeePerGas",
  "net_version",
];

describe("simulation - simulateSettleAll on a fork", () => {
  let anvil: ServerProcess;
  let server: RpcServer;
  let provider: ReturnType<typeof directProvider>;
  let protocol: MockProtocol;
  let checkpoint: unknown;

  before(async () => {
    anvil = await startAnvil();
    provider = directProvider(anvil.url);
    protocol = await deployProtocol(
      await provider.getSigner(2),
      BigInt(ROUND_END),
    );
    server = await startRpcServer({ upstream: anvil.url });
  });

  after(async () => {
    provider.destroy();
    await server.stop();
    await anvil.stop();
  });

  beforeEach(async () => {
    checkpoint = await provider.send("evm_snapshot", []);
    server.requests.length = 0;
    server.handler = () => undefined;
  });

  afterEach(async () => {
    await provider.send("evm_revert", [checkpoint]);
  });

  async function open(
    settings: NetworkSettings = {},
    url = anvil.url,
  ): Promise<HardhatVault> {
    const { vault } = await connectTo(url, {
      vault: { contracts: protocol.contracts },
      ...settings,
    });
    return vault;
  }

  /** The same, with every request recorded. */
  async function openRecorded(
    settings: NetworkSettings = {},
  ): Promise<HardhatVault> {
    return await open(settings, server.url);
  }

  async function setCode(address: string, code: string): Promise<void> {
    await provider.send("anvil_setCode", [address, code]);
  }

  it("should report what a settlement changes, and send nothing", async () => {
    const vault = await openRecorded();
    const head = await vault.block();
    const nonce = await provider.getTransactionCount(FIRST_ACCOUNT);
    const simulation = await vault.simulateSettleAll({ engine: "fork" });
    const { gasUsed, block, balances, notes, ...rest } = simulation;
    expect(notes.join(" ")).to.contain("Hardhat's EVM");
    expect(rest).to.deep.equal({
      status: "settled",
      code: null,
      reason: null,
      engine: "fork",
      transfers: [],
      changes: SETTLEMENT_CHANGES,
    });
    expect(block?.number).to.equal(head.number + 1);
    expect(Number(gasUsed)).to.be.within(50_000, 500_000);
    // Only the sender's balance changes, and by the gas.
    const [paid, ...others] = balances;
    expect(others).to.deep.equal([]);
    expect(paid).to.include({ account: FIRST_ACCOUNT, token: "native" });
    expect(paid?.before).to.equal(await provider.getBalance(FIRST_ACCOUNT));
    const cost = (paid?.before ?? 0n) - (paid?.after ?? 0n);
    expect(cost % (gasUsed ?? 0n)).to.equal(0n);

    const methods = new Set(server.requests.map(({ method }) => method));
    expect(readMethods).to.include.members([...methods]);
    expect(server.requests.length).to.be.greaterThan(20);
    expect(await vault.block()).to.deep.equal(head);
    expect(await provider.getTransactionCount(FIRST_ACCOUNT)).to.equal(nonce);
    expect((await vault.getLatestRoundInfo()).settled).to.equal(false);
  });

  it("should read tokens as everything else, not as one of the node's accounts", async () => {
    server.handler = ({ request: { method, params } }) =>
      method === "eth_accounts" || (method === "eth_call" && params.length > 2)
        ? { error: { code: -32_602, message: "not here" } }
        : undefined;
    const signer = await provider.getSigner(0);
    const { token, contracts } = await deploySettlingVault(
      signer,
      "PayingVault",
    );
    const address = await token.getAddress();
    const { tokens } = await simulateToShow(
      await openRecorded({ vault: { contracts } }),
      { engine: "fork", as: NOBODY, tokens: [address] },
    );
    expect(tokens.get(address)).to.deep.equal({ symbol: "TST", decimals: 6 });
    const callers = server.requests.flatMap(({ method, params }) =>
      method === "eth_call" ? [fieldsOf(params[0])["from"]] : [],
    );
    expect(new Set(callers)).to.deep.equal(new Set([ZeroAddress, NOBODY]));
  });

  it("should do nothing where the round is settled already", async () => {
    await (await protocol.mocks.vault.settleAll()).wait();
    const vault = await open();
    for (const engine of ["simulateV1", "call", "fork"] as const) {
      expect(await vault.simulateSettleAll({ engine })).to.deep.equal({
        status: "nothing-to-do",
        code: null,
        reason: "the round is settled already",
        engine,
        gasUsed: null,
        block: null,
        changes: [],
        balances: [],
        transfers: [],
        notes: [],
      });
    }
  });

  it("should refuse with VAULT_ENGINE_UNAVAILABLE to execute a panic code of more than 64 bits, at which the simulator ends the process", async () => {
    const { vault: mock } = protocol.mocks;
    await (
      await mock.setRevert(
        mock.settleAll.fragment.selector,
        encodeRevertData({ panic: 2n ** 256n - 1n }),
      )
    ).wait();
    const { message } = await expectVaultError(
      (await open()).simulateSettleAll({ engine: "fork" }),
      "VAULT_ENGINE_UNAVAILABLE",
    );
    expect(message).to.match(/panic 0xf{64}/u);
  });

  it("should name an invalid instruction", async () => {
    await setCode(protocol.contracts.vault, failsInvalid);
    const { status, reason } = await (
      await open()
    ).simulateSettleAll({ engine: "fork" });
    expect({ status, reason }).to.deep.equal({
      status: "reverted",
      reason: "invalid opcode: INVALID",
    });
  });

  describe("gas", () => {
    it("should run out of what it is given", async () => {
      for (const [configured, options] of [
        [{}, { gas: 60_000 }],
        [{ gas: 60_000 }, {}],
      ] as const) {
        const simulation = await (
          await open(configured)
        ).simulateSettleAll({ engine: "fork", ...options });
        expect(simulation).to.deep.include({
          status: "reverted",
          code: "VAULT_OUT_OF_GAS",
          gasUsed: 60_000n,
        });
        expect(simulation.reason).to.match(
          /^out of gas: .* 60000 .*`gas` of simulateSettleAll/u,
        );
      }
    });

    it("should have no limit that the chain has not, unless a hardfork is chosen", async () => {
      await setCode(protocol.contracts.vault, burnsGas(20_000_000));
      const vault = await open();
      const free = await vault.simulateSettleAll({ engine: "fork" });
      // It burns gas, and settles nothing.
      expect(free).to.include({
        status: "not-settled",
        code: "VAULT_NOT_SETTLED",
      });
      expect(Number(free.gasUsed)).to.be.greaterThan(19_000_000);
      expect(free.notes.join(" ")).to.contain("EIP-7825");
      const capped = await vault.simulateSettleAll({ hardfork: "osaka" });
      expect(capped).to.include({
        status: "reverted",
        code: "VAULT_OUT_OF_GAS",
        gasUsed: 16_777_216n,
      });
      expect(capped.reason).to.match(/^out of gas: .*16777216.*prague/u);
      const prague = await vault.simulateSettleAll({ hardfork: "prague" });
      expect(prague.status).to.equal("not-settled");
    });

    it("should have no more than a block of the upstream", async () => {
      await setCode(protocol.contracts.vault, burnsGas(6_000_000));
      await provider.send("evm_setBlockGasLimit", ["0x4c4b40"]);
      await provider.send("evm_mine", []);
      const { status, gasUsed } = await (
        await open()
      ).simulateSettleAll({ engine: "fork" });
      expect({ status, gasUsed }).to.deep.equal({
        status: "reverted",
        gasUsed: 5_000_000n,
      });
    });
  });

  describe("the sender", () => {
    const senderOf = async (
      vault: HardhatVault,
      as?: string,
    ): Promise<string | undefined> =>
      (await vault.simulateSettleAll({ engine: "fork", as })).balances[0]
        ?.account;

    it("should be the network's from, before its first account", async () => {
      expect(await senderOf(await open({ from: NOBODY }))).to.equal(NOBODY);
      expect(await senderOf(await open())).to.equal(FIRST_ACCOUNT);
      expect(await senderOf(await open({ accounts: [SECOND_KEY] }))).to.equal(
        SECOND_ACCOUNT,
      );
    });

    it("should be anybody, also who has nothing", async () => {
      const vault = await open();
      const { status, balances } = await vault.simulateSettleAll({
        engine: "fork",
        as: NOBODY,
      });
      expect(status).to.equal("settled");
      // Given on the fork what gas costs, and so counted from the beginning.
      expect(balances[0]?.account).to.equal(NOBODY);
      expect(balances[0]?.after).to.satisfy(
        (after: bigint) => after < (balances[0]?.before ?? 0n),
      );
      expect(await provider.getBalance(NOBODY)).to.equal(0n);
    });

    it("should show its own balance where that pays for the gas", async () => {
      // Less than the gas limit may cost, more than what is used.
      const balance = 10n ** 15n * 2n;
      await provider.send("anvil_setBalance", [
        NOBODY,
        `0x${balance.toString(16)}`,
      ]);
      const { balances } = await (
        await open()
      ).simulateSettleAll({ engine: "fork", as: NOBODY });
      expect(balances[0]?.before).to.equal(balance);
      expect(balances[0]?.after).to.satisfy(
        (after: bigint) => after > 0n && after < balance,
      );
    });

    it("should be a contract, such as a multisig", async () => {
      await setCode(NOBODY, paysItsCaller);
      expect(await senderOf(await open(), NOBODY)).to.equal(NOBODY);
    });

    it("should be asked for where the node has no accounts", async () => {
      for (const reply of [
        { result: [] },
        { error: { code: -32601, message: "method not found" } },
      ]) {
        server.handler = ({ request }) =>
          request.method === "eth_accounts" ? reply : undefined;
        const vault = await openRecorded();
        const error = await expectVaultError(
          vault.simulateSettleAll({ engine: "fork" }),
          "VAULT_NO_SENDER",
        );
        expect(error.fix).to.contain("the option `as`");
        expect(
          (await vault.simulateSettleAll({ engine: "fork", as: NOBODY }))
            .status,
        ).to.equal("settled");
      }
    });

    it("should be refused if it is no address", async () => {
      const vault = await openRecorded();
      await expectVaultError(
        vault.simulateSettleAll({ engine: "fork", as: "0x12" }),
        "VAULT_INVALID_ADDRESS",
      );
      expect(server.requests).to.deep.equal([]);
    });
  });

  describe("time", () => {
    const timeOf = async (
      atTime?: string | number | bigint,
    ): Promise<number | undefined> =>
      (await (await open()).simulateSettleAll({ engine: "fork", atTime })).block
        ?.timestamp;

    it("should be the round's end, its last second", async () => {
      expect(await timeOf("end")).to.equal(ROUND_END);
    });

    it("should be a date, a span from the chain's clock, or seconds", async () => {
      const { timestamp } = await (await open()).block();
      expect(await timeOf("+1h")).to.equal(timestamp + 3_600);
      expect(await timeOf("2040-01-01T00:00:00Z")).to.equal(
        Date.UTC(2040, 0, 1) / 1000,
      );
      expect(await timeOf(2_222_222_222)).to.equal(2_222_222_222);
      expect(await timeOf(2_222_222_222n)).to.equal(2_222_222_222);
    });

    it("should be the node's own where none is given", async () => {
      // A node whose clock was moved stays where it is.
      await provider.send("evm_setNextBlockTimestamp", [3_000_000_000]);
      await provider.send("evm_mine", []);
      expect(await timeOf()).to.be.within(3_000_000_000, 3_000_000_100);
    });

    it("should be the node's own where the round has ended", async () => {
      await provider.send("evm_setNextBlockTimestamp", [ROUND_END + 10]);
      await provider.send("evm_mine", []);
      expect(await timeOf("end")).to.be.within(ROUND_END + 10, ROUND_END + 100);
    });

    it("should not be in the past", async () => {
      const vault = await open();
      const { timestamp } = await vault.block();
      for (const atTime of ["2020-01-01", timestamp, timestamp - 1, "+0s"]) {
        const error = await expectVaultError(
          vault.simulateSettleAll({ engine: "fork", atTime }),
          "VAULT_TIME_IN_PAST",
        );
        expect(error.details["where"]).to.equal("atTime");
      }
    });

    it("should be a time, and one that a block can have", async () => {
      const vault = await open();
      for (const atTime of ["soon", -1, 1.5, 2n ** 64n]) {
        await expectVaultError(
          vault.simulateSettleAll({ engine: "fork", atTime }),
          "VAULT_INVALID_TIME",
        );
      }
    });

    it("should not be the end of a round that cannot be read", async () => {
      const vault = await open({
        vault: { contracts: { vault: protocol.contracts.vault } },
      });
      await expectVaultError(
        vault.simulateSettleAll({ engine: "fork", atTime: "end" }),
        "VAULT_INVALID_ARGUMENT",
      );
      // It is not needed otherwise.
      expect(
        (await vault.simulateSettleAll({ engine: "fork" })).status,
      ).to.equal("settled");
    });
  });

  describe("changes and balances", () => {
    it("should tell of a reading that fails afterwards", async () => {
      const vault = await open();
      const { number } = await vault.block();
      await setCode(
        protocol.contracts.underlyingAsset,
        failsFromBlock(number + 1),
      );
      const { changes } = await vault.simulateSettleAll({ engine: "fork" });
      expect(changes).to.deep.include({
        reading: "fundingFeeRate.put",
        field: "error",
        before: null,
        after: "VAULT_CALL_REVERTED",
      });
    });

    it("should read by itself what refuses a caller with code", async () => {
      const vault = await open();
      const { number } = await vault.block();
      await setCode(protocol.contracts.underlyingAsset, refusesCode);
      const { changes } = await vault.simulateSettleAll({ engine: "fork" });
      expect(changes).to.deep.include({
        reading: "fundingFeeRate.put",
        field: "fundingFeeRate",
        before: BigInt(number),
        after: BigInt(number + 1),
      });
    });

    it("should refuse a token that is none", async () => {
      const vault = await open();
      for (const token of [NOBODY, protocol.contracts.vault]) {
        const error = await expectVaultError(
          vault.simulateSettleAll({ engine: "fork", tokens: [token] }),
          "VAULT_NOT_A_TOKEN",
        );
        expect(error.details["token"]).to.equal(token);
      }
      await expectVaultError(
        vault.simulateSettleAll({ engine: "fork", tokens: ["0x12"] }),
        "VAULT_INVALID_ADDRESS",
      );
      await expectVaultError(
        vault.simulateSettleAll({ engine: "fork", orders: [-1] }),
        "VAULT_INVALID_INTEGER",
      );
    });
  });

  describe("refusals", () => {
    it("should find an address without code, with every engine", async () => {
      const vault = (await open()).at({ vault: NOBODY });
      for (const engine of ["simulateV1", "call", "fork"] as const) {
        const { details } = await expectVaultError(
          vault.simulateSettleAll({ engine }),
          "VAULT_NO_CODE",
        );
        expect(details).to.include({
          address: NOBODY,
          contract: "vault",
          network: "live",
          source: "at()",
        });
      }
    });

    it("should name an address that cannot be read, by every engine and before a settlement", async () => {
      const trading = configVariable("TEST_UNSET_TRADING");
      const vault = await open({
        vault: { contracts: { ...protocol.contracts, trading } },
      });
      for (const [name, work] of [
        ["simulateV1", () => vault.simulateSettleAll({ engine: "simulateV1" })],
        ["call", () => vault.simulateSettleAll({ engine: "call" })],
        ["fork", () => vault.simulateSettleAll({ engine: "fork" })],
        ["any", () => vault.simulateSettleAll({ orders: [1, 2, 7] })],
        [
          "settle",
          () =>
            vault.settleAll({
              confirm: async () => await Promise.resolve(true),
            }),
        ],
      ] as const) {
        const { message } = await expectVaultError(
          work,
          "VAULT_CONFIG_VARIABLE",
        );
        expect(message, name).to.contain(
          "networks.live.vault.contracts.trading",
        );
      }
    });

    it("should tell of orders that it could not read, and not count them", async () => {
      const { vault: settling, vaultFactory } = protocol.contracts;
      const contracts = { vault: settling, vaultFactory };
      const vault = await open({ vault: { contracts } });
      for (const engine of ["simulateV1", "call", "fork"] as const) {
        const report = await simulate(vault, { orders: [1, 2, 7, 7], engine });
        const note = "Of 3 orders that were asked about, 3 could not be read.";
        const shown = renderText(report.blocks, createStyle({}));
        expect(shown, engine).to.contain(note);
        expect(shown, engine).not.to.contain("none changes");
      }
    });

    for (const [name, methods] of [
      ["any state", ["eth_getCode", "eth_call", "eth_getStorageAt"]],
      // Some nodes answer code from another database than storage.
      ["storage", ["eth_getStorageAt"]],
    ] as const) {
      it(`should ask for an archive node where ${name} of an old block is gone`, async () => {
        const refusing: RpcHandler = ({ request }) =>
          methods.some((method) => method === request.method)
            ? {
                error: {
                  code: -32000,
                  message: "missing trie node 4f3c (path ) <nil>",
                },
              }
            : undefined;
        const vault = await openRecorded();
        const { number } = await vault.block();
        server.handler = refusing;
        const error = await expectVaultError(
          vault.simulateSettleAll({ engine: "fork", blockNumber: number - 1 }),
          "VAULT_ARCHIVE_NODE_NEEDED",
        );
        expect(error.message).to.contain("archive node");
        expect(error.message).to.contain("missing trie node");
        expect(error.details["block"]).to.equal(number - 1);
      });
    }
  });
});

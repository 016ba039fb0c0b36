import { expect } from "chai";
import { toQuantity } from "ethers";
import { configVariable } from "hardhat/config";

import { encodeRevertData } from "../../../src/mocks/index.js";
import type { HardhatVault } from "../../../src/types.js";
import { useAnvil } from "../../helpers/anvil.js";
import { expectVaultError } from "../../helpers/assertions.js";
import {
  burnsGas,
  failsInvalid,
  paysItsCaller,
  balanceForAccounts,
} from "../../helpers/bytecode.js";
import { fieldsOf } from "../../helpers/fields.js";
import { deployTestGuard } from "../../helpers/guard.js";
import { startHardhatNode } from "../../helpers/hardhat-node.js";
import { connectTo } from "../../helpers/hre.js";
import type { NetworkSettings } from "../../helpers/hre.js";
import { FIRST, NOBODY, SECOND } from "../../helpers/names.js";
import {
  SETTLEMENT_CHANGES,
  deployProtocol,
  directProvider,
} from "../../helpers/world.js";
import type { MockProtocol } from "../../helpers/world.js";
import { startRpcServer } from "../../helpers/rpc-server.js";
import type { RpcReply, RpcServer } from "../../helpers/rpc-server.js";
import { mined } from "../../helpers/transactions.js";

/** Of anvil's development accounts. */
const SECOND_KEY =
  "0x59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d";

const readMethods = [
  "anvil_nodeInfo",
  "eth_accounts",
  "eth_blockNumber",
  "eth_call",
  "eth_chainId",
  "eth_createAccessList",
  "eth_getBalance",
  "eth_getBlockByNumber",
  "eth_getCode",
  "eth_getStorageAt",
  "eth_getTransactionCount",
  "eth_maxPriorityFeePerGas",
  "hardhat_metadata",
  "net_version",
];

describe("simulateSettleAll with the engine fork", () => {
  const anvil = useAnvil();
  let server: RpcServer;
  let provider: ReturnType<typeof directProvider>;
  let protocol: MockProtocol;
  let checkpoint: unknown;

  before(async () => {
    provider = directProvider(anvil.url);
    protocol = await deployProtocol(
      await provider.getSigner(2),
      2_000_000_000n,
    );
    server = await startRpcServer({ upstream: anvil.url });
  });

  after(async () => {
    provider.destroy();
    await server.stop();
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

  it("fork sends nothing, and only reads from the node", async () => {
    const vault = await openRecorded();
    const { engine, notes } = await vault.simulateSettleAll({ engine: "fork" });
    expect({ engine, notes }).to.deep.equal({ engine: "fork", notes: [] });
    const methods = new Set(server.requests.map(({ method }) => method));
    expect(readMethods).to.include.members([...methods]);
    expect(server.requests.length).to.be.greaterThan(20);
  });

  it("fork refuses a panic code of more than 64 bits, at which the simulator ends the process: VAULT_ENGINE_UNAVAILABLE", async () => {
    const { vault: mock } = protocol.mocks;
    await mined(
      await mock.setRevert(
        mock.settleAll.fragment.selector,
        encodeRevertData({ panic: 2n ** 256n - 1n }),
      ),
    );
    const { message } = await expectVaultError(
      (await open()).simulateSettleAll({ engine: "fork" }),
      "VAULT_ENGINE_UNAVAILABLE",
    );
    expect(message).to.match(/unknown panic code 0xf{64}/u);
  });

  it("fork simulates on hardhat node, in the node's next block: VAULT_ENGINE_UNAVAILABLE with simulateV1", async () => {
    const node = await startHardhatNode();
    const direct = directProvider(node.url);
    try {
      const { contracts } = await deployProtocol(await direct.getSigner(0));
      const vault = await open({ vault: { contracts } }, node.url);
      const head = await vault.block();
      await direct.send("evm_increaseTime", [1_000]);
      const simulation = await vault.simulateSettleAll();
      expect(simulation).to.deep.include({
        status: "settled",
        engine: "fork",
        changes: SETTLEMENT_CHANGES,
      });
      expect(simulation.block?.number).to.equal(head.number + 1);
      expect(simulation.block?.timestamp).to.be.within(
        head.timestamp + 1_000,
        head.timestamp + 1_300,
      );
      await expectVaultError(
        vault.simulateSettleAll({ engine: "simulateV1" }),
        "VAULT_ENGINE_UNAVAILABLE",
      );
    } finally {
      direct.destroy();
      await node.stop();
    }
  });

  it("fork is used if the node takes no overrides, and every call that tries the settlement names its gas", async () => {
    server.handler = ({ request: { method, params } }) =>
      method === "eth_simulateV1" ||
      (method === "eth_call" && params.length > 2)
        ? { error: { code: -32_602, message: "too many arguments" } }
        : undefined;
    const vault = await openRecorded();
    const { engine } = await vault.simulateSettleAll();
    expect(engine).to.equal("fork");
    const { status } = await vault.settleAll({
      confirm: async () => await Promise.resolve("no"),
    });
    expect(status).to.equal("refused");
    const limits = server.requests.flatMap(({ method, params }) => {
      const { data, gas } = fieldsOf(params[0]);
      return method === "eth_call" && data === "0xa015aefe"
        ? [Number(gas)]
        : [];
    });
    expect(Math.min(...limits)).to.be.at.least(30_000_000);
    expect(limits).to.not.deep.equal([]);
  });

  it("fork asks the node for its own verdict on the block that it starts from, with the gas of the settlement", async () => {
    const vault = await openRecorded();
    const { number } = await vault.block();
    const asked = { engine: "fork", gas: 1_000_000 } as const;
    const older = { ...asked, blockNumber: number - 1 };
    for (const [options, base] of [
      [asked, number],
      [older, number - 1],
    ] as const) {
      server.requests.length = 0;
      const { block } = await vault.simulateSettleAll(options);
      expect(block?.number).to.equal(base + 1);
      const verdicts = server.requests
        .filter(({ method }) => method === "eth_call")
        .map(({ params }) => [fieldsOf(params[0]), params[1]] as const)
        .filter(([{ data }]) => data === "0xa015aefe")
        .map(([{ gas }, at]) => [Number(gas), Number(at)]);
      expect(verdicts).to.deep.equal([[1_000_000, base]]);
    }
  });

  const burns20M = burnsGas(20_000_000);
  for (const [title, code, hardfork, expected, says] of [
    [
      "an invalid instruction",
      failsInvalid,
      undefined,
      { status: "reverted" },
      /^invalid opcode, as of an assert/u,
    ],
    [
      "20 million gas without a cap of the chain",
      burns20M,
      undefined,
      // It burns gas, and settles nothing.
      { status: "not-settled", code: "VAULT_NOT_SETTLED" },
      /It uses 2\d{7} gas, .*EIP-7825/u,
    ],
    [
      "20 million gas by the rules of osaka",
      burns20M,
      "osaka",
      { status: "reverted", code: "VAULT_OUT_OF_GAS", gasUsed: 16_777_216n },
      /^out of gas: .*16777216.*prague/u,
    ],
    [
      "more gas than a block of the node has",
      burnsGas(40_000_000),
      undefined,
      { status: "reverted", gasUsed: 30_000_000n },
      /^out of gas/u,
    ],
  ] as const) {
    it(`fork reports ${expected.status} for ${title}`, async () => {
      await setCode(protocol.contracts.vault, code);
      const vault = await open();
      const simulation = await vault.simulateSettleAll({
        ...(hardfork === undefined ? { engine: "fork" } : { hardfork }),
      });
      expect(simulation).to.include({ engine: "fork", ...expected });
      const { reason, notes } = simulation;
      expect([reason, ...notes].join(" ")).to.match(says);
    });
  }

  it("fork settles as the sender that is given, also a contract, else as the network's from, else as its first account", async () => {
    await provider.send("anvil_setBalance", [NOBODY, toQuantity(10n ** 18n)]);
    const senders: ReadonlyArray<
      readonly [
        settings: NetworkSettings,
        from: string | undefined,
        account: string | undefined,
      ]
    > = [
      [{ from: NOBODY }, undefined, NOBODY],
      [{ accounts: [SECOND_KEY] }, undefined, SECOND],
      [{}, undefined, FIRST],
      [{}, protocol.contracts.trading, undefined],
    ];
    for (const [settings, from, account] of senders) {
      const vault = await open(settings);
      const { balances, status } = await vault.simulateSettleAll({
        ...{ engine: "fork", from },
      });
      expect(status).to.equal("settled");
      expect(balances[0]?.account).to.equal(account);
    }
  });

  /** Answers calls of the settlement, which the simulator then executes itself. */
  const answerSettlement = (answer: RpcReply): void => {
    server.handler = ({ request: { method, params } }) =>
      method === "eth_call" && fieldsOf(params[0])["data"] === "0xa015aefe"
        ? answer
        : undefined;
  };
  const reverted = { code: 3, message: "execution reverted", data: "0x" };
  for (const [title, isRefusedHere, answer, says] of [
    [
      "refuses the call that the node accepts",
      true,
      { result: "0x" },
      /in block \d+ the node accepts the call, and Hardhat's simulator refuses it \(no\)/u,
    ],
    [
      "accepts the call that the node refuses",
      false,
      { error: reverted },
      /in block \d+ the node refuses it \(no reason given\), and Hardhat's simulator accepts the call/u,
    ],
  ] as const) {
    it(`fork is no engine if it ${title}, unless its rules are chosen: VAULT_ENGINE_UNAVAILABLE`, async () => {
      if (isRefusedHere) {
        const { vault: mock } = protocol.mocks;
        const { selector } = mock.settleAll.fragment;
        await mined(await mock.setRevert(selector, encodeRevertData("no")));
      }
      answerSettlement(answer);
      const vault = await openRecorded();
      const { message } = await expectVaultError(
        vault.simulateSettleAll({ engine: "fork" }),
        "VAULT_ENGINE_UNAVAILABLE",
      );
      expect(message).to.match(says);
      const chosen = await vault.simulateSettleAll({ hardfork: "prague" });
      expect(chosen.status).to.equal(isRefusedHere ? "reverted" : "settled");
    });
  }

  it("fork predicts by itself if the node does not finish a call of the settlement", async () => {
    const message = "execution aborted (timeout = 5s)";
    answerSettlement({ error: { code: -32_000, message } });
    const vault = await openRecorded();
    const { status } = await vault.simulateSettleAll({ engine: "fork" });
    expect(status).to.equal("settled");
  });

  it("fork starts from the balances of the chain, also of accounts that Hardhat has", async () => {
    const funds = 123n * 10n ** 18n;
    await provider.send("anvil_setBalance", [FIRST, toQuantity(funds)]);
    const { balances } = await (
      await open()
    ).simulateSettleAll({ engine: "fork", from: FIRST });
    expect(balances[0]).to.include({ account: FIRST, before: funds });
  });

  it("fork settles as an account that has less than its gas limit may cost, and lists its fee", async () => {
    const balance = 10n ** 15n * 2n;
    await provider.send("anvil_setBalance", [NOBODY, toQuantity(balance)]);
    const vault = await open();
    const { status, balances } = await vault.simulateSettleAll({
      ...{ engine: "fork", from: NOBODY },
    });
    expect(status).to.equal("settled");
    const [paid] = balances;
    expect(paid).to.include({ account: NOBODY });
    expect(String(paid?.before)).to.equal(String(balance));
    expect(Number(paid?.after)).to.be.below(Number(paid?.before));
    expect(String(await provider.getBalance(NOBODY))).to.equal(String(balance));
  });

  it("fork reads by itself a contract that refuses a caller with code, and the fee changes no reading", async () => {
    const code = balanceForAccounts(FIRST);
    await setCode(protocol.contracts.underlyingAsset, code);
    await setCode(protocol.contracts.vault, paysItsCaller);
    const paid = 10n ** 18n;
    const funds = [protocol.contracts.vault, toQuantity(paid)];
    await provider.send("anvil_setBalance", funds);
    const vault = await open();
    const { changes } = await vault.simulateSettleAll({ engine: "fork" });
    const found = changes.find(
      ({ reading }) => reading === "fundingFeeRate.put",
    );
    expect(found?.field).to.equal("fundingFeeRate");
    const balance = await provider.getBalance(FIRST);
    expect(found?.before).to.equal(balance);
    expect(found?.after).to.equal(balance + paid);
  });

  it("simulateSettleAll and settleAll name an address that cannot be read: VAULT_CONFIG_VARIABLE", async () => {
    const trading = configVariable("TEST_UNSET_TRADING");
    const vault = await open({
      vault: { contracts: { ...protocol.contracts, trading } },
    });
    const confirm = async (): Promise<true> => await Promise.resolve(true);
    for (const work of [
      async () => await vault.simulateSettleAll({ engine: "fork" }),
      async () => await vault.simulateSettleAll({ orders: [1, 2, 7] }),
      async () => await vault.settleAll({ confirm }),
    ]) {
      const { message } = await expectVaultError(work, "VAULT_CONFIG_VARIABLE");
      expect(message).to.contain("networks.live.vault.contracts.trading");
    }
  });

  it("fork passes on why the simulator refuses the transaction, on the newest block and on an old one: VAULT_RPC_ERROR", async () => {
    const vault = await open();
    const { number } = await vault.block();
    for (const blockNumber of [undefined, number - 1]) {
      const { details } = await expectVaultError(
        vault.simulateSettleAll({ engine: "fork", blockNumber, gas: 100 }),
        "VAULT_RPC_ERROR",
      );
      expect(details["problem"]).to.match(/requires at least/u);
    }
  });

  describe("on the state of a past block", () => {
    /** A vault, and a block before the newest. */
    async function openInPast(
      settings: { readonly guard?: string } = {},
    ): Promise<{ readonly vault: HardhatVault; readonly blockNumber: number }> {
      await provider.send("anvil_mine", ["0x2"]);
      const vault = await openRecorded({
        vault: { contracts: protocol.contracts, ...settings },
      });
      return { vault, blockNumber: (await vault.block()).number - 1 };
    }

    /** Refuses these methods at that block, as a node that has pruned its state. */
    async function prune(
      blockNumber: number,
      methods: readonly string[],
    ): Promise<void> {
      const number = toQuantity(blockNumber);
      const { hash } = fieldsOf(
        await provider.send("eth_getBlockByNumber", [number, false]),
      );
      const message = "missing trie node 4f3c (path ) <nil>";
      server.handler = ({ request: { method, params } }) => {
        const isThere = params.some(
          (param) => param === number || fieldsOf(param)["blockHash"] === hash,
        );
        return methods.includes(method) && isThere
          ? { error: { code: -32_000, message } }
          : undefined;
      };
    }

    const readsOfState = [
      "eth_call",
      "eth_getBalance",
      "eth_getCode",
      "eth_getStorageAt",
      "eth_getTransactionCount",
      "eth_simulateV1",
    ];
    for (const [state, refused, asked] of [
      ["any state", readsOfState, { engine: "fork" }],
      // Some nodes answer code from another database than storage.
      ["storage", ["eth_getStorageAt"], { engine: "fork" }],
      // The settlement is not called then, only executed.
      ["storage", ["eth_getStorageAt"], { hardfork: "prague" }],
    ] as const) {
      it(`fork with ${Object.keys(asked).join()} asks for an archive node if ${state} of an old block is gone: VAULT_ARCHIVE_NODE_NEEDED`, async () => {
        const { vault, blockNumber } = await openInPast();
        await prune(blockNumber, refused);
        const error = await expectVaultError(
          vault.simulateSettleAll({ ...asked, blockNumber }),
          "VAULT_ARCHIVE_NODE_NEEDED",
        );
        expect(error.message).to.contain("archive node");
        expect(error.message).to.contain("missing trie node");
        expect(error.details["block"]).to.equal(blockNumber);
      });
    }

    it("simulateSettleAll asks for an archive node if a guard's code at an old block is gone: VAULT_ARCHIVE_NODE_NEEDED", async () => {
      const guard = await deployTestGuard(await provider.getSigner(2));
      const { vault, blockNumber } = await openInPast({ guard });
      await prune(blockNumber, readsOfState);
      const error = await expectVaultError(
        vault.simulateSettleAll({ blockNumber }),
        "VAULT_ARCHIVE_NODE_NEEDED",
      );
      expect(error.details["block"]).to.equal(blockNumber);
    });

    for (const message of [
      "out of gas",
      "execution aborted (timeout = 5s)",
    ] as const) {
      it(`fork asks for no archive node if the settlement is too much for a call of the node: ${message}`, async () => {
        const { vault, blockNumber } = await openInPast();
        const burns = burnsGas(40_000_000);
        await setCode(protocol.contracts.vault, burns);
        await provider.send("anvil_mine", ["0x2"]);
        server.handler = ({ request: { method, params } }) =>
          method === "eth_call" && fieldsOf(params[0])["data"] === "0xa015aefe"
            ? { error: { code: -32_000, message } }
            : undefined;
        const simulation = await vault.simulateSettleAll({
          engine: "fork",
          blockNumber: blockNumber + 2,
        });
        expect(simulation).to.include({
          status: "reverted",
          code: "VAULT_OUT_OF_GAS",
        });
      });
    }
  });
});

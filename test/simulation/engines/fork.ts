import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";

import { expect } from "chai";
import { toQuantity } from "ethers";

import { deployMocks } from "../../../src/mocks/index.js";
import type { HardhatVault } from "../../../src/types.js";
import { expectVaultError } from "../../helpers/assertions.js";
import { balanceForAccounts, burnsGas } from "../../helpers/bytecode.js";
import { fetchProvider } from "../../helpers/fetch-provider.js";
import { fieldsOf } from "../../helpers/fields.js";
import { deployTestGuard } from "../../helpers/guard.js";
import { startHardhatNode } from "../../helpers/hardhat-node.js";
import { connectTo } from "../../helpers/hre.js";
import { FIRST } from "../../helpers/names.js";
import { startRpcServer } from "../../helpers/rpc-server.js";
import type {
  RecordedRequest,
  RpcReply,
  RpcServer,
} from "../../helpers/rpc-server.js";
import {
  SETTLEMENT_CHANGES,
  openMocks,
  useMocks,
} from "../../helpers/world.js";

/** Sends all that it has to whoever calls. */
const PAYS_ITS_CALLER = "0x5f5f5f5f47335af100";

const callsSettlement = ({ method, params }: RecordedRequest): boolean =>
  method === "eth_call" && fieldsOf(params[0])["data"] === "0xa015aefe";

describe("simulateSettleAll with the engine fork", () => {
  const chain = useMocks();
  let server: RpcServer;

  before(async () => {
    server = await startRpcServer({ upstream: chain.url });
  });
  after(async () => {
    await server.stop();
  });
  beforeEach(() => {
    server.clear();
    server.handler = () => undefined;
  });

  /** The vault, with every request recorded. */
  const open = async (
    settings: object = {},
    contracts: object = chain.mocks.addresses,
  ): Promise<HardhatVault> =>
    (await connectTo(server.url, { vault: { contracts, ...settings } })).vault;

  const set = async (
    what: "Code" | "Balance",
    address: string,
    value: string,
  ): Promise<void> => {
    await chain.provider.send(`anvil_set${what}`, [address, value]);
  };
  /** Answers calls of the settlement, which the simulator then executes itself. */
  const answerSettlement = (answer: RpcReply): void => {
    server.handler = ({ request }) =>
      callsSettlement(request) ? answer : undefined;
  };

  it("fork sends nothing, and only reads from the node", async () => {
    const vault = await open();
    const { engine, notes } = await vault.simulateSettleAll({ engine: "fork" });
    expect({ engine, notes }).to.deep.equal({ engine: "fork", notes: [] });
    for (const { method } of server.requests) {
      expect(method).to.match(
        /^(?:eth_(?!send|sign|sub)|net_version$|anvil_nodeInfo$|hardhat_metadata$)/u,
      );
    }
    expect(server.requests.length).to.be.greaterThan(20);
  });

  it("fork refuses a panic code of more than 64 bits, at which the simulator ends the process: VAULT_ENGINE_UNAVAILABLE", async () => {
    await chain.mocks.fail("settleAll", { panic: 2n ** 256n - 1n });
    const { message } = await expectVaultError(
      (await open()).simulateSettleAll({ engine: "fork" }),
      "VAULT_ENGINE_UNAVAILABLE",
    );
    expect(message).to.include("ends the process at a panic code");
  });

  it("fork simulates on hardhat node, in the node's next block", async () => {
    const node = await startHardhatNode();
    const direct = fetchProvider(node.url);
    try {
      const { addresses: contracts } = await deployMocks(direct, {
        overrides: openMocks,
      });
      const { vault } = await connectTo(node.url, { vault: { contracts } });
      const head = await vault.block();
      await direct.request({ method: "evm_increaseTime", params: [1_000] });
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
    } finally {
      await node.stop();
    }
  });

  it("fork asks the node for its own verdict on the block that it starts from, with the gas of the settlement", async () => {
    const vault = await open();
    const { number } = await vault.block();
    const asked = { engine: "fork", gas: 1_000_000 } as const;
    for (const [options, base] of [
      [asked, number],
      [{ ...asked, blockNumber: number - 1 }, number - 1],
    ] as const) {
      server.clear();
      const { block } = await vault.simulateSettleAll(options);
      expect(block?.number).to.equal(base + 1);
      const verdicts = server.requests
        .filter(callsSettlement)
        .map(({ params: [call, at] }) => [
          Number(fieldsOf(call)["gas"]),
          Number(at),
        ]);
      expect(verdicts).to.deep.equal([[1_000_000, base]]);
    }
  });

  for (const [title, options, expected, says] of [
    [
      "by the rules of osaka",
      { hardfork: "osaka" },
      { status: "reverted", code: "VAULT_OUT_OF_GAS", gasUsed: 16_777_216n },
      /^out of gas: .*16777216.* simulate with an older hardfork/u,
    ],
    [
      "of a chain that may have no cap",
      { engine: "fork" },
      { status: "not-settled", code: "VAULT_WOULD_NOT_SETTLE" },
      /EIP-7825/u,
    ],
  ] as const) {
    it(`fork reports ${expected.status} for 20 million gas ${title}`, async () => {
      await set("Code", chain.mocks.addresses.vault, burnsGas(20_000_000));
      const vault = await open();
      const simulation = await vault.simulateSettleAll(options);
      expect(simulation).to.include({ engine: "fork", ...expected });
      const { reason, notes } = simulation;
      expect([reason, ...notes].join(" ")).to.match(says);
    });
  }

  it("fork settles by the rules of berlin, which has no base fee", async () => {
    const vault = await open();
    const simulation = await vault.simulateSettleAll({ hardfork: "berlin" });
    expect(simulation).to.include({ engine: "fork", status: "settled" });
  });

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
        await chain.mocks.fail("settleAll", "no");
      }
      answerSettlement(answer);
      const vault = await open();
      const { message } = await expectVaultError(
        vault.simulateSettleAll({ engine: "fork" }),
        "VAULT_ENGINE_UNAVAILABLE",
      );
      expect(message).to.match(says);
      const chosen = await vault.simulateSettleAll({ hardfork: "prague" });
      expect(chosen.status).to.equal(isRefusedHere ? "reverted" : "settled");
    });
  }

  it("fork reads by itself a contract that refuses a caller with code, and the fee is in a reading of the sender's balance", async () => {
    const { underlyingAsset, vault: address } = chain.mocks.addresses;
    await set("Code", underlyingAsset, balanceForAccounts(FIRST));
    await set("Code", address, PAYS_ITS_CALLER);
    const paid = 10n ** 18n;
    await set("Balance", address, toQuantity(paid));
    const vault = await open();
    const { changes, balances } = await vault.simulateSettleAll({
      engine: "fork",
    });
    const balance = await chain.provider.getBalance(FIRST);
    const after =
      balances.find(({ account }) => account === FIRST)?.after ?? 0n;
    expect(after < balance + paid && after > balance).to.equal(true);
    expect(changes).to.deep.include({
      ...{ reading: "fundingFeeRate.put", field: "fundingFeeRate" },
      ...{ before: balance, after },
    });
  });

  describe("on the state of a past block", () => {
    /** A vault, and a block before the newest. */
    async function openInPast(
      settings?: object,
    ): Promise<{ readonly vault: HardhatVault; readonly blockNumber: number }> {
      await chain.provider.send("anvil_mine", ["0x2"]);
      const vault = await open(settings);
      return { vault, blockNumber: (await vault.block()).number - 1 };
    }

    /** Refuses these methods at that block, as a node that has pruned its state. */
    async function prune(
      blockNumber: number,
      methods: readonly string[],
    ): Promise<void> {
      const number = toQuantity(blockNumber);
      const { hash } = fieldsOf(
        await chain.provider.send("eth_getBlockByNumber", [number, false]),
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
      ...["eth_call", "eth_getBalance", "eth_getCode", "eth_getStorageAt"],
      ...["eth_getTransactionCount", "eth_simulateV1"],
    ];
    for (const [state, refused, asked, isGuarded] of [
      ["any state", readsOfState, { engine: "fork" }, false],
      ["a guard's code", readsOfState, {}, true],
    ] as const) {
      it(`simulateSettleAll(${JSON.stringify(asked)}) asks for an archive node if ${state} of an old block is gone: VAULT_ARCHIVE_NODE_NEEDED`, async () => {
        const deployer = await chain.provider.getSigner(2);
        const { vault, blockNumber } = await openInPast(
          isGuarded ? { guard: await deployTestGuard(deployer) } : {},
        );
        await prune(blockNumber, refused);
        const { message, details } = await expectVaultError(
          vault.simulateSettleAll({ ...asked, blockNumber }),
          "VAULT_ARCHIVE_NODE_NEEDED",
        );
        expect(message).to.contain("missing trie node");
        expect(details["block"]).to.equal(blockNumber);
      });
    }
  });

  /** Runs with a temporary folder of its own. @returns What is left in it. */
  const leftBy = async (run: () => Promise<void>): Promise<string[]> => {
    const { TMPDIR } = process.env;
    const folder = await mkdtemp(path.join(tmpdir(), "vault-left-"));
    process.env["TMPDIR"] = folder;
    try {
      await run();
      // At once: the process of a task ends then.
      return await readdir(folder);
    } finally {
      if (TMPDIR === undefined) {
        delete process.env["TMPDIR"];
      } else {
        process.env["TMPDIR"] = TMPDIR;
      }
      await rm(folder, { recursive: true });
    }
  };

  it("leaves no temporary folder when it has simulated", async () => {
    const vault = await open();
    const left = await leftBy(async () => {
      const { status } = await vault.simulateSettleAll({ engine: "fork" });
      expect(status).to.equal("settled");
    });
    expect(left).to.deep.equal([]);
  });

  for (const [when, slow] of [
    ["waits for a request of its own", "eth_getStorageAt"],
    ["is not made yet", "net_version"],
  ] as const) {
    it(`leaves no temporary folder if the deadline comes while the fork ${when}, and the node never answers`, async () => {
      server.handler = ({ request: { method } }) =>
        method === slow ? "handled" : undefined;
      const vault = await open();
      const left = await leftBy(async () => {
        await expectVaultError(
          vault.simulateSettleAll({ engine: "fork", timeout: 500 }),
          "VAULT_RPC_TIMEOUT",
        );
      });
      expect(left).to.deep.equal([]);
    });
  }
});

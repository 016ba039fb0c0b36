import { existsSync } from "node:fs";
import { mkdtemp, readFile, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";

import { expect } from "chai";
import { Interface, toQuantity } from "ethers";

import { vaultError } from "../../src/errors.js";
import { settleAll } from "../../src/settlement/settle-all.js";
import type { Ended } from "../../src/settlement/report.js";
import type {
  SettleAllOptions,
  SettlementEvent,
  SettlementPreflight,
} from "../../src/settlement/types.js";
import { expectVaultError } from "../helpers/assertions.js";
import type { BareHost } from "../helpers/bare-host.js";
import { fieldsOf, listOf } from "../helpers/fields.js";
import {
  KEY,
  ScriptedNode,
  OPEN_ROUND,
  SETTLER,
  VAULT,
  nextRound,
  settledRound,
} from "../helpers/scripted-node.js";

const GENESIS = `0x${"ee".repeat(32)}`;
const key = { getHexString: async () => await Promise.resolve(KEY) };
const NOT_YET = new Interface(["error Error(string)"]).encodeErrorResult(
  "Error",
  ["not yet"],
);
const SENDS = ["eth_sendRawTransaction", "eth_sendTransaction"];

describe("the outcomes of a settlement", () => {
  let projectRoot: string;
  let chain: ScriptedNode;
  let events: SettlementEvent[];

  before(async () => {
    projectRoot = await mkdtemp(path.join(tmpdir(), "hardhat-vault-outcomes-"));
  });
  beforeEach(async () => {
    await rm(path.join(projectRoot, "vault-deployments"), {
      recursive: true,
      force: true,
    });
    chain = new ScriptedNode();
    events = [];
  });
  after(async () => {
    await rm(projectRoot, { recursive: true });
  });

  const hostOf = (networkConfig: Readonly<Record<string, unknown>>): BareHost =>
    chain.host({
      networkConfig: {
        type: "http",
        accounts: [key],
        gas: "auto",
        gasPrice: "auto",
        gasMultiplier: 1,
        ...networkConfig,
      },
      projectRoot,
    });
  const settle = async (
    options: SettleAllOptions = {},
    networkConfig: Readonly<Record<string, unknown>> = {},
  ): Promise<Ended> =>
    await settleAll(hostOf(networkConfig), {
      pollingInterval: 1,
      timeout: 60_000,
      onEvent: (event) => events.push(event),
      ...options,
    });
  const journalFile = (end = ".finished"): string =>
    path.join(
      projectRoot,
      "vault-deployments",
      `settlement-31337-${VAULT.toLowerCase()}${end}.json`,
    );
  const sent = (): number =>
    SENDS.reduce((sum, method) => sum + chain.count(method), 0);
  const journal = async (): Promise<unknown> =>
    JSON.parse(await readFile(journalFile(), "utf8"));
  const refusedBy = async (
    options: SettleAllOptions = {},
    networkConfig: Readonly<Record<string, unknown>> = {},
  ): Promise<unknown> => {
    const { settlement } = await settle(options, networkConfig);
    expect(settlement).to.include({
      hash: null,
      blockNumber: null,
      gasUsed: null,
      after: null,
    });
    expect(sent()).to.equal(0);
    return [settlement.status, settlement.code, settlement.reason];
  };
  const typesOf = (): readonly string[] => events.map(({ type }) => type);
  const blockOf = (number: number): object => ({
    number,
    timestamp: 1_700_000_000 + number,
  });

  for (const overrides of [true, false]) {
    const where = overrides ? "in one request" : "call by call";
    it(`should be all that came of it, where the node is asked ${where}`, async () => {
      chain.overrides = overrides;
      const { settlement, chainId, block } = await settle();
      const [mined] = chain.mined;
      const { preview, ...rest } = settlement;
      expect({ ...rest, chainId, block }).to.deep.equal({
        status: "settled",
        code: null,
        reason: null,
        hash: mined?.hash,
        blockNumber: 6,
        gasUsed: 60_000n,
        before: OPEN_ROUND,
        after: settledRound(OPEN_ROUND),
        chainId: 31_337,
        block: blockOf(6),
      });
      expect(preview?.status).to.equal(overrides ? "settled" : undefined);
      expect(preview?.differences).to.deep.equal(overrides ? [] : undefined);
      expect(typesOf()).to.deep.equal(["preflight", "sending", "mined"]);
      expect(events[1]).to.deep.equal({
        type: "sending",
        hash: mined?.hash,
        nonce: 0,
      });
      expect(sent()).to.equal(1);
      expect(await journal()).to.deep.include({
        mined: { status: "settled", blockNumber: 6 },
        chainId: 31_337,
        genesisHash: GENESIS,
        vault: VAULT,
        sentAfterBlock: 5,
      });
    });
  }

  it("should be shown with what it costs, and who signs", async () => {
    let shown: SettlementPreflight | undefined;
    const asked = await refusedBy({
      confirm: async (preflight) => {
        shown = preflight;
        return await Promise.resolve("only looking");
      },
    });
    expect(asked).to.deep.equal([
      "refused",
      "VAULT_NOT_CONFIRMED",
      "only looking",
    ]);
    const { preview, tokens, ...rest } = shown ?? {};
    // Of a simulation a fifth is added for refunds, and a quarter to all of it.
    expect(rest).to.deep.equal({
      chainId: 31_337,
      chainTime: 1_700_000_005,
      round: OPEN_ROUND,
      contract: { address: VAULT, source: "VaultClient" },
      from: SETTLER,
      signing: "local",
      balance: 10n ** 18n,
      gas: 93_750n,
      cost: 93_750n * 8n,
      // The base fee may double.
      maxCost: 93_750n * 15n,
      outcome: "succeeds",
      reason: null,
    });
    expect(tokens?.size).to.equal(1);
    expect(preview).to.include({ status: "settled" });
  });

  it("should be refused by whatever is neither true nor a reason", async () => {
    for (const answer of [undefined, null, false, 0, "", {}, "true", 1]) {
      expect(
        await refusedBy({
          // eslint-disable-next-line @typescript-eslint/consistent-type-assertions -- as JavaScript may, where a `return` was forgotten
          confirm: async () => answer as never,
        }),
        JSON.stringify(answer),
      ).to.deep.equal([
        "refused",
        "VAULT_NOT_CONFIRMED",
        answer === "true"
          ? answer
          : vaultError("VAULT_NOT_CONFIRMED", {}).message,
      ]);
    }
  });

  it("should not be previewed nor asked for where there is nothing to do", async () => {
    chain.rounds = chain.rounds.map(settledRound);
    const { settlement, chainId, block } = await settle();
    expect({ ...settlement, chainId, block }).to.deep.equal({
      status: "nothing-to-do",
      code: null,
      reason: "The round is settled already.",
      hash: null,
      blockNumber: null,
      gasUsed: null,
      before: settledRound(OPEN_ROUND),
      after: null,
      preview: null,
      chainId: 31_337,
      block: blockOf(5),
    });
    expect(events).to.deep.equal([]);
  });

  it("should look for nobody who signs, with assertOnly", async () => {
    chain.on("eth_accounts", () => []);
    const accounts = "remote";
    const [status, code] = listOf(
      await refusedBy({ assertOnly: true }, { accounts }),
    );
    expect([status, code]).to.deep.equal([
      "refused",
      "VAULT_SETTLEMENT_NEEDED",
    ]);
    chain.rounds = chain.rounds.map(settledRound);
    expect(
      listOf(await refusedBy({ assertOnly: true }, { accounts }))[0],
    ).to.equal("nothing-to-do");
    expect(chain.count("eth_accounts")).to.equal(0);
    expect(listOf(await refusedBy({}, { accounts }))[1]).to.equal(
      "VAULT_NO_SIGNER",
    );
  });

  it("should be refused on another chain than the configured one", async () => {
    const { settlement, chainId, block } = await settle({}, { chainId: 1 });
    expect(settlement).to.include({
      status: "refused",
      code: "VAULT_WRONG_CHAIN",
      before: null,
      preview: null,
    });
    expect([chainId, block]).to.deep.equal([31_337, undefined]);
    expect((await settle({}, { chainId: 31_337 })).settlement.status).to.equal(
      "settled",
    );
  });

  it("should cost at most what the account has", async () => {
    chain.overrides = false;
    let balance = 75_000n * 15n - 1n;
    chain.on("eth_getBalance", () => toQuantity(balance));
    const [status, code, reason] = listOf(await refusedBy());
    expect([status, code]).to.deep.equal([
      "refused",
      "VAULT_INSUFFICIENT_FUNDS",
    ]);
    expect(reason)
      .to.include("has 1124999 wei")
      .and.include("cost 1125000 wei");
    balance += 1n;
    expect((await settle()).settlement.status).to.equal("settled");
  });

  it("should wait behind no other transaction of its account", async () => {
    chain.pool.push({
      hash: GENESIS,
      from: SETTLER,
      to: SETTLER,
      data: "0x",
      nonce: 0,
    });
    const [status, code, reason] = listOf(await refusedBy());
    expect([status, code]).to.deep.equal([
      "refused",
      "VAULT_PENDING_TRANSACTIONS",
    ]);
    expect(reason).to.include("are not mined yet: 1, from nonce 0 on");
  });

  for (const [when, observed, pending] of [
    ["the node that counts what waits is behind", "0x1", "0x0"],
    ["a transaction was mined since the round was read", "0x0", "0x1"],
    ["the state of that block is gone", undefined, "0x1"],
  ] as const) {
    it(`settleAll takes the greater nonce when ${when}`, async () => {
      chain.on("eth_getTransactionCount", ([, tag]) => {
        if (tag === "0x5" && observed === undefined) {
          throw new Error("missing trie node");
        }
        return tag === "0x5" ? observed : tag === "pending" ? pending : "0x1";
      });
      await settle();
      expect(events.find(({ type }) => type === "sending")).to.include({
        nonce: 1,
      });
    });
  }

  describe("when something changes after the question", () => {
    for (const [name, change, expected] of [
      [
        "the next round opens",
        nextRound,
        [
          "refused",
          "VAULT_ROUND_CHANGED",
          "The round changed. Expected: the round from",
        ],
      ],
      [
        "somebody else settles",
        settledRound,
        [
          "nothing-to-do",
          null,
          "The round was settled by somebody else meanwhile.",
        ],
      ],
    ] as const) {
      it(`should not be sent where ${name}`, async () => {
        const [status, code, reason] = listOf(
          await refusedBy({
            confirm: async () => {
              chain.mine(change);
              return await Promise.resolve(true);
            },
          }),
        );
        expect([status, code]).to.deep.equal(expected.slice(0, 2));
        expect(reason).to.include(expected[2]);
        expect(typesOf()).to.deep.equal(["preflight"]);
        // Nothing has left, so that it stands in no one's way.
        expect(await journal()).to.not.have.property("mined");
        expect(existsSync(journalFile(""))).to.equal(false);
      });
    }
  });

  it("should be signed by the node, and its hash noted as soon as it is known", async () => {
    chain.on("eth_signTransaction", () => {
      throw new Error("nope");
    });
    const { settlement } = await settle({}, { accounts: "remote" });
    expect(settlement).to.include({
      status: "settled",
      hash: chain.mined[0]?.hash,
    });
    expect(typesOf()).to.deep.equal(["preflight", "sending", "hash", "mined"]);
    expect(events[1]).to.deep.equal({ type: "sending", hash: null, nonce: 0 });
    expect(fieldsOf(fieldsOf(await journal())["transaction"])).to.include({
      hash: settlement.hash,
    });
    expect(chain.count("eth_sendTransaction")).to.equal(1);
  });

  it("should not leave unsigned where it is not known whether the node can sign", async () => {
    chain.on("eth_signTransaction", () => {
      throw Object.assign(new Error("socket hang up"), { code: "ECONNRESET" });
    });
    await expectVaultError(
      settle({}, { accounts: "remote" }),
      "VAULT_NETWORK_UNREACHABLE",
    );
    expect(chain.count("eth_sendTransaction")).to.equal(0);
    expect(await readdir(projectRoot)).to.deep.equal([]);
  });

  it("throws VAULT_INVALID_ARGUMENT for numbers that cannot be", async () => {
    for (const options of [
      { confirmations: 0 },
      { confirmations: 1.5 },
      { timeout: -1 },
      { pollingInterval: -1 },
    ]) {
      await expectVaultError(settle(options), "VAULT_INVALID_ARGUMENT");
    }
  });

  it("should keep its hash whatever happens once it may have left", async () => {
    const host = hostOf({});
    const withDeadline = host.withDeadline.bind(host);
    for (const [problem, reason] of [
      [new Error("a bug"), "Error: a bug"],
      [
        vaultError("VAULT_NOT_CONFIRMED", {}),
        vaultError("VAULT_NOT_CONFIRMED", {}).message,
      ],
    ] as const) {
      host.withDeadline = (given) => {
        if (given.timeout !== undefined) {
          throw problem;
        }
        return withDeadline(given);
      };
      const { settlement } = await settleAll(host, {
        pollingInterval: 1,
      });
      expect(settlement).to.deep.include({
        status: "unconfirmed",
        code: null,
        reason,
        hash: chain.mined.at(-1)?.hash,
        blockNumber: null,
        before: OPEN_ROUND,
        after: null,
      });
      expect(settlement.preview?.differences).to.equal(null);
      await rm(journalFile(""));
      chain.mine(() => OPEN_ROUND);
    }
  });

  it("should throw what is no outcome", async () => {
    chain.on("eth_call", () => {
      throw new Error("nope");
    });
    await expectVaultError(settle(), "VAULT_RPC_ERROR");
    expect(sent()).to.equal(0);
  });

  it("should say where the contract refuses it, before anybody is asked", async () => {
    for (const overrides of [true, false]) {
      chain.overrides = overrides;
      chain.revertsWith = NOT_YET;
      events = [];
      const [status, code, reason] = listOf(
        await refusedBy({
          confirm: async () => await Promise.reject(new Error("asked")),
        }),
      );
      expect([status, code]).to.deep.equal(["reverted", "VAULT_CALL_REVERTED"]);
      expect(reason).to.include("not yet");
      const [preflight] = events;
      expect(
        preflight?.type === "preflight" ? preflight.preflight : {},
      ).to.include({
        gas: null,
        cost: null,
        maxCost: null,
        outcome: "reverts",
        reason,
      });
    }
  });

  describe("while it is simulated", () => {
    it("should have nothing to do where somebody settles meanwhile", async () => {
      chain.on("eth_maxPriorityFeePerGas", async (_, answer) => {
        chain.mine(settledRound);
        return await answer();
      });
      expect(await refusedBy()).to.deep.equal([
        "nothing-to-do",
        null,
        "The round was settled by somebody else meanwhile.",
      ]);
    });
  });
});

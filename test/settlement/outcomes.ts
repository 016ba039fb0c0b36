import { existsSync } from "node:fs";
import { readdir } from "node:fs/promises";

import { expect } from "chai";
import { toQuantity } from "ethers";

import { VaultError } from "../../src/client/index.js";
import type { SettlementPreflight } from "../../src/types.js";
import { expectVaultError } from "../helpers/assertions.js";
import { fieldsOf } from "../helpers/fields.js";
import {
  GENESIS,
  OPEN_ROUND,
  SETTLER,
  VAULT,
  nextRound,
  settledRound,
} from "../helpers/scripted-node.js";
import {
  SENT,
  itSettlesAsEverywhere,
  notSent,
} from "../helpers/settlement-cases.js";
import {
  connectionLost,
  itSettles,
  remote,
  useStage,
} from "../helpers/settlement-stage.js";
import type { SettlementStage } from "../helpers/settlement-stage.js";

const notConfirmed = new VaultError("VAULT_NOT_CONFIRMED", {});

describe("settleAll: outcomes", () => {
  const stage = useStage();

  for (const overrides of [true, false]) {
    describe(`on a node with state overrides: ${overrides}`, () => {
      beforeEach(() => {
        stage.chain.overrides = overrides;
      });

      itSettlesAsEverywhere(() => stage);

      it("settleAll returns all that came of it, and keeps it in the journal", async () => {
        const { settlement, chainId, block, isFinal } = await stage.end();
        const [mined] = stage.chain.mined;
        const { preview, ...rest } = settlement;
        expect({ ...rest, chainId, block, isFinal }).to.deep.equal({
          status: "settled",
          code: null,
          reason: null,
          hash: mined?.hash,
          blockNumber: 6,
          gasUsed: 60_000n,
          before: OPEN_ROUND,
          after: settledRound(OPEN_ROUND),
          chainId: 31_337,
          block: { number: 6, timestamp: 1_700_000_006 },
          isFinal: true,
        });
        expect(preview?.status).to.equal(overrides ? "settled" : undefined);
        expect(preview?.differences).to.deep.equal(overrides ? [] : undefined);
        expect(stage.types).to.equal(`${SENT} mined`);
        expect(stage.events[1]).to.deep.equal({
          type: "sending",
          hash: mined?.hash,
          nonce: 0,
        });
        expect(stage.sends).to.equal(1);
        expect(existsSync(stage.journalFile())).to.equal(false);
        expect(await stage.journal(".finished")).to.deep.include({
          mined: { status: "settled", blockNumber: 6 },
          chainId: 31_337,
          genesisHash: GENESIS,
          vault: VAULT,
          sentAfterBlock: 5,
        });
      });
    });
  }

  it("settleAll shows what it costs and who signs, before it asks", async () => {
    let shown: SettlementPreflight | undefined;
    await stage.settle({
      confirm: async (preflight) => {
        shown = preflight;
        return await Promise.resolve("only looking");
      },
    });
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
    expect([...(tokens?.keys() ?? [])]).to.deep.equal([VAULT]);
    expect(preview).to.include({ status: "settled" });
  });

  for (const answer of [undefined, null, false, 0, "", {}, "true", 1]) {
    it(`settleAll refuses with VAULT_NOT_CONFIRMED if confirm returns ${JSON.stringify(answer)}`, async () => {
      const settlement = await stage.settle({
        // eslint-disable-next-line @typescript-eslint/consistent-type-assertions -- as JavaScript may, where a `return` was forgotten
        confirm: async () => answer as never,
      });
      expect(settlement).to.include({
        status: "refused",
        code: "VAULT_NOT_CONFIRMED",
        reason: answer === "true" ? answer : notConfirmed.message,
      });
      expect(stage.sends).to.equal(0);
    });
  }

  itSettles(stage, [
    {
      title: "settleAll looks for no signer with assertOnly",
      given: ({ chain }) => {
        chain.on("eth_accounts", () => []);
      },
      network: remote,
      options: { assertOnly: true },
      is: { status: "refused", code: "VAULT_SETTLEMENT_NEEDED" },
      then: ({ chain }) => {
        expect(chain.count("eth_accounts")).to.equal(0);
      },
    },
    {
      title:
        "settleAll refuses with VAULT_WRONG_CHAIN on another chain than the configured one",
      network: { chainId: 1 },
      is: { status: "refused", code: "VAULT_WRONG_CHAIN", before: null },
      says: ["31337", "1"],
    },
    ...[74_999n, 75_000n].map((gas) => {
      const isEnough = gas === 75_000n;
      return {
        title: `settleAll ${isEnough ? "settles" : "refuses with VAULT_INSUFFICIENT_FUNDS"} if the account can pay ${gas} of 75000 gas`,
        given: ({ chain }: SettlementStage) => {
          chain.overrides = false;
          const balance = gas * 15n + (isEnough ? 0n : 14n);
          chain.on("eth_getBalance", () => toQuantity(balance));
        },
        is: isEnough
          ? { status: "settled" as const }
          : {
              status: "refused" as const,
              code: "VAULT_INSUFFICIENT_FUNDS" as const,
            },
        says: isEnough ? [] : ["has 1124999 wei", "cost 1125000 wei"],
        sends: isEnough ? 1 : 0,
      };
    }),
    {
      title:
        "settleAll refuses with VAULT_PENDING_TRANSACTIONS behind another transaction of its account",
      given: ({ chain }) => {
        const other = { from: SETTLER, to: SETTLER, data: "0x", nonce: 0 };
        chain.pool.push({ hash: GENESIS, ...other });
      },
      is: { status: "refused", code: "VAULT_PENDING_TRANSACTIONS", ...notSent },
      says: ["are not mined yet: 1, from nonce 0 on"],
    },
    {
      title:
        "settleAll lets the node sign, and notes the hash when it is known",
      given: ({ chain }) => {
        chain.on("eth_signTransaction", () => {
          throw new Error("nope");
        });
      },
      network: remote,
      is: { status: "settled" },
      sends: 1,
      events: `${SENT} hash mined`,
      then: async ({ chain, events }, settlement) => {
        expect(events[1]).to.deep.equal({
          type: "sending",
          hash: null,
          nonce: 0,
        });
        const { transaction } = await stage.journal(".finished");
        expect(fieldsOf(transaction)["hash"]).to.equal(settlement?.hash);
        expect(chain.count("eth_sendTransaction")).to.equal(1);
      },
    },
    {
      title:
        "settleAll throws VAULT_NETWORK_UNREACHABLE, and writes nothing, if it is not known whether the node can sign",
      given: ({ chain }) => {
        chain.on("eth_signTransaction", () => {
          throw connectionLost();
        });
      },
      network: remote,
      throws: "VAULT_NETWORK_UNREACHABLE",
      then: async ({ projectRoot }) => {
        expect(await readdir(projectRoot)).to.deep.equal([]);
      },
    },
    {
      title:
        "settleAll is settled, and names what cannot be known, if the vault opens its next round in the same transaction",
      given: ({ chain }) => {
        chain.effect = nextRound;
      },
      is: { status: "settled", after: nextRound(OPEN_ROUND) },
      says: /^The vault is in its next round already in block 6/u,
      sends: 1,
      then: async (_, settlement) => {
        const resumed = await stage.settle({ resume: true });
        expect(resumed).to.include({
          status: "nothing-to-do",
          hash: settlement?.hash,
          blockNumber: 6,
        });
        expect(resumed.reason).to.include(
          "The current round is the round from",
        );
      },
    },
    {
      title:
        "settleAll is not-settled, as previewed, if the vault accepts the call and does nothing, and the next one is not held up",
      given: ({ chain }) => {
        chain.effect = (round) => round;
      },
      is: { status: "not-settled", code: null, after: OPEN_ROUND },
      says: ["is not settled in that block"],
      sends: 1,
      then: async ({ events }, settlement) => {
        expect(settlement?.preview).to.deep.include({
          status: "not-settled",
          differences: [],
        });
        const [preflight] = events;
        expect(
          preflight?.type === "preflight" && preflight.preflight,
        ).to.include({ outcome: "succeeds", reason: null });
        expect((await stage.settle()).status).to.equal("not-settled");
      },
    },
    {
      title:
        "settleAll settles on the configured chain, and ignores what a listener throws",
      network: { chainId: 31_337 },
      options: {
        onEvent: () => {
          throw new Error("the listener's own problem");
        },
      },
      is: { status: "settled" },
      sends: 1,
    },
  ]);

  it("settleAll asks for nothing twice, and reads the vault with one call each time", async () => {
    await stage.settle();
    expect(stage.chain.asked.map(({ method }) => method)).to.deep.equal([
      // The newest block, the next one, the vault, and the genesis block.
      ...["eth_getBlockByNumber", "eth_getBlockByNumber", "eth_call"],
      "eth_getBlockByNumber",
      ...["eth_maxPriorityFeePerGas", "eth_simulateV1"],
      // Symbol and decimals of the token that moves.
      ...["eth_call", "eth_call"],
      ...["eth_getTransactionCount", "eth_getTransactionCount"],
      // The round again, right before the transaction leaves.
      ...["eth_call", "eth_sendRawTransaction", "eth_getTransactionReceipt"],
      // The readings after and before it.
      ...["eth_call", "eth_call"],
    ]);
  });

  it("settleAll throws VAULT_INVALID_ARGUMENT for impossible numbers and for what resume cannot take, and asks nothing", async () => {
    for (const options of [
      { confirmations: 0 },
      { confirmations: 1.5 },
      { timeout: -1 },
      { pollingInterval: -1 },
      { from: SETTLER, resume: true },
      { confirm: async () => await Promise.resolve("no"), resume: true },
      { assertOnly: true, resume: true },
    ] as const) {
      const { message } = await expectVaultError(
        stage.settle(options),
        "VAULT_INVALID_ARGUMENT",
      );
      expect(message).to.include(Object.keys(options)[0]);
    }
    expect(stage.chain.asked).to.deep.equal([]);
  });

  for (const [when, observed, pending] of [
    ["the node that counts the pool is behind", "0x1", "0x0"],
    ["a transaction was mined since the round was read", "0x0", "0x1"],
    ["the state of that block is gone", undefined, "0x1"],
  ] as const) {
    it(`settleAll takes the greater nonce if ${when}`, async () => {
      stage.chain.on("eth_getTransactionCount", ([, tag]) => {
        if (tag === "0x5" && observed === undefined) {
          throw new Error("missing trie node");
        }
        return tag === "0x5" ? observed : tag === "pending" ? pending : "0x1";
      });
      await stage.settle();
      expect(stage.events[1]).to.include({ type: "sending", nonce: 1 });
    });
  }

  for (const [problem, reason] of [
    [new Error("a bug"), "Error: a bug"],
    [notConfirmed, notConfirmed.message],
  ] as const) {
    it(`settleAll keeps its hash if it fails after sending: ${reason}`, async () => {
      const host = stage.host();
      const withDeadline = host.withDeadline.bind(host);
      host.withDeadline = (given) => {
        if (given.timeout !== undefined) {
          throw problem;
        }
        return withDeadline(given);
      };
      const { settlement } = await stage.end({}, host);
      expect(settlement).to.deep.include({
        ...notSent,
        status: "unconfirmed",
        code: null,
        reason,
        hash: stage.chain.mined[0]?.hash,
        before: OPEN_ROUND,
      });
      expect(settlement.preview?.differences).to.equal(null);
      expect(stage.sends).to.equal(1);
    });
  }
});

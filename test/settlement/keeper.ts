import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";

import { expect } from "chai";

import type { VaultRound } from "../../src/protocol/index.js";
import { describeTime } from "../../src/protocol/time.js";
import { settleAll } from "../../src/settlement/settle-all.js";
import type {
  SettleAllOptions,
  Settlement,
  SettlementEvent,
} from "../../src/settlement/types.js";
import { expectVaultError } from "../helpers/assertions.js";
import { endDeadlines } from "../helpers/deadlines.js";
import {
  KEY,
  ScriptedNode,
  OPEN_ROUND,
  nextRound,
  settledRound,
} from "../helpers/scripted-node.js";

const SENDS = ["eth_sendRawTransaction", "eth_sendTransaction"];
/** Time of the newest block. */
const NOW = 1_700_000_005n;
const ending = (endTime: bigint): VaultRound => ({ ...OPEN_ROUND, endTime });
const notEnded = (endTime: bigint): string =>
  `The round has not ended yet: it ends at ${describeTime(endTime)}.`;

describe("a settlement by a keeper", () => {
  let projectRoot: string;
  let chain: ScriptedNode;
  let events: SettlementEvent[];

  beforeEach(async () => {
    projectRoot = await mkdtemp(path.join(tmpdir(), "hardhat-vault-keeper-"));
    events = [];
    start(OPEN_ROUND);
  });
  afterEach(async () => {
    await rm(projectRoot, { recursive: true });
  });

  const start = (round: VaultRound): void => {
    chain = new ScriptedNode();
    chain.rounds = chain.rounds.map(() => round);
  };
  const settle = async (
    options: SettleAllOptions = {},
    networkConfig: Readonly<Record<string, unknown>> = {},
  ): Promise<Settlement> => {
    events = [];
    const host = chain.host({
      networkConfig: {
        type: "http",
        accounts: [{ getHexString: async () => await Promise.resolve(KEY) }],
        gas: "auto",
        gasPrice: "auto",
        gasMultiplier: 1,
        ...networkConfig,
      },
      projectRoot,
    });
    const { settlement } = await settleAll(host, {
      pollingInterval: 1,
      timeout: 60_000,
      onEvent: (event) => events.push(event),
      ...options,
    });
    return settlement;
  };
  const sends = (): number =>
    SENDS.reduce((sum, method) => sum + chain.count(method), 0);
  const typesOf = (): readonly string[] => events.map(({ type }) => type);
  const journals = async (): Promise<string> =>
    (await readdir(path.join(projectRoot, "vault-deployments"))).join();
  /** The node takes no transaction any more, or each answer is lost on the way. */
  const loseTransactions = (meanwhile: () => void = () => undefined): void => {
    for (const method of SENDS) {
      chain.on(method, () => {
        meanwhile();
        throw Object.assign(new Error("socket hang up"), {
          code: "ECONNRESET",
        });
      });
    }
  };
  /** Leaves an unfinished settlement, which the node never got. */
  const interrupt = async (
    networkConfig: Readonly<Record<string, unknown>> = {},
  ): Promise<Settlement> => {
    loseTransactions(endDeadlines);
    const interrupted = await settle({}, networkConfig);
    expect(interrupted.status).to.equal("unconfirmed");
    const { rounds } = chain;
    chain = new ScriptedNode();
    chain.rounds = rounds;
    return interrupted;
  };

  describe("with ifExpired", () => {
    for (const overrides of [true, false]) {
      const how = overrides ? "one request" : "single calls";
      it(`has nothing to do one second before the round's end, seen by ${how}`, async () => {
        start(ending(NOW + 1n));
        chain.overrides = overrides;
        const found = await settle({ ifExpired: true });
        expect(found).to.include({
          status: "nothing-to-do",
          code: null,
          reason: notEnded(NOW + 1n),
          hash: null,
        });
        expect(found.before).to.include({ endTime: NOW + 1n });
        expect([sends(), typesOf()]).to.deep.equal([0, []]);
        chain.mine();
        expect(await settle({ ifExpired: true })).to.include({
          status: "settled",
        });
      });

      it(`sends nothing if the chain goes back before the round's end while it asks, seen by ${how}`, async () => {
        start(ending(NOW));
        chain.overrides = overrides;
        const found = await settle({
          ifExpired: true,
          confirm: async () => {
            chain.rounds.pop();
            return await Promise.resolve(true);
          },
        });
        expect(found).to.include({
          status: "nothing-to-do",
          reason: notEnded(NOW),
        });
        expect([sends(), typesOf()]).to.deep.equal([0, ["preflight"]]);
        expect(await journals()).to.match(/\.finished\.json$/u);
      });
    }

    it("sends a lost transaction again only while the round has ended", async () => {
      start(ending(NOW));
      loseTransactions(() => {
        chain.rounds.pop();
      });
      const found = await settle({ ifExpired: true });
      expect(found.status).to.equal("unconfirmed");
      expect(found.reason).to.include(notEnded(NOW));
      expect(sends()).to.equal(1);
    });

    it("sends nothing on resume before the round's end", async () => {
      await interrupt();
      const found = await settle({ resume: true, ifExpired: true });
      expect(found).to.include({ status: "nothing-to-do" });
      expect(found.reason).to.include(notEnded(OPEN_ROUND.endTime));
      expect([sends(), typesOf()]).to.deep.equal([0, ["resuming"]]);
    });

    it("is a check without a key: assertOnly refuses only a round that has ended", async () => {
      const late = { ifExpired: true, assertOnly: true };
      expect(await settle(late)).to.include({ status: "nothing-to-do" });
      start(ending(NOW));
      expect(await settle(late)).to.include({
        status: "refused",
        code: "VAULT_SETTLEMENT_NEEDED",
      });
    });
  });

  describe("with resume", () => {
    it("refuses `from`, `confirm` and `assertOnly` with VAULT_INVALID_ARGUMENT", async () => {
      for (const option of [
        { from: OPEN_ROUND.endTime.toString() },
        { confirm: async () => await Promise.resolve(true as const) },
        { assertOnly: true },
      ]) {
        const { message } = await expectVaultError(
          settle({ resume: true, ...option }),
          "VAULT_INVALID_ARGUMENT",
        );
        expect(message).to.include(Object.keys(option)[0]);
      }
      expect(chain.asked).to.deep.equal([]);
    });

    it("emits `sending` only if it sends", async () => {
      const { hash } = await interrupt();
      expect(await settle({ resume: true })).to.include({
        status: "settled",
        hash,
      });
      expect(typesOf()).to.deep.equal(["resuming", "sending", "mined"]);
      start(OPEN_ROUND);
      await rm(path.join(projectRoot, "vault-deployments"), {
        recursive: true,
      });
      await settle({
        onEvent: ({ type }) => {
          if (type === "mined") {
            endDeadlines();
            chain.on("eth_call", () => {
              throw new Error("nope");
            });
          }
        },
      });
      chain.on("eth_call", async (_, answer) => await answer());
      expect(await settle({ resume: true })).to.include({ status: "settled" });
      expect(typesOf()).to.deep.equal(["resuming", "mined"]);
    });
  });

  describe('with resume "if-interrupted"', () => {
    const keep = async (
      networkConfig: Readonly<Record<string, unknown>> = {},
    ): Promise<Settlement> =>
      await settle({ resume: "if-interrupted" }, networkConfig);

    it("finishes an interrupted settlement of the current round with the bytes of before", async () => {
      const { hash } = await interrupt();
      expect(await keep()).to.include({ status: "settled", hash });
      expect(typesOf()).to.deep.equal([
        "resuming",
        "sending",
        "mined",
        "resumed",
      ]);
      expect(chain.mined.map((one) => one.hash)).to.deep.equal([hash]);
    });

    it("goes on with the next round after it finished an interrupted settlement", async () => {
      await interrupt();
      chain.mine(settledRound);
      chain.mine(nextRound);
      const settlement = await keep();
      expect(settlement).to.include({ status: "settled" });
      expect(settlement.before).to.deep.equal(nextRound(OPEN_ROUND));
      const [, resumed] = events;
      expect(resumed?.type === "resumed" && resumed.settlement).to.include({
        status: "refused",
        code: "VAULT_ROUND_CHANGED",
      });
      expect(sends()).to.equal(1);
    });

    it("begins no other settlement while one may still be mined", async () => {
      const { hash } = await interrupt();
      chain.mines = false;
      chain.on("eth_getTransactionReceipt", async (_, answer, occurrence) => {
        if (occurrence > 2) {
          endDeadlines();
        }
        return await answer();
      });
      expect(await keep()).to.include({ status: "unconfirmed", hash });
      expect(typesOf()).to.not.include("resumed");
      expect(sends()).to.equal(1);
    });
  });
});

import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";

import { expect } from "chai";
import { Transaction, Wallet } from "ethers";

import { describeRound } from "../../src/protocol/round.js";
import type { Settlement } from "../../src/settlement/types.js";
import { toJsonValue } from "../../src/json.js";
import { RpcClient } from "../../src/rpc/rpc-client.js";
import { Journal } from "../../src/settlement/journal.js";
import type { JournalEntry } from "../../src/settlement/journal.js";
import { settleAll } from "../../src/settlement/settle-all.js";
import {
  isSignedAs,
  sign,
  toRpcTransaction,
} from "../../src/settlement/transaction.js";
import { expectVaultError } from "../helpers/assertions.js";
import type { BareHost } from "../helpers/bare-host.js";
import {
  GENESIS,
  KEY,
  ScriptedNode,
  OPEN_ROUND,
  SETTLE,
  SETTLER,
  VAULT,
  nextRound,
  settledRound,
} from "../helpers/scripted-node.js";

const HASH = `0x${"ab".repeat(32)}`;
const FILE = `vault-deployments/settlement-31337-${VAULT.toLowerCase()}.json`;
const FINISHED = FILE.replace(/json$/u, "finished.json");

const transaction = {
  from: SETTLER,
  to: VAULT,
  data: SETTLE,
  chainId: 31_337,
  nonce: 0,
  gas: 100_000n,
};
const entry: JournalEntry = {
  sentAfterBlock: 5,
  round: OPEN_ROUND,
  transaction,
};
const subject = { chainId: 31_337, genesisHash: GENESIS, vault: VAULT };

describe("a settlement that is taken up", () => {
  let projectRoot: string;
  let chain: ScriptedNode;

  before(async () => {
    projectRoot = await mkdtemp(path.join(tmpdir(), "hardhat-vault-resume-"));
  });
  beforeEach(async () => {
    const folder = path.join(projectRoot, "vault-deployments");
    await rm(folder, { recursive: true, force: true });
    await mkdir(folder);
    chain = new ScriptedNode();
  });
  after(async () => {
    await rm(projectRoot, { recursive: true });
  });

  const write = async (
    changes: Readonly<Record<string, unknown>> = {},
    file = FILE,
  ): Promise<void> => {
    await writeFile(
      path.join(projectRoot, file),
      JSON.stringify(
        toJsonValue({ version: 1, ...subject, ...entry, ...changes }),
      ),
    );
  };
  const hostOf = (
    networkConfig: Readonly<Record<string, unknown>> = {},
  ): BareHost =>
    chain.host({
      networkConfig: {
        type: "http",
        accounts: "remote",
        gas: "auto",
        gasPrice: "auto",
        gasMultiplier: 1,
        ...networkConfig,
      },
      projectRoot,
    });
  it("should be the one of the journal, at the newest block", async () => {
    const reasonOf = async (host: BareHost): Promise<string | null> => {
      const { settlement } = await settleAll(host, {
        resume: true,
        pollingInterval: 1,
      });
      expect(settlement.status).to.equal("refused");
      expect(settlement.before).to.equal(
        settlement.code === "VAULT_NOTHING_TO_RESUME" ? null : OPEN_ROUND,
      );
      return `${settlement.code}: ${settlement.reason}`;
    };
    expect(await reasonOf(hostOf()))
      .to.match(/^VAULT_NOTHING_TO_RESUME/u)
      .and.include(FILE);
    expect(await reasonOf(hostOf({ type: "edr-simulated" }))).to.match(
      /^VAULT_NOTHING_TO_RESUME: .*in process there is no journal/u,
    );
    await write({ genesisHash: HASH });
    await write({ genesisHash: HASH }, FINISHED);
    expect(await reasonOf(hostOf())).to.match(/^VAULT_NOTHING_TO_RESUME/u);
    await write();
    const wrong = await settleAll(hostOf({ chainId: 1 }), { resume: true });
    expect(wrong.settlement).to.include({
      status: "refused",
      code: "VAULT_WRONG_CHAIN",
    });
  });

  describe("and followed", () => {
    const resume = async (
      networkConfig: Readonly<Record<string, unknown>> = {},
    ): Promise<readonly unknown[]> => {
      const { settlement, chainId, block } = await settleAll(
        hostOf(networkConfig),
        { resume: true, pollingInterval: 1, timeout: 60_000 },
      );
      expect(chainId).to.equal(31_337);
      expect(block?.number).to.be.a("number");
      return [settlement.status, settlement.code, settlement.preview];
    };
    const sends = (method: string): number => chain.count(method);

    it("gives up what a node was to sign and lost, so that the next settlement takes its nonce", async () => {
      await write();
      expect(await resume()).to.deep.equal([
        "refused",
        "VAULT_SETTLEMENT_LOST",
        null,
      ]);
      expect(sends("eth_sendTransaction")).to.equal(0);
      const { settlement } = await settleAll(hostOf(), { pollingInterval: 1 });
      expect(settlement.status).to.equal("settled");
      expect(chain.mined.map(({ nonce }) => nonce)).to.deep.equal([
        transaction.nonce,
      ]);
    });

    it("should send the very bytes that were signed, whoever signs now", async () => {
      const unsigned = {
        ...transaction,
        fees: { maxFeePerGas: 9n, maxPriorityFeePerGas: 1n },
      };
      const wallet = new Wallet(KEY);
      const signed = await sign(
        new RpcClient(chain.provider, "scripted"),
        {
          address: SETTLER,
          kind: "local",
          sign: async (one) => await wallet.signTransaction(one),
        },
        unsigned,
      );
      await write({ transaction: signed });
      expect(await resume({ accounts: "remote" })).to.deep.equal([
        "settled",
        null,
        null,
      ]);
      const [sent] = chain.asked.filter(
        ({ method }) => method === "eth_sendRawTransaction",
      );
      expect(sent?.params).to.deep.equal([signed.raw]);
      expect(chain.mined[0]?.hash).to.equal(signed.hash);
      expect(sends("eth_sendTransaction")).to.equal(0);
    });

    it("has nothing to do for a finished settlement, also on a node that lost its block and state", async () => {
      const block = {
        mined: { status: "settled", blockNumber: 4 },
        transaction: { ...transaction, hash: HASH },
      } as const;
      const resumed = async (): Promise<Settlement> =>
        (await settleAll(hostOf(), { resume: true })).settlement;
      await write(block, FINISHED);
      chain.mine(nextRound);
      expect(await resumed()).to.deep.equal({
        status: "nothing-to-do",
        code: null,
        reason: `The settlement of ${describeRound(OPEN_ROUND)} is finished: settled in block 4. The current round is ${describeRound(nextRound(OPEN_ROUND))}, not settled.`,
        hash: HASH,
        blockNumber: 4,
        gasUsed: null,
        before: OPEN_ROUND,
        after: null,
        preview: null,
      });
      chain.mine(() => settledRound(OPEN_ROUND));
      expect((await resumed()).reason).to.include(
        "It is the current round still, settled.",
      );
      await write({}, FINISHED);
      const { hash, reason } = await resumed();
      expect(hash).to.equal(null);
      expect(reason).to.include("without a transaction that was mined");
      for (const { method } of chain.asked) {
        expect(method).to.not.match(/^eth_send|Transaction/u);
      }
    });
  });

  it("should be believed signed only where the bytes are the transaction's own", async () => {
    const wallet = new Wallet(KEY);
    const other = new Wallet(`0x${"22".repeat(32)}`);
    for (const fees of [
      undefined,
      { gasPrice: 3n },
      { maxFeePerGas: 9n, maxPriorityFeePerGas: 1n },
    ]) {
      const unsigned = { ...transaction, fees };
      const bytes = {
        type: fees !== undefined && "maxFeePerGas" in fees ? 2 : 0,
        to: VAULT,
        data: SETTLE,
        chainId: 31_337,
        nonce: 0,
        gasLimit: 100_000n,
        value: 0n,
        ...fees,
      };
      const raw = await wallet.signTransaction(bytes);
      const { hash } = Transaction.from(raw);
      const known = { ...unsigned, hash: hash ?? "" };
      expect(isSignedAs(raw, unsigned)).to.equal(true);
      expect(isSignedAs(raw, known)).to.equal(true);
      expect(isSignedAs(raw, { ...known, hash: HASH })).to.equal(false);
      expect(isSignedAs(raw, { ...known, nonce: 1 })).to.equal(false);
      expect(isSignedAs("0x02ffff", known)).to.equal(false);
      expect(isSignedAs(await other.signTransaction(bytes), unsigned)).to.equal(
        false,
      );

      const chainOf = (answer: () => unknown): RpcClient => {
        chain.on("eth_signTransaction", answer);
        return new RpcClient(chain.provider, "scripted");
      };
      const remote = { address: SETTLER, kind: "remote" } as const;
      const signedBy = async (answer: () => unknown): Promise<unknown> =>
        await sign(chainOf(answer), remote, unsigned);
      expect(await signedBy(() => raw)).to.deep.equal({ ...known, raw });
      expect(await signedBy(() => ({ raw }))).to.deep.equal({ ...known, raw });
      expect(chain.asked.at(-1)?.params).to.deep.equal([
        toRpcTransaction(unsigned),
      ]);
      for (const answer of [null, 7, "0x02", { raw: 7 }]) {
        expect(await signedBy(() => answer)).to.deep.equal(unsigned);
      }
      expect(
        await signedBy(() => {
          throw new Error("nope");
        }),
      ).to.deep.equal(unsigned);
      await expectVaultError(
        signedBy(() => {
          throw Object.assign(new Error("connect"), { code: "ECONNREFUSED" });
        }),
        "VAULT_NETWORK_UNREACHABLE",
      );
      const asked = chain.asked.length;
      expect(
        await sign(
          chainOf(() => raw),
          { address: SETTLER, kind: "in-process" },
          unsigned,
        ),
      ).to.deep.equal(unsigned);
      expect(chain.asked).to.have.length(asked);
    }
  });

  describe("from its journal", () => {
    const journal = (genesisHash = GENESIS): Journal =>
      new Journal(projectRoot, { ...subject, genesisHash });

    it("should be begun once, and given way to by no other", async () => {
      const refused = async (work: Promise<void>): Promise<void> => {
        const { message } = await expectVaultError(
          work,
          "VAULT_SETTLEMENT_UNFINISHED",
        );
        expect(message).to.include("nonce 0").and.include(FILE);
      };
      await journal().begin(entry);
      await refused(journal().refuseUnfinished());
      // Where chains cannot be told apart.
      await refused(journal("unknown").refuseUnfinished());
      await refused(journal().begin(entry));
      await journal().update(entry, true);
      await journal().refuseUnfinished();
      await journal().begin(entry);
      // Of a node that was started again.
      await journal(HASH).refuseUnfinished();
      await journal(HASH).begin(entry);
      await refused(journal(HASH).begin(entry));
    });

    it("should be begun by one of many at once, and be whole whenever it is read", async () => {
      const begun = await Promise.allSettled(
        Array.from({ length: 20 }, async (_, nonce) => {
          await journal().begin({
            ...entry,
            transaction: { ...transaction, nonce },
          });
          return nonce;
        }),
      );
      const [first, ...others] = begun.flatMap((one) =>
        one.status === "fulfilled" ? [one.value] : [],
      );
      expect(others).to.deep.equal([]);
      expect((await journal().read())?.transaction.nonce).to.equal(first);
      for (const one of begun) {
        if (one.status === "rejected") {
          expect(one.reason).to.include({
            code: "VAULT_SETTLEMENT_UNFINISHED",
          });
        }
      }
    });

    it("should be updated only while it is the one, and be kept when it is finished", async () => {
      await journal().update(entry, true);
      expect(await journal().read()).to.equal(undefined);
      await journal().begin(entry);
      await journal().update(
        { ...entry, transaction: { ...transaction, nonce: 1 } },
        true,
      );
      expect((await journal().read())?.transaction.nonce).to.equal(0);
      await journal().update({ ...entry, sentAfterBlock: 6 });
      expect((await journal().read())?.sentAfterBlock).to.equal(6);
      await journal().update(entry, true);
      expect(await journal().read()).to.equal(undefined);
      expect(await journal().read("finished")).to.deep.include(entry);
    });

    it("should be refused where anything in it is odd", async () => {
      for (const [changes, where] of [
        [{ chainId: -1 }, "chainId"],
        [{ extra: 1 }, "Unrecognized key"],
        [{ round: { ...OPEN_ROUND, extra: 1 } }, "round"],
        [{ round: { ...OPEN_ROUND, APY: "1x" } }, "round.APY"],
        [{ round: { ...OPEN_ROUND, settled: "no" } }, "round.settled"],
        [{ transaction: { ...transaction, data: "0xa" } }, "data"],
        [{ transaction: { ...transaction, hash: `${HASH}0` } }, "hash"],
        [{ transaction: { ...transaction, extra: 1 } }, "transaction"],
        [
          { transaction: { ...transaction, fees: { gasPrice: 1n, x: 1 } } },
          "fees",
        ],
        [{ transaction: { ...transaction, fees: {} } }, "fees"],
      ] as const) {
        await write(changes);
        const { message } = await expectVaultError(
          journal().read(),
          "VAULT_INVALID_JOURNAL",
        );
        expect(message, where).to.include(where).and.include(FILE);
      }
    });

    it("should say what the system says where it cannot be read or written", async () => {
      await mkdir(path.join(projectRoot, FILE));
      const { message } = await expectVaultError(
        journal().read(),
        "VAULT_INVALID_JOURNAL",
      );
      expect(message).to.include("it cannot be read (");
      const folder = path.join(projectRoot, "vault-deployments");
      await rm(folder, { recursive: true });
      await writeFile(folder, "a file");
      expect(await journal().read()).to.equal(undefined);
      const failed = await expectVaultError(
        journal().begin(entry),
        "VAULT_JOURNAL_NOT_WRITTEN",
      );
      expect(failed.message).to.match(/EEXIST|ENOTDIR/u);
      await rm(folder);
    });
  });
});

import { mkdir, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";

import { expect } from "chai";
import { Transaction, Wallet, toQuantity } from "ethers";

import { toJsonValue } from "../../src/json.js";
import { Chain } from "../../src/rpc/node.js";
import type { Fees } from "../../src/rehearsal/fees.js";
import type { SentTransaction } from "../../src/settlement/find-transaction.js";
import { Journal, unfinishedEntries } from "../../src/settlement/journal.js";
import type { JournalEntry } from "../../src/settlement/journal.js";
import { findInterrupted, rebuild } from "../../src/settlement/resume.js";
import { settleAll } from "../../src/settlement/settle-all.js";
import { SettlementStopped } from "../../src/settlement/stopped.js";
import {
  isSignedAs,
  sign,
  toRpcTransaction,
} from "../../src/settlement/transaction.js";
import { expectVaultError } from "../helpers/assertions.js";
import type { BareHost } from "../helpers/bare-host.js";
import { endDeadlines } from "../helpers/deadlines.js";
import {
  FACTORY,
  KEY,
  MemoryChain,
  OPEN_ROUND,
  SETTLE,
  SETTLER,
  VAULT,
} from "../helpers/memory-chain.js";

const GENESIS = `0x${"ee".repeat(32)}`;
const HASH = `0x${"ab".repeat(32)}`;
const FILE = `vault-deployments/settlement-31337-${VAULT.toLowerCase()}.json`;

const transaction = {
  from: SETTLER,
  to: VAULT,
  data: SETTLE,
  chainId: 31_337,
  nonce: 0,
  gas: 100_000n,
};
const entry: JournalEntry = {
  finished: false,
  chainId: 31_337,
  genesisHash: GENESIS,
  vault: VAULT,
  sentAfterBlock: 5,
  round: OPEN_ROUND,
  transaction,
};

describe("a settlement that is taken up", () => {
  let projectRoot: string;
  let chain: MemoryChain;

  before(async () => {
    projectRoot = await mkdtemp(path.join(tmpdir(), "hardhat-vault-resume-"));
  });
  beforeEach(async () => {
    const folder = path.join(projectRoot, "vault-deployments");
    await rm(folder, { recursive: true, force: true });
    await mkdir(folder);
    chain = new MemoryChain();
  });
  after(async () => {
    await rm(projectRoot, { recursive: true });
  });

  const write = async (
    changes: Partial<JournalEntry> = {},
    file = FILE,
  ): Promise<void> => {
    await writeFile(
      path.join(projectRoot, file),
      JSON.stringify(toJsonValue({ version: 1, ...entry, ...changes })),
    );
  };
  const hostOf = (
    networkConfig: Readonly<Record<string, unknown>> = {},
    genesisHash: string | undefined = GENESIS,
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
      genesisHash,
    });
  const refusalOf = async (work: Promise<unknown>): Promise<string> => {
    try {
      await work;
    } catch (error) {
      if (error instanceof SettlementStopped) {
        expect(error.status).to.equal("refused");
        return `${error.code}: ${error.reason}`;
      }
      throw error;
    }
    return "it went on";
  };

  it("should be the one of the journal, at the newest block", async () => {
    expect(await refusalOf(findInterrupted(hostOf()))).to.include(FILE);
    expect(
      await refusalOf(findInterrupted(hostOf({ type: "edr-simulated" }))),
    ).to.match(/^VAULT_NOTHING_TO_RESUME: .*in process there is no journal/u);
    for (const genesisHash of [GENESIS, "unknown"]) {
      await write({ genesisHash });
      const { journal, ...found } = await findInterrupted(hostOf());
      expect(journal?.file).to.equal(FILE);
      expect(found).to.deep.equal({
        entry: { version: 1, ...entry, genesisHash },
        block: { number: 5, timestamp: 1_700_000_005 },
        problem: undefined,
      });
    }
    await write({ genesisHash: HASH });
    const { message } = await expectVaultError(
      findInterrupted(hostOf()),
      "VAULT_INVALID_JOURNAL",
    );
    expect(message).to.include(
      `whose first block is ${HASH} and not ${GENESIS}`,
    );
    await write();
    await expectVaultError(
      findInterrupted(hostOf({ chainId: 1 })),
      "VAULT_WRONG_CHAIN",
    );
  });

  describe("while the node does not answer", () => {
    const fail = (...methods: readonly string[]): void => {
      for (const method of methods) {
        chain.on(method, () => {
          throw new Error("nope");
        });
      }
    };

    it("should be what is known of it", async () => {
      await write();
      fail("eth_getBlockByNumber");
      const {
        problem,
        entry: found,
        ...rest
      } = await findInterrupted(hostOf());
      expect(problem).to.include("nope");
      expect(found.transaction).to.deep.equal(transaction);
      expect(rest).to.deep.equal({ journal: undefined, block: undefined });

      const located = await settleAll(hostOf(), { resume: true });
      expect(located).to.deep.equal({
        settlement: {
          status: "unconfirmed",
          code: null,
          reason: `It could not be looked for: ${problem} The option \`resume\` of settleAll() takes it up again.`,
          hash: null,
          blockNumber: null,
          gasUsed: null,
          before: OPEN_ROUND,
          after: null,
          preview: null,
        },
        chainId: 31_337,
        block: undefined,
      });
    });

    it("should be the only unfinished one that it can be", async () => {
      fail("eth_chainId");
      const entryFound = async (
        networkConfig: Readonly<Record<string, unknown>> = {},
      ): Promise<boolean> => {
        try {
          const { entry: found } = await findInterrupted(hostOf(networkConfig));
          expect(found.vault).to.equal(VAULT);
          return true;
        } catch (error) {
          expect(error).to.have.property("code", "VAULT_RPC_ERROR");
          return false;
        }
      };
      expect(await entryFound()).to.equal(false);
      await write();
      expect(await entryFound()).to.equal(true);
      expect(await entryFound({ chainId: 31_337 })).to.equal(true);
      expect(await entryFound({ chainId: 1 })).to.equal(false);
      expect(await entryFound({ type: "edr-simulated" })).to.equal(false);
      await write({ finished: true });
      expect(await entryFound()).to.equal(false);
      await write();
      const elsewhere = { ...transaction, chainId: 1 };
      await write(
        { chainId: 1, transaction: elsewhere },
        FILE.replace("31337", "1"),
      );
      expect(await entryFound()).to.equal(false);
      expect(await entryFound({ chainId: 31_337 })).to.equal(true);
    });

    it("should be of any vault where it takes the node to find that", async () => {
      await write();
      fail("eth_chainId");
      const wanted = hostOf();
      const lost = await expectVaultError(wanted.chainId(), "VAULT_RPC_ERROR");
      wanted.addressOf = async () => await Promise.reject(lost);
      expect((await findInterrupted(wanted)).entry.vault).to.equal(VAULT);
      wanted.addressOf = async () => await Promise.reject(new TypeError("bug"));
      expect(await findInterrupted(wanted).catch(String)).to.equal(
        "TypeError: bug",
      );
      let times = 0;
      wanted.addressOf = async () => {
        times += 1;
        return await Promise.reject(times > 1 ? new TypeError("bug") : lost);
      };
      expect(await findInterrupted(wanted).catch(String)).to.equal(
        "TypeError: bug",
      );
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

    it("should be signed anew by a node, once, with a hash that is noted", async () => {
      await write();
      expect(await resume()).to.deep.equal(["settled", null, null]);
      expect(sends("eth_sendTransaction")).to.equal(1);
      const noted = await new Journal(projectRoot, 31_337, VAULT).read();
      expect(noted?.finished).to.equal(true);
      expect(noted?.transaction.hash).to.equal(chain.mined[0]?.hash);
      // It is looked for, and nothing else, from then on.
      expect(await resume()).to.deep.equal(["settled", null, null]);
      expect(sends("eth_sendTransaction")).to.equal(1);
    });

    it("should be refused where a key here would have signed it, with the journal's name", async () => {
      const key = { getHexString: async () => await Promise.resolve(KEY) };
      await write();
      expect(await resume({ accounts: [key] })).to.deep.equal([
        "refused",
        "VAULT_NOT_SIGNED_AGAIN",
        null,
      ]);
      expect(sends("eth_sendTransaction")).to.equal(0);
    });

    it("should send the very bytes that were signed, whoever signs now", async () => {
      const unsigned = {
        ...transaction,
        fees: { maxFeePerGas: 9n, maxPriorityFeePerGas: 1n },
      };
      const wallet = new Wallet(KEY);
      const signed = await sign(
        new Chain(chain.provider, "scripted"),
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

    it("should not be sent once it is finished", async () => {
      await write({ finished: true });
      chain.on("eth_getTransactionCount", async (_, answer, occurrence) => {
        if (occurrence > 4) {
          endDeadlines();
        }
        return await answer();
      });
      expect((await resume())[0]).to.equal("unconfirmed");
      expect(sends("eth_sendTransaction")).to.equal(0);
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

      const chainOf = (answer: () => unknown): Chain => {
        chain.on("eth_signTransaction", answer);
        return new Chain(chain.provider, "scripted");
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

  describe("and signed anew", () => {
    const fees: Fees = { maxFeePerGas: 5n, maxPriorityFeePerGas: 9n };
    const sent: SentTransaction = {
      ...transaction,
      sentAfterBlock: 5,
      gas: 10n ** 6n,
      fees,
    };
    const renew = async (
      networkConfig: Readonly<Record<string, unknown>> = {},
      changes: Partial<SentTransaction> = {},
    ): Promise<SettlementStopped | SentTransaction> =>
      await rebuild(hostOf(networkConfig), { ...sent, ...changes }, FILE);

    it("should be as a new one would be, and cost no more than before", async () => {
      const renewed = {
        ...sent,
        gas: 75_000n,
        fees: { maxFeePerGas: 5n, maxPriorityFeePerGas: 1n },
      };
      expect(await renew()).to.deep.equal(renewed);
      expect(await renew({}, { gas: 10n })).to.deep.equal({
        ...renewed,
        gas: 10n,
      });
      // What it calls is not the journal's to say.
      expect(await renew({}, { data: "0xdeadbeef" })).to.deep.equal(renewed);
    });

    const stoppedBy = (
      result: SettlementStopped | SentTransaction,
    ): readonly unknown[] => {
      expect(result).to.be.instanceOf(SettlementStopped);
      return result instanceof SettlementStopped
        ? [result.status, result.code, result.reason]
        : [];
    };

    it("should not be, by a key here, with another nonce, or where nobody signs", async () => {
      const key = { getHexString: async () => await Promise.resolve(KEY) };
      const [status, code, reason] = stoppedBy(
        await renew({ accounts: [key] }),
      );
      expect([status, code]).to.deep.equal([
        "refused",
        "VAULT_NOT_SIGNED_AGAIN",
      ]);
      expect(reason).to.include(FILE).and.include("with a configured key");

      for (const nonce of [0, 2]) {
        chain.on("eth_getTransactionCount", () => toQuantity(1));
        const [, other, why] = stoppedBy(await renew({}, { nonce }));
        expect(other).to.equal("VAULT_NOT_SIGNED_AGAIN");
        expect(why).to.include(
          `its nonce is ${nonce}, and the next one of ${SETTLER} is 1`,
        );
      }
      chain.on("eth_accounts", () => []);
      expect(stoppedBy(await renew())[1]).to.equal("VAULT_UNKNOWN_SIGNER");
      chain.on("eth_accounts", () => {
        throw new Error("nope");
      });
      await expectVaultError(renew(), "VAULT_RPC_ERROR");
    });

    it("should not be where the contract refuses it", async () => {
      chain.revertsWith = "0x12345678";
      const [status, code, reason] = stoppedBy(await renew());
      expect([status, code]).to.deep.equal(["reverted", "VAULT_CALL_REVERTED"]);
      expect(reason).to.include("0x12345678");
    });
  });

  describe("from its journal", () => {
    const journal = (): Journal => new Journal(projectRoot, 31_337, VAULT);

    it("should be begun once, and given way to by no other", async () => {
      await journal().begin(entry);
      const own = { ...transaction, from: SETTLER.toLowerCase() };
      await journal().refuseUnfinished(GENESIS, own);
      for (const changes of [{ nonce: 1 }, { from: VAULT }]) {
        expect(
          await refusalOf(
            journal().refuseUnfinished(GENESIS, { ...own, ...changes }),
          ),
        ).to.match(/^VAULT_SETTLEMENT_UNFINISHED: .*nonce 0/u);
      }
      expect(await refusalOf(journal().begin(entry))).to.include(FILE);
      // Of another chain, or where chains cannot be told apart.
      await journal().refuseUnfinished(HASH);
      expect(await refusalOf(journal().refuseUnfinished("unknown"))).to.include(
        FILE,
      );
      await journal().update({ ...entry, finished: true });
      await journal().refuseUnfinished(GENESIS);
    });

    it("should be updated only while it is the one", async () => {
      await journal().update(entry);
      expect(await journal().read()).to.deep.equal({ version: 1, ...entry });
      await journal().update({
        ...entry,
        transaction: { ...transaction, nonce: 1 },
      });
      expect((await journal().read())?.transaction.nonce).to.equal(0);
      await journal().update({ ...entry, sentAfterBlock: 6 });
      expect((await journal().read())?.sentAfterBlock).to.equal(6);
    });

    it("should be read as it was written", async () => {
      const whole: JournalEntry = {
        ...entry,
        transaction: { ...transaction, hash: HASH, fees: { gasPrice: 3n } },
      };
      await write(whole);
      expect(await journal().read()).to.deep.equal({ version: 1, ...whole });
    });

    it("should be refused where anything in it is odd", async () => {
      for (const [changes, where] of [
        [{ chainId: -1 }, "chainId"],
        [{ chainId: 1.5 }, "chainId"],
        [{ vault: `${VAULT}00` }, "vault"],
        [{ vault: `00${VAULT}` }, "vault"],
        [{ extra: 1 }, "Unrecognized key"],
        [{ round: { ...OPEN_ROUND, extra: 1 } }, "round"],
        [{ round: { ...OPEN_ROUND, APY: "1x" } }, "round.APY"],
        [{ round: { ...OPEN_ROUND, APY: "x1" } }, "round.APY"],
        [{ round: { ...OPEN_ROUND, APY: "" } }, "round.APY"],
        [{ round: { ...OPEN_ROUND, settled: "no" } }, "round.settled"],
        [{ transaction: { ...transaction, data: "0xa" } }, "data"],
        [{ transaction: { ...transaction, data: "a0" } }, "data"],
        [{ transaction: { ...transaction, data: "0xa0x" } }, "data"],
        [{ transaction: { ...transaction, hash: `${HASH}0` } }, "hash"],
        [{ transaction: { ...transaction, hash: `0${HASH}` } }, "hash"],
        [{ transaction: { ...transaction, extra: 1 } }, "transaction"],
        [
          { transaction: { ...transaction, fees: { gasPrice: 1n, x: 1 } } },
          "fees",
        ],
        [
          {
            transaction: {
              ...transaction,
              fees: { maxFeePerGas: 1n, maxPriorityFeePerGas: 1n, x: 1 },
            },
          },
          "fees",
        ],
        [{ transaction: { ...transaction, fees: {} } }, "fees"],
        [{ transaction: { ...transaction, chainId: 1 } }, "it is of vault"],
        [{ transaction: { ...transaction, to: FACTORY } }, "not to the vault"],
        [{ chainId: 1 }, "on chain 1, not of vault"],
        [
          { transaction: { ...transaction, data: "0xdeadbeef" } },
          "does not call settleAll",
        ],
        [
          { transaction: { ...transaction, raw: "0x02ffff" } },
          "its signed bytes are not its transaction",
        ],
      ] as const) {
        // eslint-disable-next-line @typescript-eslint/consistent-type-assertions -- the file may hold anything
        await write(changes as Partial<JournalEntry>);
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
      for (const work of [journal().begin(entry), journal().update(entry)]) {
        const failed = await expectVaultError(
          work,
          "VAULT_JOURNAL_NOT_WRITTEN",
        );
        expect(failed.message).to.match(/EEXIST|ENOTDIR/u);
      }
      await rm(folder);
    });

    it("should be listed among those of its project, as far as they can be read", async () => {
      expect(await unfinishedEntries(`${projectRoot}/none`, {})).to.deep.equal(
        [],
      );
      await write();
      const elsewhere = { ...transaction, to: FACTORY };
      const other = { vault: FACTORY, transaction: elsewhere };
      await write(
        other,
        FILE.replace(VAULT.toLowerCase(), FACTORY.toLowerCase()),
      );
      for (const name of [
        `x${path.basename(FILE)}`,
        `${path.basename(FILE)}.bak`,
        "31337-0xab.json",
      ]) {
        await write({}, `vault-deployments/${name}`);
      }
      await writeFile(path.join(projectRoot, FILE.replace("31337", "7")), "{");
      const vaultsOf = async (
        wanted: Parameters<typeof unfinishedEntries>[1],
      ): Promise<readonly string[]> =>
        (await unfinishedEntries(projectRoot, wanted))
          .map(({ vault }) => vault)
          .sort();
      expect(await vaultsOf({})).to.deep.equal([VAULT, FACTORY]);
      expect(await vaultsOf({ vault: VAULT })).to.deep.equal([VAULT]);
      expect(await vaultsOf({ chainId: 31_337 })).to.deep.equal([
        VAULT,
        FACTORY,
      ]);
      expect(await vaultsOf({ chainId: 7 })).to.deep.equal([]);
      expect(
        await readdir(path.join(projectRoot, "vault-deployments")),
      ).to.have.length(6);
    });
  });
});

import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";

import { expect } from "chai";

import type { Address } from "../../src/protocol/index.js";
import { toJsonValue } from "../../src/json.js";
import type { JournalEntry } from "../../src/sending/journal.js";
import type { SettlementResult } from "../../src/settlement/effect.js";
import type { SentTransaction } from "../../src/sending/transaction.js";
import { runSettlement } from "../../src/settlement/settle-all.js";
import type {
  SettleAllOptions,
  Settlement,
  SettlementEvent,
} from "../../src/settlement/options.js";
import { BareHost } from "./bare-host.js";
import { endDeadlines } from "./deadlines.js";
import { fieldsOf } from "./fields.js";
import {
  GENESIS,
  KEY,
  OPEN_ROUND,
  SETTLE,
  SETTLER,
  VAULT,
  nextRound,
  settledRound,
} from "./scripted-contracts.js";
import { HASH } from "./names.js";
import { ScriptedNode } from "./scripted-node.js";
import { fieldsIn } from "./settlement-cases.js";
import type { AnyKeeper, StatusAndCode } from "./settlement-cases.js";

/** Changes to the configuration of a network whose account is a local key. */
export type NetworkChanges = Readonly<Record<string, unknown>>;

export const SENDS = ["eth_sendRawTransaction", "eth_sendTransaction"];
export const OTHER_KEY = `0x${"22".repeat(32)}`;
export const GUARD: Address = "0x00000000000000000000000000000000000000A7";

/** A settlement to sign, as it was sent, and as the journal has it. */
export const unsigned = {
  ...{ from: SETTLER, to: VAULT, data: SETTLE },
  ...{ chainId: 31_337, nonce: 7, gas: 100_000n },
};
/** As a node signs it, whose answer has the hash. */
export const unsignedSettlement = {
  ...unsigned,
  kind: "settlement",
  preparedAt: 1_700_000_000_000,
} as const;
export const sent: SentTransaction = {
  ...unsignedSettlement,
  fees: { gasPrice: 1n },
  raw: "0x02",
  hash: HASH,
};
export const entry: JournalEntry = {
  sentAfterBlock: 5,
  round: OPEN_ROUND,
  transactions: [{ ...unsignedSettlement, hash: HASH }],
};
export const minedReceipt = {
  ...{ hash: HASH, blockNumber: 6, blockHash: HASH },
  ...{ gasUsed: 1n, cost: undefined, succeeded: true },
  ...{ logs: [], contractAddress: null },
};
/** Whose the journal is, and its file. */
export const journalSubject = {
  chainKind: "live",
  chainId: 31_337,
  genesisHash: GENESIS,
  vault: VAULT,
} as const;
export const JOURNAL_FILE = `vault-deployments/settlement-live-31337-${VAULT.toLowerCase()}.json`;

/** An account of the configuration, as Hardhat resolves it. */
export function keyOf(
  key: string | Error,
): Readonly<Record<string, () => Promise<string>>> {
  const get = async (): Promise<string> =>
    await (key instanceof Error ? Promise.reject(key) : Promise.resolve(key));
  return { get, getHexString: get };
}

/** Far above any price of the scripted node. */
const FEE_LIMIT = 10n ** 15n;
/** A live network whose settings have no limit of the fee. */
export const unlimited: NetworkChanges = {
  vault: { maxFeePerGasLimit: undefined },
};

export const remote: NetworkChanges = { accounts: "remote" };

/** An account that settles a vault on a scripted node, with a project of its own. */
export class Keeper implements AnyKeeper {
  public chain = new ScriptedNode();
  public events: SettlementEvent[] = [];
  public projectRoot = "";

  /** Starts again with another node, and no journal. */
  public async reset(): Promise<void> {
    this.chain = new ScriptedNode();
    this.events = [];
    await rm(path.dirname(this.journalFile()), {
      recursive: true,
      force: true,
    });
  }

  public host(changes: NetworkChanges = {}): BareHost {
    const settings = {
      accounts: [keyOf(KEY)],
      ...changes,
      // Nobody is asked on a live chain without a limit.
      vault: { maxFeePerGasLimit: FEE_LIMIT, ...fieldsOf(changes.vault ?? {}) },
    };
    return this.chain.host({ settings, projectRoot: this.projectRoot });
  }

  public async end(
    options: SettleAllOptions,
    host: NetworkChanges | BareHost,
  ): Promise<SettlementResult> {
    this.events = [];
    return await runSettlement(
      host instanceof BareHost ? host : this.host(host),
      {
        pollingInterval: 1,
        timeout: 60_000,
        // No block comes after that of the transaction.
        confirmations: 1,
        ...options,
        onEvent: async (event) => {
          this.events.push(event);
          await options.onEvent?.(event);
        },
      },
    );
  }

  public async settle(
    options: SettleAllOptions = {},
    network: NetworkChanges = {},
  ): Promise<Settlement> {
    return (await this.end(options, network)).settlement;
  }

  public get types(): string {
    return this.events.map(({ type }) => type).join(" ");
  }

  public get troubles(): string {
    return this.events
      .flatMap((event) => (event.type === "trouble" ? [event.message] : []))
      .join();
  }

  public get sends(): number {
    return SENDS.reduce((sum, method) => sum + this.chain.count(method), 0);
  }

  public journalFile(end: "" | ".finished" = ""): string {
    const name = JOURNAL_FILE.replace(/\.json$/u, `${end}.json`);
    return path.join(this.projectRoot, name);
  }

  public changeGenesis(hash: string | undefined): void {
    this.chain.on("eth_getBlockByNumber", async ([tag], answer) => {
      const block = await answer();
      return tag !== "0x0"
        ? block
        : hash === undefined
          ? null
          : { ...fieldsOf(block), hash };
    });
  }

  public async journal(
    end: "" | ".finished" = "",
  ): Promise<Readonly<Record<string, unknown>>> {
    return fieldsOf(JSON.parse(await readFile(this.journalFile(end), "utf8")));
  }

  public async writeJournal(
    content: unknown,
    end: "" | ".finished" = "",
  ): Promise<void> {
    const file = this.journalFile(end);
    await mkdir(path.dirname(file), { recursive: true });
    await writeFile(
      file,
      typeof content === "string"
        ? content
        : JSON.stringify(toJsonValue(content)),
    );
  }

  /** Each answer to a send is lost, the transaction with it, and then the time is over. */
  public loseTransactions(): void {
    for (const method of SENDS) {
      this.chain.on(method, () => {
        endDeadlines();
        throw connectionLost();
      });
    }
  }

  /** Leaves an unfinished settlement, which the node never got. */
  public async interrupt(
    network: NetworkChanges = {},
    options: SettleAllOptions = {},
  ): Promise<Settlement> {
    this.loseTransactions();
    const interrupted = await this.settle(options, network);
    expect(interrupted.status).to.equal("unconfirmed");
    // Another node with the same blocks, and without the pool.
    const { rounds, mined } = this.chain;
    this.chain = new ScriptedNode();
    Object.assign(this.chain, { rounds, mined });
    return interrupted;
  }

  public settleByOther(): void {
    this.chain.mine(settledRound);
  }

  public openNextRound(): void {
    this.chain.mine(nextRound);
  }

  public refuseWith(data: string): void {
    this.chain.revertsWith = data;
  }

  public stopMining(): void {
    this.chain.mines = false;
    this.endAtLook(2);
  }

  /** The time is over when the receipt is looked for so often. */
  public endAtLook(number: number): void {
    this.chain.on("eth_getTransactionReceipt", async (_, answer, seen) => {
      if (seen >= number - 1) {
        endDeadlines();
      }
      return await answer();
    });
  }

  public beforeSending(act: () => unknown): void {
    for (const method of SENDS) {
      this.chain.on(method, async (_, answer) => {
        await act();
        return await answer();
      });
    }
  }

  public settlementCount(): number {
    return this.chain.mined.filter(({ succeeded }) => succeeded).length;
  }
}

export function connectionLost(): Error {
  return Object.assign(new Error("socket hang up"), { code: "ECONNRESET" });
}

/** A keeper with a new node and no journal in each test. */
export function useKeeper(): Keeper {
  const keeper = new Keeper();
  before(async () => {
    keeper.projectRoot = await mkdtemp(
      path.join(tmpdir(), "hardhat-vault-keeper-"),
    );
  });
  beforeEach(async () => {
    await keeper.reset();
  });
  after(async () => {
    await rm(keeper.projectRoot, { recursive: true });
  });
  return keeper;
}

/** One behaviour: what is given, what is asked, and what comes of it. */
export interface SettlementCase {
  readonly title: string;
  readonly given?: (keeper: Keeper) => unknown;
  readonly network?: NetworkChanges;
  readonly options?: SettleAllOptions | ((keeper: Keeper) => SettleAllOptions);
  readonly is?: StatusAndCode | Partial<Settlement>;
  readonly says?: RegExp | readonly string[];
  /** Number of requests that send. Default: 1 if it settled, or was to. */
  readonly sends?: number;
  readonly events?: string;
  readonly then?: (keeper: Keeper, settlement: Settlement) => unknown;
}

export function itSettles(
  keeper: Keeper,
  cases: readonly SettlementCase[],
): void {
  for (const one of cases) {
    it(one.title, async () => {
      await one.given?.(keeper);
      const { options = {}, says = [], is = {} } = one;
      const expected = typeof is === "string" ? fieldsIn(is) : is;
      const settlement = await keeper.settle(
        typeof options === "function" ? options(keeper) : options,
        one.network,
      );
      const text = settlement.reason ?? "";
      expect(settlement, text).to.deep.include(expected);
      if (says instanceof RegExp) {
        expect(text).to.match(says);
      } else {
        says.forEach((part) => expect(text).to.include(part));
      }
      const isSent = ["settled", "not-settled"].includes(
        String(expected.status),
      );
      expect(keeper.sends, "requests that send").to.equal(
        one.sends ?? Number(isSent),
      );
      if (one.events !== undefined) {
        expect(keeper.types).to.equal(one.events);
      }
      await one.then?.(keeper, settlement);
    });
  }
}

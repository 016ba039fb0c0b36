import { expect } from "chai";
import { ZeroAddress, toQuantity } from "ethers";

import { noCode } from "../../src/client/codec.js";
import { failedReading } from "../../src/client/read-at-block.js";
import { vaultError } from "../../src/errors.js";
import type { VaultErrorCode } from "../../src/errors.js";
import { parseGuarded } from "../../src/guard/round-guard.js";
import {
  describeUnfinished,
  findNextRun,
  findSenderWithoutKeys,
  findUnfinished,
} from "../../src/settlement/next-run.js";
import type { VaultAt } from "../../src/settlement/next-run.js";
import { expectVaultError } from "../helpers/assertions.js";
import { fieldsOf } from "../helpers/fields.js";
import { codedError } from "../helpers/foreign-errors.js";
import { guardCode } from "../helpers/guard.js";
import { GUARD, entry, journalSubject, useKeeper } from "../helpers/keeper.js";
import { HASH } from "../helpers/names.js";
import {
  OPEN_ROUND,
  SETTLE,
  SETTLER,
  VAULT,
  nextRound,
  settledRound,
} from "../helpers/scripted-contracts.js";
import { ScriptedNode } from "../helpers/scripted-node.js";
import { NOT_YET } from "../helpers/settlement-cases.js";

const NOW = 1_700_000_000;

describe("the account that a settlement is tried as", () => {
  const find = async (
    accounts: unknown,
    { given, from }: { readonly given?: string; readonly from?: string },
    answer: () => unknown,
  ) => {
    const chain = new ScriptedNode();
    chain.on("eth_accounts", answer);
    // A connection for reading is opened without the accounts.
    const connected = { accounts: "remote", from };
    const host = chain.host({ settings: connected });
    const networks = { scripted: { type: "http", accounts } };
    Object.defineProperty(host, "context", { value: { config: { networks } } });
    return await findSenderWithoutKeys(host, given);
  };

  for (const [title, accounts, named, listed, address] of [
    ["the given one", [], { given: VAULT, from: SETTLER }, [], VAULT],
    ["from, though there are keys", [], { from: VAULT }, [SETTLER], VAULT],
    ["not known if only a key names it", [], {}, [SETTLER], ZeroAddress],
    ["the first of the node", "remote", {}, [SETTLER, VAULT], SETTLER],
    ["not known if the node has none", "remote", {}, [], ZeroAddress],
  ] as const) {
    it(`is ${title}`, async () => {
      const found = await find(accounts, named, () => listed);
      expect(found).to.equal(address);
    });
  }

  it("is not guessed if the node cannot be reached: VAULT_NETWORK_UNREACHABLE", async () => {
    const finding = find("remote", {}, () => {
      throw codedError("ECONNREFUSED");
    });
    await expectVaultError(finding, "VAULT_NETWORK_UNREACHABLE");
  });
});

describe("would the next unattended run settle, and if not, why?", () => {
  const block = { number: 5, timestamp: 1_700_000_005 };
  const hostOf = (chain: ScriptedNode, vault: object = {}) =>
    chain.host({ settings: { vault } });
  const known = {
    round: OPEN_ROUND,
    volume: 1n,
    block,
    at: 5,
    unfinished: null,
  };
  const located = { address: GUARD, source: "a test" };
  const absent = failedReading(noCode("vault", located, "scripted"));
  const reverted = failedReading(
    vaultError("VAULT_CALL_REVERTED", {
      ...{ operation: "getLatestRoundInfo", contract: "factory" },
      ...{ address: VAULT, source: "a test", reason: "no", hint: "" },
    }),
  );
  const settled = settledRound(OPEN_ROUND);
  const refused = (chain: ScriptedNode): void => {
    chain.revertsWith = NOT_YET;
  };
  /** The vault of another factory: the call leaves the round open. */
  const elsewhere = (chain: ScriptedNode): void => {
    chain.effect = (round) => round;
  };
  const poor = (chain: ScriptedNode): void => {
    chain.on("eth_maxPriorityFeePerGas", () => toQuantity(10n ** 14n));
  };
  const pending = (chain: ScriptedNode): void => {
    chain.on("eth_getTransactionCount", ([, at]) =>
      at === "pending" ? "0x2" : "0x0",
    );
  };
  const damaged = failedReading(
    vaultError("VAULT_INVALID_JOURNAL", {
      file: "it",
      problem: "cut",
    }),
  );
  interface Row {
    readonly given?: (chain: ScriptedNode) => void;
    readonly state?: Partial<VaultAt>;
    readonly settings?: object;
    /** Default: true. */
    readonly is?: false | null;
    readonly code?: VaultErrorCode;
    readonly says?: RegExp;
  }
  const rows: Readonly<Record<string, Row>> = {
    yes: {},
    "not known: no factory": {
      state: { round: absent },
      is: null,
      code: "VAULT_NO_CODE",
    },
    "not known: no vault": {
      state: { volume: absent },
      is: null,
      code: "VAULT_NO_CODE",
    },
    "yes, whatever reverts": { state: { round: reverted } },
    "no: settled": {
      state: { round: settled },
      is: false,
      says: /is settled$/u,
    },
    "no: the contract refuses": {
      given: refused,
      is: false,
      code: "VAULT_CALL_REVERTED",
      says: /^not yet$/u,
    },
    "no: vault and factory do not belong together": {
      given: elsewhere,
      is: false,
      code: "VAULT_WOULD_NOT_SETTLE",
    },
    "no: transactions of the account are pending": {
      given: pending,
      is: false,
      code: "VAULT_PENDING_TRANSACTIONS",
      says: /not mined yet: 2, from nonce 0 on/u,
    },
    "yes, though one is pending that is under way and that it follows first": {
      given: pending,
      state: { unfinished: { hash: null, nonce: 0, since: NOW } },
    },
    "yes, though the contract refuses a second one while the first is under way":
      {
        given: refused,
        state: { unfinished: { hash: HASH, nonce: 0, since: NOW } },
      },
    "no: the account cannot pay": {
      given: poor,
      is: false,
      code: "VAULT_INSUFFICIENT_FUNDS",
    },
    "no: gas costs more than the limit": {
      settings: { maxFeePerGasLimit: 1n },
      is: false,
      code: "VAULT_FEE_ABOVE_LIMIT",
    },
    "no: the node is behind, also if it has a settled round": {
      state: { round: settled },
      settings: { maxHeadAge: 300 },
      is: false,
      code: "VAULT_STALE_HEAD",
      says: /s old \(block 5\)/u,
    },
    "no: the journal is damaged": {
      state: { unfinished: damaged },
      is: false,
      code: "VAULT_INVALID_JOURNAL",
    },
  };
  for (const [title, row] of Object.entries(rows)) {
    it(`is ${title}`, async () => {
      const { state, settings = {}, is = true, code = null, says } = row;
      const chain = new ScriptedNode();
      row.given?.(chain);
      const host = hostOf(chain, settings);
      const found = await findNextRun(host, SETTLER, { ...known, ...state });
      expect(found).to.include({
        canBeSettled: is,
        code,
      });
      expect(found.reason === null).to.equal(is === true);
      expect(String(found.reason)).to.match(says ?? /./u);
    });
  }

  it("is not known if the zero address is refused, and no other is named", async () => {
    const chain = new ScriptedNode();
    refused(chain);
    const found = await findNextRun(hostOf(chain), ZeroAddress, known);
    const { canBeSettled, reason } = found;
    expect(canBeSettled).to.equal(null);
    expect(reason).to.match(/^the zero address is refused: not yet\. /u);
  });

  it("is tried at the block of the readings", async () => {
    const chain = new ScriptedNode();
    chain.mine();
    await findNextRun(hostOf(chain), SETTLER, known);
    const tries = chain.asked.filter(({ params }) =>
      JSON.stringify(params).includes(SETTLE),
    );
    expect(
      tries.map((request) => [request.method, chain.blockOf(request)]),
    ).to.deep.equal([["eth_simulateV1", 5]]);
  });

  it("is called, with all gas of a block, if the node cannot simulate", async () => {
    const chain = new ScriptedNode();
    chain.mine();
    chain.overrides = false;
    await findNextRun(hostOf(chain), SETTLER, known);
    const calls = chain.asked.filter(({ method }) => method === "eth_call");
    const call = { from: SETTLER, to: VAULT, data: SETTLE, gas: "0x1c9c380" };
    expect(calls.at(-1)?.params).to.deep.equal([call, "0x5"]);
  });

  it("is called through the guard that is there at the block of the readings, for their round", async () => {
    const chain = new ScriptedNode();
    chain.overrides = false;
    chain.on("eth_getCode", async ([address, at], answer) =>
      address !== GUARD ? await answer() : at === "0x5" ? guardCode() : "0x",
    );
    const host = hostOf(chain);
    host.guard = GUARD;
    const round = nextRound(OPEN_ROUND);
    await findNextRun(host, SETTLER, { ...known, round });
    const { data } = fieldsOf(
      chain.asked.findLast(({ method }) => method === "eth_call")?.params[0],
    );
    const { startTime, strikePrice } = round;
    expect(parseGuarded(GUARD, String(data))?.guard.round).to.deep.equal({
      ...{ startTime, strikePrice },
    });
  });
});

describe("the next unattended run after a settlement of the round that reverted", () => {
  const keeper = useKeeper();

  it("would not settle, and names the transaction: VAULT_REVERTED_BEFORE", async () => {
    keeper.chain.on("eth_getTransactionReceipt", async (_, answer) => {
      const receipt = await answer();
      return receipt === null ? null : { ...fieldsOf(receipt), status: "0x0" };
    });
    keeper.chain.effect = (round) => round;
    const { status, hash } = await keeper.settle({ partial: true });
    expect(status).to.equal("reverted");
    // What made it revert may last.
    keeper.chain.revertsWith = NOT_YET;
    const block = { number: keeper.chain.head, timestamp: 1_700_000_006 };
    const found = await findNextRun(keeper.host(), SETTLER, {
      round: OPEN_ROUND,
      volume: 1n,
      block,
      at: block.number,
      unfinished: null,
    });
    expect(found).to.include({
      ...{ canBeSettled: false, code: "VAULT_REVERTED_BEFORE" },
    });
    expect(found.reason).to.include(String(hash));
    expect(found.fix).to.include("--retry-reverted");
  });
});

describe("findUnfinished()", () => {
  const keeper = useKeeper();

  it("finds when the transaction in the journal was signed", async () => {
    await keeper.writeJournal({ version: 1, ...journalSubject, ...entry });
    const found = await findUnfinished(keeper.host());
    expect(found).to.deep.equal({ hash: HASH, nonce: 7, since: 1_700_000_000 });
  });
});

describe("describeUnfinished()", () => {
  for (const [hash, what] of [
    [HASH, HASH],
    [null, "nonce 7, its hash not known"],
  ] as const) {
    it(`names ${what}, and when it was signed`, () => {
      const text = describeUnfinished({ hash, nonce: 7, since: NOW });
      expect(text).to.equal(`${what}, since 2023-11-14T22:13:20Z`);
    });
  }
});

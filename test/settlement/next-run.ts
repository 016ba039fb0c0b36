import { expect } from "chai";
import { Interface, ZeroAddress } from "ethers";

import { noCode } from "../../src/client/codec.js";
import { failedReading } from "../../src/client/failed-reading.js";
import { vaultError } from "../../src/errors.js";
import { RoundGuardArtifact } from "../../src/guard/artifact.js";
import { parseGuarded } from "../../src/guard/round-guard.js";
import {
  describeUnfinished,
  findNextRun,
  findSettler,
  findUnfinished,
} from "../../src/settlement/next-run.js";
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
    return await findSettler(host, given);
  };

  for (const [title, accounts, named, listed, address] of [
    ["the given one", [], { given: VAULT, from: SETTLER }, [], VAULT],
    ["from, though there are keys", [], { from: VAULT }, [SETTLER], VAULT],
    ["not known if only a key names it", [], {}, [SETTLER], ZeroAddress],
    ["the first of the node", "remote", {}, [SETTLER, VAULT], SETTLER],
    ["not known if the node has none", "remote", {}, [], ZeroAddress],
  ] as const) {
    it(`is ${title}`, async () => {
      const isKnown = address !== ZeroAddress;
      const found = await find(accounts, named, () => listed);
      expect(found).to.deep.equal({ address, isKnown });
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
  const settler = { address: SETTLER, isKnown: true };
  const block = { number: 5, timestamp: 1_700_000_005 };
  const known = { round: OPEN_ROUND, volume: 1n, block, at: 5, open: null };
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
    const { abi } = RoundGuardArtifact;
    chain.on("eth_call", async ([call, , overrides], answer) => {
      const data = String(fieldsOf(call)["data"]);
      if (overrides === undefined || parseGuarded(GUARD, data) === undefined) {
        return await answer();
      }
      const words = new Interface(abi).encodeErrorResult("RoundNotSettled");
      throw Object.assign(new Error("execution reverted"), {
        ...{ code: 3, data: words },
      });
    });
  };
  const pending = (chain: ScriptedNode): void => {
    chain.on("eth_getTransactionCount", ([, at]) =>
      at === "pending" ? "0x2" : "0x0",
    );
  };
  const none = (): void => undefined;

  for (const [title, given, changes, settings, canBeSettled, code, says] of [
    ["yes", none, {}, {}, true, null, /^null$/u],
    [
      "not known: no factory",
      ...([
        none,
        { round: absent },
        {},
        null,
        "VAULT_NO_CODE",
        /code/u,
      ] as const),
    ],
    [
      "not known: no vault",
      ...([
        none,
        { volume: absent },
        {},
        null,
        "VAULT_NO_CODE",
        /code/u,
      ] as const),
    ],
    [
      "yes, whatever reverts",
      ...([none, { round: reverted }, {}, true, null, /^null$/u] as const),
    ],
    [
      "no: settled",
      ...([none, { round: settled }, {}, false, null, /is settled$/u] as const),
    ],
    [
      "no: the contract refuses",
      ...([
        refused,
        {},
        {},
        false,
        "VAULT_CALL_REVERTED",
        /^not yet$/u,
      ] as const),
    ],
    [
      "no: vault and factory do not belong together",
      ...([
        ...[elsewhere, {}, {}, false, "VAULT_WOULD_NOT_SETTLE"],
        /the round is not settled by it/u,
      ] as const),
    ],
    [
      "no: transactions of the account are pending",
      ...([
        ...[pending, {}, {}, false, "VAULT_PENDING_TRANSACTIONS"],
        /not mined yet: 2, from nonce 0 on/u,
      ] as const),
    ],
    [
      "yes, though one is pending that is under way and that it follows first",
      ...([
        pending,
        { open: { hash: null, nonce: 0, since: null } },
        ...[{}, true, null, /^null$/u],
      ] as const),
    ],
    [
      "no: gas costs more than the limit",
      ...([
        ...[none, {}, { maxFeePerGasLimit: 1n }, false],
        ...["VAULT_FEE_ABOVE_LIMIT", /maxFeePerGasLimit/u],
      ] as const),
    ],
    [
      "no: the node is behind, also if it has a settled round",
      ...([
        ...[none, { round: settled }, { maxHeadAge: 300 }, false],
        ...["VAULT_STALE_HEAD", /s old \(block 5\)/u],
      ] as const),
    ],
    [
      "yes at a past block, whatever the account and the node are now",
      pending,
      { open: undefined },
      { maxHeadAge: 300, maxFeePerGasLimit: 1n },
      ...([true, null, /^null$/u] as const),
    ],
    [
      "no: the journal is damaged",
      none,
      {
        open: failedReading(
          vaultError("VAULT_INVALID_JOURNAL", {
            file: "it",
            problem: "cut",
            remedy: "",
          }),
        ),
      },
      ...([{}, false, "VAULT_INVALID_JOURNAL", /it/u] as const),
    ],
  ] as const) {
    it(`is ${title}`, async () => {
      const chain = new ScriptedNode();
      given(chain);
      const host = chain.host({ settings: { vault: settings } });
      const {
        reason,
        fix: _,
        ...found
      } = await findNextRun(host, settler, {
        ...known,
        ...changes,
      });
      const canBeSettledBy = SETTLER;
      expect(found).to.deep.equal({ canBeSettled, canBeSettledBy, code });
      expect(String(reason)).to.match(says);
    });
  }

  it("is not known if the zero address is refused, and no other is named", async () => {
    const chain = new ScriptedNode();
    refused(chain);
    const zero = { address: ZeroAddress, isKnown: false };
    const { canBeSettled, reason } = await findNextRun(
      chain.host(),
      ...[zero, known],
    );
    expect(canBeSettled).to.equal(null);
    expect(reason).to.match(/^the zero address is refused: not yet\. /u);
  });

  it("calls at the block of the readings, with all gas of a block, and then by a guard's code at the caller's own address", async () => {
    const chain = new ScriptedNode();
    chain.mine();
    await findNextRun(chain.host(), settler, { ...known, open: undefined });
    const [first, second, ...more] = chain.asked.filter(
      ({ method }) => method === "eth_call",
    );
    const gas = "0x1c9c380";
    expect(first?.params).to.deep.equal([
      { from: SETTLER, to: VAULT, data: SETTLE, gas },
      "0x5",
    ]);
    expect(second?.params[0]).to.include({ from: SETTLER, to: SETTLER, gas });
    expect(second?.params.slice(1)).to.deep.equal([
      "0x5",
      { [SETTLER]: { code: RoundGuardArtifact.deployedBytecode } },
    ]);
    expect(more).to.deep.equal([]);
  });

  it("asks the guard that is there at the block of the readings for their round", async () => {
    const chain = new ScriptedNode();
    chain.on("eth_getCode", ([, at]) => (at === "0x5" ? guardCode() : "0x"));
    const host = chain.host();
    host.guard = GUARD;
    const round = nextRound(OPEN_ROUND);
    await findNextRun(host, settler, { ...known, round });
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
    const block = { number: keeper.chain.head, timestamp: 1_700_000_006 };
    const found = await findNextRun(
      keeper.host(),
      { address: SETTLER, isKnown: true },
      { round: OPEN_ROUND, volume: 1n, block, at: block.number, open: null },
    );
    expect(found).to.include({
      ...{ canBeSettled: false, code: "VAULT_REVERTED_BEFORE" },
    });
    expect(found.reason).to.include(String(hash));
    expect(found.fix).to.include("--retry-reverted");
  });
});

describe("findUnfinished()", () => {
  const keeper = useKeeper();

  it("finds no start in an older journal", async () => {
    const older = { version: 1, ...journalSubject, ...entry, since: undefined };
    await keeper.writeJournal(older);
    const found = await findUnfinished(keeper.host());
    expect(found).to.deep.equal({ hash: HASH, nonce: 7, since: null });
  });
});

describe("describeUnfinished()", () => {
  it("counts seconds by this machine's clock", () => {
    const since = Math.floor(Date.now() / 1_000);
    const text = describeUnfinished({ hash: HASH, nonce: 7, since });
    expect(text).to.match(/, \d s old/u);
  });

  const since = 1_700_000_000;
  const at = "since 2023-11-14T22:13:20Z";
  for (const [title, found, says] of [
    [
      "names its hash and age",
      { hash: HASH, since },
      `${HASH}, 9 s old, ${at}`,
    ],
    [
      "names the nonce of one without a hash",
      { hash: null, since },
      `nonce 7, its hash not known, 9 s old, ${at}`,
    ],
    [
      "does not know the age in an older journal",
      { hash: HASH, since: null },
      `${HASH}, its age is not known`,
    ],
    [
      "has no negative age if the clock was set back",
      { hash: HASH, since: since + 10 },
      `${HASH}, 0 s old, since 2023-11-14T22:13:30Z`,
    ],
  ] as const) {
    it(title, () => {
      expect(describeUnfinished({ nonce: 7, ...found }, since + 9)).to.equal(
        says,
      );
    });
  }
});

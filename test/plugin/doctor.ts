import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import path from "node:path";
import { mock } from "node:test";

import { expect } from "chai";
import { Interface, id, toQuantity } from "ethers";

import type { ContractAddresses } from "../../src/client/index.js";
import { encodeRevertData } from "../../src/mocks/index.js";
import { examineVault, examineSigner } from "../../src/plugin/doctor.js";
import type { Check } from "../../src/plugin/doctor.js";
import { operations } from "../../src/protocol/index.js";
import { BareHost } from "../helpers/bare-host.js";
import { named, outline } from "../helpers/checks.js";
import {
  documentedAnswer,
  documentedContracts,
} from "../helpers/documented-node.js";
import { codedError } from "../helpers/foreign-errors.js";
import { entry, journalSubject, useKeeper } from "../helpers/keeper.js";
import { pathsOf } from "../helpers/readings.js";
import {
  SETTLER,
  OPEN_ROUND,
  SETTLE,
  VAULT,
  codeOfVault,
  isSame,
  settledRound,
  valuesAnswer,
  word,
} from "../helpers/scripted-contracts.js";
import { ScriptedNode } from "../helpers/scripted-node.js";
import { RoundGuardArtifact } from "../../src/guard/artifact.js";
import { fieldsOf, listOf } from "../helpers/fields.js";
import { guardCode } from "../helpers/guard.js";

const closed = encodeRevertData("closed");
const block = { number: 5, timestamp: 1_000 };

describe("what doctor finds out of a node", () => {
  const examine = async (
    kind: "live" | "development",
    age: number,
    settings: Readonly<Record<string, unknown>> = {},
  ): Promise<readonly Check[]> => {
    const node = new ScriptedNode({ head: block.number });
    if (kind === "development") {
      node.makeDevelopmentNode();
    }
    return await examineVault(
      node.host({ settings: { vault: { maxHeadAge: 300 }, ...settings } }),
      { chainId: 56, block },
      (block.timestamp + age) * 1_000,
    );
  };

  for (const [kind, configured, status, detail] of [
    ["live", undefined, "warn", "chain id 56; none is configured"],
    ["development", undefined, "ok", "chain id 56"],
    ["live", 56, "ok", "chain id 56, as configured"],
    ["development", 1, "fail", "chain id 56, but 1 is configured"],
  ] as const) {
    it(`doctor finds the chain id 56 of a ${kind} node ${status} if ${String(configured)} is configured`, async () => {
      const settings = configured === undefined ? {} : { chainId: configured };
      const checks = await examine(kind, 0, settings);
      expect(named(checks, "network")).to.include({ status, detail });
    });
  }

  for (const [kind, age, status, detail] of [
    ["live", 300.4, "ok", "block 5, 300 s old"],
    ["live", 300.5, "fail", "block 5, 301 s old; maxHeadAge is 300 s"],
    [
      "live",
      -301,
      "warn",
      "block 5, 301 s ahead of this machine's clock; maxHeadAge is 300 s",
    ],
    ["development", 301, "ok", "block 5, 301 s old"],
  ] as const) {
    it(`doctor finds the latest block of a ${kind} node ${status} if it is ${age} s old`, async () => {
      expect(named(await examine(kind, age), "head")).to.include({
        status,
        detail,
      });
    });
  }
});

describe("what doctor finds out of contracts", () => {
  /** Contracts that answer as documented, but for operations that revert. */
  const examine = async (
    reverting: Readonly<Record<string, string>> = {},
    contracts: ContractAddresses = documentedContracts,
  ): Promise<readonly Check[]> => {
    const node = new ScriptedNode({
      codeOf: () => "0x01",
      answerOf: (call) => {
        const [, data] =
          Object.entries(operations).flatMap(([name, { selector }]) =>
            call.data.startsWith(selector) && reverting[name] !== undefined
              ? [[name, reverting[name]]]
              : [],
          )[0] ?? [];
        return data === undefined
          ? documentedAnswer(call)
          : { reverted: true, data };
      },
    });
    const host = node.host({ contracts, projectRoot: process.cwd() });
    return await examineVault(host, { chainId: 1, block });
  };

  it("doctor finds contracts ok, with address and readings", async () => {
    const checks = await examine();
    expect(outline(checks).slice(2)).to.deep.equal([
      ...["underlying asset ok", "public pool ok", "private pool ok"],
      ...["trading ok", "vault factory ok", "vault ok", "journal ok"],
    ]);
    expect(named(checks, "vault").detail).to.equal(
      `${documentedContracts.vault} answers ${pathsOf("vault").join(", ")}`,
    );
  });

  for (const [reverting, status, operation] of [
    [{ queryVolume: closed }, "warn", "queryVolume reverted: closed"],
    [{ queryVolume: "0x" }, "fail", "queryVolume reverted: no reason"],
    [
      { queryVolume: closed, queryMarginBalance: "0x" },
      "fail",
      "queryMarginBalance reverted: no reason",
    ],
  ] as const) {
    it(`doctor finds the vault ${status}, with "${operation}", if ${Object.keys(reverting).join(" and ")} revert`, async () => {
      const vault = named(await examine(reverting), "vault");
      expect(vault.status).to.equal(status);
      expect(vault.detail.slice(0, operation.length)).to.equal(operation);
    });
  }

  const { vault, vaultFactory } = documentedContracts;
  for (const [contracts, status, detail] of [
    [
      {},
      "fail",
      "for underlying asset, public pool, private pool, trading, vault",
    ],
    [
      { vault },
      "warn",
      "for underlying asset, public pool, private pool, trading, vault factory",
    ],
    [{ vault, vaultFactory }, "ok", "settling needs none"],
  ] as const) {
    it(`doctor finds missing addresses ${status}, with one remedy, if these contracts have one: ${Object.keys(contracts).join()}`, async () => {
      const checks = await examine({}, contracts);
      const missing = named(checks, "addresses");
      expect(missing.status).to.equal(status);
      expect(missing.detail).to.include(detail);
      const fixes = checks.flatMap(({ fix }) => fix ?? []);
      expect(
        fixes.filter((fix) => fix.includes("For a deployed")),
      ).to.have.length(status === "ok" ? 0 : 1);
    });
  }
});

describe("what doctor finds out of the journal", () => {
  const keeper = useKeeper();
  const examine = async (host: BareHost): Promise<readonly Check[]> =>
    (await examineVault(host, { chainId: 31_337, block })).filter(
      ({ name }) => name === "journal",
    );

  it("doctor finds no journal ok, and fails for one that cannot be read", async () => {
    expect(outline(await examine(keeper.host()))).to.deep.equal(["journal ok"]);
    await keeper.writeJournal("{");
    const [journal] = await examine(keeper.host());
    expect(journal).to.include({ name: "journal", status: "fail" });
    expect(journal?.detail).to.contain("vault-deployments/settlement-live");
    const nowhere = new BareHost(keeper.chain, {}, SETTLER);
    expect(await examine(nowhere)).to.deep.equal([]);
  });

  it("doctor warns of a settlement that is under way, and names the command that finishes it", async () => {
    const { hash } = await keeper.interrupt();
    const host = keeper.host();
    const [journal] = await examine(host);
    expect(journal?.status).to.equal("warn");
    expect(journal?.detail).to.contain(
      `a settlement is under way: ${String(hash)}, `,
    );
    expect(journal?.fix).to.equal(
      "Finish it: `npx hardhat vault settle --resume --network scripted`. If it stays, raise its fee with --bump, or give it up with --cancel.",
    );
    host.instanceName = "usdc";
    const [ofInstance] = await examine(host);
    expect(ofInstance?.fix).to.contain("--network scripted --instance usdc`");
  });

  const finish = async (
    end: Readonly<Record<string, unknown>>,
  ): Promise<void> => {
    const file = { version: 1, ...journalSubject, ...entry, end };
    await keeper.writeJournal(file, ".finished");
  };

  it("doctor warns of the last settlement if it left a token in the guard, until one ends well, and names the setting", async () => {
    const code = "VAULT_GUARD_KEEPS_TOKENS";
    const reason = "a token stays in the clo\u001b[31msed guard.";
    await finish({ status: "settled", code, reason });
    const [journal] = await examine(keeper.host());
    expect(journal).to.include({
      status: "warn",
      detail: `the last settlement ended as settled with ${code}: a token stays in the clo\\u{1b}[31msed guard`,
    });
    expect(journal?.fix).to.include("setting `tokens`");
    expect(journal?.fix).to.include("settlement that ends well ends this");
    await finish({ status: "settled" });
    expect(outline(await examine(keeper.host()))).to.deep.equal(["journal ok"]);
  });

  it("doctor warns of the last settlement if it reverted, with its transaction and its reason", async () => {
    keeper.beforeSending(() => {
      keeper.chain.revertsWith = closed;
    });
    const { status, hash } = await keeper.settle();
    expect(status).to.equal("reverted");
    const [journal] = await examine(keeper.host());
    expect(journal).to.include({
      status: "warn",
      detail: `the last settlement (${hash}) ended as reverted with VAULT_CALL_REVERTED: closed`,
    });
  });

  const inNextRound = (): void => {
    keeper.beforeSending(() => {
      keeper.openNextRound();
    });
  };
  const withoutState = (): void => {
    inNextRound();
    keeper.chain.on("eth_call", async (params, answer) => {
      const { blockHash } = fieldsOf(params[1]);
      if (keeper.sends > 0 && blockHash !== undefined) {
        throw Object.assign(new Error("no state"), { code: -32_602 });
      }
      return await answer();
    });
  };
  for (const [status, code, why, given] of [
    ["not-settled", "VAULT_ROUND_CHANGED", "MISMATCH: .*", inNextRound],
    [
      "unconfirmed",
      "VAULT_ARCHIVE_NODE_NEEDED",
      ".* an archive node can show .*",
      withoutState,
    ],
  ] as const) {
    it(`doctor warns of the last settlement if it is ${status} for good, until one ends well: ${code}`, async () => {
      given();
      const settlement = await keeper.settle();
      expect(settlement).to.include({ status, code });
      const [journal] = await examine(keeper.host());
      expect(journal?.status).to.equal("warn");
      expect(journal?.detail).to.match(
        new RegExp(
          `^the last settlement \\(${settlement.hash}\\) ended as ${status} with ${code}: ${why}`,
          "u",
        ),
      );
      await keeper.reset();
      await finish({ status: "settled" });
      expect(outline(await examine(keeper.host()))).to.deep.equal([
        "journal ok",
      ]);
    });
  }

  it("doctor says nothing of a deliberate step that left the round open", async () => {
    keeper.chain.effect = (round) => ({ ...round, filledVolume: 7n });
    const step = await keeper.settle({ partial: true });
    expect(step).to.include({ status: "not-settled", code: null });
    expect(outline(await examine(keeper.host()))).to.deep.equal(["journal ok"]);
  });

  it("doctor fails if the last settlement cannot be read", async () => {
    await keeper.writeJournal("{", ".finished");
    const [journal] = await examine(keeper.host());
    expect(journal?.status).to.equal("fail");
    expect(journal?.detail).to.match(/finished\.json cannot be used/u);
  });

  for (const [title, hasFolder] of [
    ["its folder", true],
    ["the project's root, without its folder,", false],
  ] as const) {
    it(`doctor fails if ${title} is not writable, also while a settlement is under way`, async () => {
      const folder = path.dirname(keeper.journalFile());
      if (hasFolder) {
        await keeper.interrupt();
      }
      const closedPlace = hasFolder ? folder : keeper.projectRoot;
      const { access } = fs.promises;
      const method = mock.method(
        fs.promises,
        "access",
        async (place: string, mode: number) => {
          if (place === closedPlace && (mode & fs.constants.W_OK) !== 0) {
            const problem = new Error(`EACCES: denied, access '${place}'`);
            throw Object.assign(problem, { code: "EACCES" });
          }
          await access(place, mode);
        },
      );
      syncBuiltinESMExports();
      const [journal] = await examine(keeper.host()).finally(() => {
        method.mock.restore();
        syncBuiltinESMExports();
      });
      expect(journal?.status).to.equal("fail");
      expect(journal?.detail).to.match(/vault-deployments.*EACCES: denied$/u);
      expect(journal?.fix).to.include("writable");
    });
  }

  it("doctor asks for no folder in process, where no journal is kept", async () => {
    const place = path.join(keeper.projectRoot, "gone");
    const inProcess = { settings: { type: "edr-simulated" } };
    const host = keeper.chain.host({ ...inProcess, projectRoot: place });
    expect(outline(await examine(host))).to.deep.equal(["journal ok"]);
  });
});

describe("what doctor finds out of an earlier settlement", () => {
  const keeper = useKeeper();

  it("doctor fails after one of the same round that reverted, and names its transaction and --retry-reverted", async () => {
    keeper.beforeSending(() => {
      keeper.chain.revertsWith = closed;
    });
    const { status, hash } = await keeper.settle();
    expect(status).to.equal("reverted");
    keeper.chain.revertsWith = undefined;
    const checks = await examineSigner(keeper.host(), SETTLER);
    const settlement = named(checks, "settlement");
    expect(settlement.status).to.equal("fail");
    expect(settlement.detail).to.include(String(hash));
    expect(settlement.fix).to.include("--retry-reverted");
  });
});

describe("what doctor finds out of a signer", () => {
  const examine = async (
    node = new ScriptedNode(),
    gasPrice: bigint | "auto" = 10n ** 9n,
    contracts?: ContractAddresses,
  ): Promise<readonly Check[]> =>
    await examineSigner(
      node.host({
        settings: {
          ...{ accounts: "remote", gas: "auto", gasMultiplier: 1 },
          gasPrice,
        },
        ...(contracts !== undefined && { contracts }),
      }),
    );

  // The account has 10^18 wei.
  for (const [title, settled, gasPrice, status, supposed] of [
    ["an open round at a price it can pay", false, 10n ** 9n, "ok", false],
    [
      "an open round at a price it cannot pay",
      false,
      10n ** 15n,
      "fail",
      false,
    ],
    ["a settled round, with exactly enough", true, 10n ** 12n, "ok", true],
    ["a settled round, a bit short", true, 10n ** 12n + 1n, "warn", true],
  ] as const) {
    it(`doctor finds the balance ${status} for ${title}`, async () => {
      const node = new ScriptedNode();
      node.rounds = settled ? node.rounds.map(settledRound) : node.rounds;
      const balance = named(await examine(node, gasPrice), "balance");
      expect(balance.status).to.equal(status);
      const text =
        ", if it takes 1,000,000 gas: its gas is not known, since the contract refuses it now";
      expect(balance.detail.endsWith(text)).to.equal(supposed);
    });
  }

  // The base fee is 7, twice in the highest price, and the tip 1.
  for (const [wei, status] of [
    [15n, "ok"],
    [14n, "fail"],
  ] as const) {
    it(`doctor finds a balance of ${wei} wei for each gas ${status} if the highest price is 15 and the current one 8`, async () => {
      const node = new ScriptedNode({ overrides: false });
      node.on("eth_getBalance", () => toQuantity(75_000n * wei));
      const balance = named(await examine(node, "auto"), "balance");
      expect(balance).to.include({ status, maxCost: 75_000n * 15n });
    });
  }

  it("doctor names the signer, and that the settlement settles the round", async () => {
    const node = new ScriptedNode();
    const checks = await examine(node);
    expect(outline(checks)).to.deep.equal([
      ...["signer ok", "balance ok", "fees warn", "settlement ok"],
    ]);
    expect(named(checks, "signer").detail).to.equal(
      `${SETTLER}, an account of the node or of a plugin`,
    );
    expect(named(checks, "settlement").detail).to.equal(
      `settleAll as ${SETTLER} settles the round, once it has ended`,
    );
  });

  it("doctor warns of an account that the node does not have, and tries a settlement as the one that --from names", async () => {
    const node = new ScriptedNode();
    node.on("eth_accounts", () => []);
    const host = node.host({ settings: { accounts: "remote" } });
    expect(outline(await examineSigner(host))).to.deep.equal(["signer warn"]);
    const checks = await examineSigner(host, SETTLER);
    expect(named(checks, "settlement").status).to.equal("ok");
  });

  it("doctor fails for an account that cannot be found, and not as for a network without one", async () => {
    const node = new ScriptedNode();
    node.on("eth_accounts", () => 5);
    expect(outline(await examine(node))).to.deep.equal(["signer fail"]);
  });

  const late = codedError("UND_ERR_HEADERS_TIMEOUT");
  for (const [title, method, error] of [
    ["the simulation in time", "eth_simulateV1", late],
    ["the readings in time that follow it", "eth_call", late],
    ["for the nonce", "eth_getTransactionCount", codedError("ECONNREFUSED")],
  ] as const) {
    it(`doctor fails if the node does not answer ${title}, when the settlement is tried`, async () => {
      const node = new ScriptedNode();
      node.on(method, async (_params, answer) => {
        if (method !== "eth_call" || node.count("eth_simulateV1") > 0) {
          throw error;
        }
        return await answer();
      });
      const settlement = named(await examine(node), "settlement");
      expect(settlement.status, settlement.detail).to.equal("fail");
      expect(settlement.detail).to.match(/did not answer|cannot be reached/u);
    });
  }

  it("doctor warns that nothing is settled without a factory", async () => {
    const checks = await examine(undefined, 10n ** 9n, { vault: VAULT });
    const { status, detail } = named(checks, "settlement");
    expect(status).to.equal("warn");
    expect(detail).to.include("needs the vault factory contract");
  });

  for (const [title, settings, status, says] of [
    [
      "none on a live chain, with the line to write",
      {},
      "warn",
      /^Nobody is asked.*maxFeePerGasLimit: \d+n,/u,
    ],
    [
      "one",
      { maxFeePerGasLimit: 99n },
      "ok",
      /^a unit of gas may cost 99 wei, and costs 8 wei now/u,
    ],
  ] as const) {
    it(`doctor finds the limit of the fee ${status} if there is ${title}`, async () => {
      const settled = { accounts: "remote", gas: "auto", gasMultiplier: 1 };
      const host = new ScriptedNode().host({
        settings: { ...settled, gasPrice: "auto", vault: settings },
      });
      const fees = named(await examineSigner(host), "fees");
      expect(fees.status).to.equal(status);
      expect(`${fees.detail} ${fees.fix}`).to.match(says);
    });
  }

  for (const [title, given, settings, status, says] of [
    [
      "transactions of its account are pending",
      (node: ScriptedNode) =>
        node.on("eth_getTransactionCount", ([, at]) =>
          at === "pending" ? "0x2" : "0x0",
        ),
      {},
      ...(["warn", /not mined yet: 2/u] as const),
    ],
    [
      "gas costs more than the limit",
      () => undefined,
      { maxFeePerGasLimit: 1n },
      ...(["warn", /maxFeePerGasLimit/u] as const),
    ],
    [
      "the call leaves the round open, by the simulation of a node without state overrides",
      (node: ScriptedNode) => {
        node.effect = (round) => round;
      },
      {},
      ...(["fail", /the round is not settled by it/u] as const),
    ],
  ] as const) {
    it(`doctor finds the settlement ${status} if ${title}`, async () => {
      const node = new ScriptedNode();
      given(node);
      const settled = { accounts: "remote", gas: "auto", gasMultiplier: 1 };
      const host = node.host({
        settings: { ...settled, gasPrice: "auto", vault: settings },
      });
      const found = named(await examineSigner(host), "settlement");
      expect(found.status).to.equal(status);
      expect(found.detail).to.match(says);
    });
  }

  for (const [title, settles, status] of [
    ["accepts it at the round's end", (atEnd: boolean) => atEnd, "ok"],
    ["refuses it at the round's end, too", () => false, "warn"],
  ] as const) {
    it(`doctor finds a settlement that is refused now ${status} if the vault ${title}`, async () => {
      const node = new ScriptedNode();
      const { endTime } = node.round;
      node.on("eth_simulateV1", async (params, answer) => {
        const blocks = listOf(fieldsOf(params[0])["blockStateCalls"]);
        const { time } = fieldsOf(fieldsOf(blocks[0])["blockOverrides"]);
        node.revertsWith = settles(Number(time) >= Number(endTime))
          ? undefined
          : closed;
        const simulated = await answer();
        node.revertsWith = closed;
        return simulated;
      });
      const settlement = named(await examine(node), "settlement");
      expect(settlement.status).to.equal(status);
      expect(settlement.detail).to.equal(
        status === "ok"
          ? `settleAll as ${SETTLER} settles the round, once it has ended`
          : `settleAll as ${SETTLER}: closed`,
      );
    });
  }

  it("doctor speaks of the contract's reason if the vault refuses, and last of a list of accounts", async () => {
    const node = new ScriptedNode();
    node.revertsWith = encodeRevertData("not you");
    const { fix } = named(await examine(node), "settlement");
    expect(fix).to.match(/^The reason is the contract's: .*list of accounts/u);
  });

  it("doctor escapes what the vault reverts with", async () => {
    const node = new ScriptedNode();
    node.revertsWith = encodeRevertData("clo\u001b[31msed");
    const settlement = named(await examine(node), "settlement");
    expect(settlement.detail).to.include("clo\\u{1b}[31msed");
    node.overrides = false;
    const called = named(await examine(node), "settlement");
    expect(called.detail).to.include("clo\\u{1b}[31msed");
  });
});

describe("what doctor finds out of a guard", () => {
  const GUARD = "0x00000000000000000000000000000000000000A3";
  const guardErrors = new Interface(RoundGuardArtifact.abi);
  const refusalOf = (name: string, ...values: readonly unknown[]): string =>
    guardErrors.encodeErrorResult(name, values);

  /** @param guarded Data that a settlement through the guard reverts with. */
  const nodeOf = (
    guarded?: string,
    direct?: string,
    round = { isOver: false, isSettled: false },
  ): ScriptedNode => {
    const outcome = (data: string | undefined) => {
      const reverted = data !== undefined && !round.isOver;
      round.isSettled ||= round.isOver;
      return { reverted, data: reverted ? data : "0x" };
    };
    return new ScriptedNode({
      codeOf: (address) =>
        isSame(address, GUARD) ? guardCode() : codeOfVault(address),
      answerOf: ({ to, data }) =>
        isSame(to, GUARD)
          ? outcome(guarded)
          : isSame(to, VAULT) && data.startsWith(SETTLE)
            ? outcome(direct)
            : valuesAnswer(
                data,
                round.isSettled ? settledRound(OPEN_ROUND) : OPEN_ROUND,
              ),
    });
  };
  const examine = async (
    node: ScriptedNode,
    ...names: readonly string[]
  ): Promise<readonly Check[]> => {
    const settings = {
      ...{ accounts: "remote", gas: "auto", gasMultiplier: 1 },
      vault: { maxFeePerGasLimit: 99n },
    };
    const host = node.host({ settings });
    host.guard = GUARD;
    const checks = await examineSigner(host);
    return names.map((name) => named(checks, name));
  };

  for (const [title, guarded, direct, status, detail] of [
    [
      "the contracts refuse only the guard",
      ...[closed, undefined, "fail", "refuse it as their caller: closed"],
    ],
    [
      "the contracts refuse both for other reasons",
      ...[closed, encodeRevertData("late"), "fail", "their caller: closed"],
    ],
    [
      "the contracts refuse the account in the same way",
      ...[
        closed,
        closed,
        "ok",
        "without it, too, a settlement is refused: closed",
      ],
    ],
    [
      "the guard refuses the round of this moment",
      refusalOf("RoundChanged", 1n, 2n),
      ...[undefined, "ok", "anyone may settle"],
    ],
    [
      "the guard belongs to another account",
      refusalOf("NotSettler", SETTLER),
      ...[undefined, "fail", `${SETTLER} may not`],
    ],
    [
      "the round is settled",
      refusalOf("RoundAlreadySettled"),
      ...[closed, "ok", "anyone may settle"],
    ],
  ] as const) {
    it(`doctor finds a guard ${status} if ${title}`, async () => {
      const node = nodeOf(guarded, direct);
      const [guard] = await examine(node, "guard");
      expect(guard?.status).to.equal(status);
      expect(guard?.detail).to.include(detail);
      const calls = node.asked.filter(({ method }) => method === "eth_call");
      expect(calls.map(({ params }) => params[1])).not.to.include("pending");
    });
  }

  for (const [title, name, remedy] of [
    [
      "sees no round settled, as if vault and factory did not belong together",
      ...["RoundNotSettled", /belong together/u],
    ],
    [
      "cannot hand on the native currency",
      ...["PaymentRefused", /remove `guard`/u],
    ],
  ] as const) {
    it(`doctor fails, with the remedy of its own, if the guard ${title}`, async () => {
      const node = nodeOf(refusalOf(name));
      const [settlement] = await examine(node, "settlement");
      expect(settlement?.status).to.equal("fail");
      expect(settlement?.detail).to.match(remedy);
      expect(settlement?.fix).to.equal(null);
    });
  }

  /** @returns The answer to a simulation in which the guard keeps a token of the vault. */
  const withKeptToken = (answer: unknown): unknown => {
    const topics = [VAULT, GUARD, 7].map((value) => `0x${word(BigInt(value))}`);
    const transfer = id("Transfer(address,address,uint256)");
    const logs = [
      { address: VAULT, topics: [transfer, ...topics], data: "0x" },
    ];
    return listOf(answer).map((one) => {
      const calls = listOf(fieldsOf(one)["calls"]);
      return {
        ...fieldsOf(one),
        calls: calls.map((call, place) => ({
          ...fieldsOf(call),
          // The request for the guard's balances has eight calls: the balance is the third and the last.
          ...(calls.length === 8 &&
            place % 5 === 2 && { returnData: `0x${word(BigInt(place))}` }),
          logs,
        })),
      };
    });
  };

  it("doctor fails for a guard in which a token of the vault would stay", async () => {
    const node = nodeOf();
    node.on("eth_simulateV1", async (_params, answer) =>
      withKeptToken(await answer()),
    );
    const [found] = await examine(node, "settlement");
    expect(found?.status).to.equal("fail");
    expect(found?.detail).to.include(`nobody can take them: ${VAULT}`);
  });

  it("doctor fails for a guard whose tokens are not named on a node on which nothing can be simulated, as every run does", async () => {
    const node = nodeOf();
    node.overrides = false;
    const [found] = await examine(node, "settlement");
    expect(found?.status).to.equal("fail");
    expect(found?.detail).to.include("not known which tokens");
  });

  for (const [title, keeps, status, detail] of [
    ["settles", false, "ok", "settles the round, once it has ended"],
    [
      "would keep a token of the vault",
      ...[true, "fail", `nobody can take them: ${VAULT}`],
    ],
  ] as const) {
    it(`doctor finds the settlement ${status} and the guard ok, with the line to write, if the vault refuses now and the guard ${title} at the round's end`, async () => {
      const round = { isOver: false, isSettled: false };
      const node = nodeOf(closed, closed, round);
      const { endTime } = node.round;
      node.on("eth_simulateV1", async (params, answer) => {
        const blocks = listOf(fieldsOf(params[0])["blockStateCalls"]);
        const { time } = fieldsOf(fieldsOf(blocks[0])["blockOverrides"]);
        round.isOver = Number(time) >= Number(endTime);
        const simulated = await answer();
        const isKept = keeps && round.isOver;
        Object.assign(round, { isOver: false, isSettled: false });
        return isKept ? withKeptToken(simulated) : simulated;
      });
      const [settlement, guard] = await examine(node, "settlement", "guard");
      expect([settlement?.status, guard?.status]).to.deep.equal([
        ...[status, "ok"],
      ]);
      expect(settlement?.detail).to.include(detail);
      expect(settlement?.fix ?? "").to.include(
        keeps ? `networks.scripted.vault.tokens to ["${VAULT}"]` : "",
      );
    });
  }
});

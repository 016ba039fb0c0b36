import { expect } from "chai";
import { toBeHex } from "ethers";

import type {
  ReadingChange,
  Simulation,
  Transfer,
} from "../../../src/types.js";
import {
  simulationParts,
  withTokens,
} from "../../../tasks/output/settlement.js";
import type { ShownSimulation } from "../../../tasks/output/settlement.js";
import { simulateToShow } from "../../../tasks/settle.js";
import { fieldsOf } from "../../helpers/fields.js";
import { hreOnLive, httpNetwork } from "../../helpers/hre.js";
import { NOBODY } from "../../helpers/names.js";
import { startRpcServer } from "../../helpers/rpc-server.js";
import { parseDocument, runTyped } from "../../helpers/run-vault-task.js";
import { VAULT as OF_NODE } from "../../helpers/scripted-contracts.js";
import { ScriptedNode } from "../../helpers/scripted-node.js";
import {
  OTHER,
  SENDER,
  TOKEN,
  VAULT,
  context,
  linesOf,
  simulated,
} from "../../helpers/screens.js";
import { itFails, useTasks } from "../../helpers/use-tasks.js";
import { DEV_KEYS } from "../../helpers/world.js";

/** The selector of `decimals()`. */
const DECIMALS = "0x313ce567";

// What a simulation finds: test/simulation.
describe("vault simulate", () => {
  it("simulate scales a token that moves by its decimals, also if --tokens does not name it", async () => {
    const node = new ScriptedNode();
    node.on("eth_call", async ([call], answer) =>
      fieldsOf(call)["data"] === DECIMALS ? toBeHex(1, 32) : await answer(),
    );
    const host = node.host({
      settings: { accounts: "remote" },
      projectRoot: import.meta.dirname,
    });
    const shown = await simulateToShow(host, {});
    const lines = linesOf(simulationParts(shown, context));
    expect(lines).to.include(
      `0.5 ${OF_NODE} · vault contract · vault contract`,
    );
  });
});

describe("vault simulate on a node", () => {
  const tasks = useTasks({
    networks: (url, { addresses }) => {
      const vault = { contracts: addresses, tokenDecimals: 18 };
      return {
        live: httpNetwork(url, { vault }),
        other: httpNetwork(url, { accounts: [DEV_KEYS[1]], vault }),
      };
    },
  });
  const simulation = async (typed: string, exitCode = 0) =>
    fieldsOf(
      (await tasks.documentOf(`simulate ${typed}`, exitCode))["simulation"],
    );

  for (const [title, option, exitCode] of [
    ["the first account of the node", "", 1],
    ["the first account of the configuration", "--network other", 0],
    ["the account of --from", `--from ${NOBODY}`, 0],
  ] as const) {
    it(`simulate calls as ${title}, and exits with ${exitCode} if the vault refuses only the node's first account`, async () => {
      const from = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266";
      await tasks.mocks.fail("settleAll", "closed", { from });
      expect(await simulation(option, exitCode)).to.include(
        exitCode === 0
          ? { status: "settled", code: null, reason: null }
          : { status: "reverted", reason: "closed" },
      );
    });
  }

  it("simulate --at-time end settles at the round's end", async () => {
    const endTime = 1_990_000_000;
    await tasks.mocks.set({ round: { endTime: BigInt(endTime) } });
    const { block } = await simulation("--at-time end");
    expect(block).to.include({ timestamp: endTime });
  });

  it("simulate has nothing to do if the round is settled, and exits with 0", async () => {
    await tasks.run("settle --yes");
    expect(await simulation("")).to.include({ status: "nothing-to-do" });
  });

  it("simulate --block starts from an earlier block, also with --fork", async () => {
    const { number } = await tasks.mocks.vault.block();
    await tasks.run("settle --yes");
    const back = await tasks.documentOf(`simulate --block ${number}`);
    expect(back).to.have.nested.property("simulation.status", "settled");
    expect(back).to.have.nested.property("block.number", number);
    const fork = await simulation(`--block ${number} --fork`);
    expect(fork).to.include({ status: "settled", engine: "fork" });
    const old = await simulation(`--block ${number} --hardfork prague`);
    expect(old).to.include({ status: "settled", engine: "fork" });
  });

  for (const [typed, seconds, hangs, named] of [
    ["simulate", 0.5, "eth_simulateV1", "eth_simulateV1"],
    // The simulator sends this by itself; a busy machine had not come so far in 0.5 s.
    ["simulate --fork", 3, "eth_getStorageAt", "the requests of a fork"],
  ] as const) {
    it(`${typed} ends with VAULT_RPC_TIMEOUT at --timeout if ${hangs} hangs`, async () => {
      const server = await startRpcServer({
        upstream: tasks.url,
        handler: ({ request: { method } }) =>
          method === hangs ? "handled" : undefined,
      });
      const vault = { contracts: tasks.mocks.addresses };
      const hre = await hreOnLive(server.url, { vault });
      const result = await runTyped(
        hre,
        `${typed} --json --timeout ${seconds}`,
      );
      await server.stop();
      const { error } = fieldsOf(parseDocument(result));
      expect(error).to.have.property("code", "VAULT_RPC_TIMEOUT");
      expect(error).to.have.nested.property("details.method", named);
    });
  }

  itFails(
    tasks,
    `
    simulate --block 1 | VAULT_NO_CODE | at block 1, the vault contract
    simulate --tokens ${NOBODY} | VAULT_INVALID_ARGUMENT | ${NOBODY}
    `,
  );
});

describe("the screen of a simulation", () => {
  const shown = (
    simulation: Partial<Simulation>,
    tokens: ShownSimulation["tokens"] = new Map(),
  ): string[] =>
    linesOf(
      simulationParts(
        {
          simulation: { ...simulated, ...simulation },
          sender: SENDER,
          contracts: [
            { role: "trading", address: VAULT, source: "" },
            { role: "vault", address: VAULT, source: "" },
          ],
          tokens,
        },
        context,
      ),
    );
  /** The rows of the section with that heading. */
  const rowsOf = (heading: string, lines: readonly string[]) => {
    const rows = lines.slice(lines.indexOf(heading) + 2);
    return rows.slice(0, [...rows, ""].indexOf(""));
  };

  for (const [status, outcome] of [
    ["settled", "<good>Settled</>"],
    ["not-settled", "<bad>Not settled</>"],
    ["reverted", "<bad>Reverted</>"],
    ["nothing-to-do", "<warn>Nothing to do</>"],
  ] as const) {
    it(`simulate shows ${status} with the reason, and who called`, () => {
      expect(shown({ status, reason: "w\u001bhy" })).to.deep.equal([
        ...[`Simulated · ${outcome}`, "Reason · w\\u{1b}hy"],
        ...["Gas used · 50,000", `Called by · ${SENDER}`],
        "In block · 12, 2023-11-14T22:13:20Z",
        "Engine · simulateV1",
      ]);
    });
  }

  it("simulate shows in red that tokens would stay in the guard, though the contracts would settle", () => {
    const code = "VAULT_GUARD_KEEPS_TOKENS";
    const lines = shown({ status: "settled", code, reason: "w\u001bhy" });
    expect(lines.slice(0, 2)).to.deep.equal([
      ...["Simulated · <bad>Settled</>", "Reason · <bad>w\\u{1b}hy</>"],
    ]);
  });

  it("simulate shows the guard, and no gas if nothing was executed", () => {
    const lines = shown({ guard: OTHER, gasUsed: null });
    expect(lines).to.include(`Guard · ${OTHER}`);
    expect(lines.join()).to.not.contain("Gas used");
  });

  it("simulate shows notes as warnings, escaped", () => {
    const lines = shown({ notes: ["a li\u001bmit"] });
    expect(lines).to.include("<warn>a li\\u{1b}mit</>");
  });

  const transfers: readonly Transfer[] = [
    { token: "native", from: VAULT, to: SENDER, amount: 15n * 10n ** 17n },
    { token: TOKEN, from: SENDER, to: OTHER, amount: 1_234_567n },
    { token: OTHER, from: OTHER, to: VAULT, amount: 1_234_567n },
  ];
  const tokens = new Map([
    [TOKEN, { symbol: "T\u001bST", decimals: 6 }],
    [OTHER, { symbol: null, decimals: null }],
  ]);
  it("simulate names the accounts of a transfer by role, and scales its amount by the token's decimals", () => {
    const lines = shown({ transfers }, tokens);
    expect(rowsOf("Transfers", lines)).to.deep.equal([
      "1.5 native currency · vault contract · sender",
      `1.234567 T\\u{1b}ST ${TOKEN} · sender · ${OTHER}`,
      `1,234,567 raw ${OTHER} · ${OTHER} · vault contract`,
    ]);
  });

  it("simulate shows the address of a token whose symbol is that of native currency", () => {
    const symbol = "native currency";
    const known = new Map([[TOKEN, { symbol, decimals: 18 }]]);
    const moved = { from: VAULT, to: SENDER, amount: 10n ** 18n } as const;
    const lines = shown(
      {
        transfers: [
          { ...moved, token: TOKEN },
          { ...moved, token: "native" },
        ],
      },
      known,
    );
    expect(rowsOf("Transfers", lines)).to.deep.equal([
      `1 native currency ${TOKEN} · vault contract · sender`,
      "1 native currency · vault contract · sender",
    ]);
  });

  it("simulate shows each balance before and after", () => {
    const token = TOKEN;
    const balances: Simulation["balances"] = [
      { account: VAULT, token, before: 1_234_570n, after: 10n },
      { account: SENDER, token, before: 10n, after: 30n },
      { account: OTHER, token, before: 10n, after: 10n },
    ];
    const known = new Map([[token, { symbol: "TST", decimals: 1 }]]);
    const lines = shown({ balances }, known);
    expect(rowsOf("Balances", lines)).to.deep.equal([
      `Vault contract, TST ${TOKEN} · 123,457 · 1`,
      `Sender, TST ${TOKEN} · 1 · 3`,
      `${OTHER}, TST ${TOKEN} · 1 · 1`,
    ]);
  });

  const [reading, before] = ["orders.7", 1];
  const closed = { reading, field: "state", before, after: 2 };
  for (const [change, row] of [
    [
      {
        ...{ reading: "round", field: "endTime", before: 0n },
        after: BigInt(context.chainTime) + 60n,
      },
      "Round end · 1970-01-01T00:00:00Z · 2027-01-22T07:59:30Z",
    ],
    [
      {
        ...{ reading: "volume", field: "error", before: null },
        after: "VAULT_CALL_REVERTED",
      },
      "Volume error · no error · VAULT_CALL_REVERTED",
    ],
    [closed, "Order 7 state · open (1) · closed (2)"],
    [
      { reading: "pools.public", field: "locked", before: 1n, after: 2n },
      "Public locked · 1 raw · 2 raw",
    ],
  ] satisfies ReadonlyArray<readonly [ReadingChange, string]>) {
    it(`simulate shows a change: ${row}`, () => {
      expect(rowsOf("Changes", shown({ changes: [change] }))).to.deep.equal([
        row,
      ]);
    });
  }

  it("a simulation's document has symbol and decimals of each transfer and balance, null if unknown", () => {
    const transfer = { from: VAULT, to: OTHER, amount: 1n } as const;
    const known = { symbol: "TST", decimals: 6 };
    const none = { symbol: null, decimals: null };
    const own: Transfer = { ...transfer, token: TOKEN };
    const other: Transfer = { ...transfer, token: OTHER };
    const held: Simulation["balances"][number] = {
      ...{ account: VAULT, token: TOKEN, before: 1n, after: 2n },
    };
    const simulation = {
      ...{ ...simulated, transfers: [own, other] },
      balances: [held],
    };
    const shownTokens = withTokens(simulation, new Map([[TOKEN, known]]));
    expect(shownTokens).to.deep.include({
      transfers: [
        { ...own, ...known },
        { ...other, ...none },
      ],
      balances: [{ ...held, ...known }],
    });
  });
});

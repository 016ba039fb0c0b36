import { stripVTControlCharacters } from "node:util";

import { expect } from "chai";
import type { HardhatRuntimeEnvironment } from "hardhat/types/hre";

import { createStyle } from "../../tasks/output/style.js";
import { parseRehearseArguments, rehearse } from "../../tasks/rehearse.js";
import { startAnvil } from "../helpers/anvil.js";
import { expectVaultError } from "../helpers/assertions.js";
import type { ServerProcess } from "../helpers/child-process.js";
import { createTestHre, httpNetwork } from "../helpers/hre.js";
import { startRpcServer } from "../helpers/rpc-server.js";
import type { RpcServer } from "../helpers/rpc-server.js";
import { parseDocument, runVaultTask } from "../helpers/run-vault-task.js";
import { argumentsOf } from "../helpers/task-arguments.js";

const SENDER = "0x00000000000000000000000000000000000a11ce";

describe("tasks - rehearse", () => {
  let anvil: ServerProcess;
  let server: RpcServer;
  let hre: HardhatRuntimeEnvironment;
  /** What block has what: see `before`. */
  let refused: number;
  let open: number;
  let settled: number;
  let contracts: Readonly<Record<string, string>>;

  before(async () => {
    anvil = await startAnvil();
    server = await startRpcServer({ upstream: anvil.url });
    const writer = await createTestHre({
      networks: { remote: httpNetwork(anvil.url) },
    });
    const { vault } = await writer.network.create("remote");
    const mocks = await vault.deployMocks();
    contracts = mocks.addresses;
    await mocks.fail("settleAll", "too early");
    refused = (await vault.block()).number;
    await mocks.succeed("settleAll");
    open = (await vault.block()).number;
    await mocks.vault.settleAll();
    settled = (await vault.block()).number;
    hre = await createTestHre(
      {
        networks: { remote: httpNetwork(server.url, { vault: { contracts } }) },
      },
      { network: "remote" },
    );
  });
  after(async () => {
    await server.stop();
    await anvil.stop();
  });
  beforeEach(() => {
    server.handler = () => undefined;
    server.requests.length = 0;
  });

  const methods = (): Record<string, number> => {
    const counts: Record<string, number> = {};
    for (const { method } of server.requests) {
      counts[method] = (counts[method] ?? 0) + 1;
    }
    return counts;
  };

  it("should say of each block what a settlement would have done", async () => {
    const { vault } = await hre.network.create("remote");
    const expected = await vault.simulateSettleAll({
      blockNumber: open,
      as: SENDER,
    });
    const price = expected.changes.find(
      ({ field }) => field === "settledPrice",
    )?.after;
    server.requests.length = 0;
    const result = await runVaultTask(hre, "rehearse", {
      blocks: `${open}, ${refused},${settled}`,
      as: SENDER,
      json: true,
    });
    expect(result.exitCode).to.equal(0);
    const document: unknown = parseDocument(result);
    expect(document).to.have.keys(
      ...["network", "chainId", "block", "rehearsals"],
    );
    const none = { gasUsed: null, settledPrice: null, settledAmount: null };
    const rehearsals: unknown = Reflect.get(Object(document), "rehearsals");
    expect(rehearsals).to.have.length(3);
    expect(document).to.have.nested.property(
      "rehearsals[0].block.number",
      refused,
    );
    expect(document).to.deep.nested.include({
      "rehearsals[0].status": "reverted",
      "rehearsals[0].reason": "too early",
      "rehearsals[0].settledPrice": null,
      "rehearsals[1].status": "settled",
      "rehearsals[1].reason": null,
      "rehearsals[1].gasUsed": String(expected.gasUsed),
      "rehearsals[1].settledPrice": String(price),
    });
    expect(Reflect.get(Object(rehearsals), 2)).to.deep.include({
      status: "nothing-to-do",
      ...none,
    });
    expect(document).to.deep.nested.include({
      "rehearsals[1].block": await vault.block(open),
    });
  });

  it("should execute each with one request, beside that of its header", async () => {
    await runVaultTask(hre, "rehearse", {
      blocks: `${refused},${open},${settled}`,
      as: SENDER,
      json: true,
    });
    expect(methods()).to.deep.equal({
      // The block and the chain that the document names.
      eth_call: 1,
      eth_getBlockByNumber: 3,
      eth_simulateV1: 3,
    });
  });

  it("should do so where the node has eth_call alone", async () => {
    server.handler = ({ request: { method } }) =>
      method === "eth_simulateV1"
        ? { error: { code: -32601, message: "no such method" } }
        : undefined;
    const result = await runVaultTask(hre, "rehearse", {
      blocks: `${refused},${open}`,
      as: SENDER,
      json: true,
    });
    expect(parseDocument(result)).to.deep.nested.include({
      "rehearsals[0].status": "reverted",
      "rehearsals[1].status": "settled",
    });
  });

  it("should spread samples over the range, both ends among them", async () => {
    const result = await runVaultTask(hre, "rehearse", {
      samples: "3",
      fromBlock: String(refused),
      toBlock: String(settled),
      as: SENDER,
      json: true,
    });
    const rehearsals: unknown = Reflect.get(
      Object(parseDocument(result)),
      "rehearsals",
    );
    const numbers = (Array.isArray(rehearsals) ? rehearsals : []).map(
      (rehearsal: unknown): unknown =>
        Reflect.get(Object(Reflect.get(Object(rehearsal), "block")), "number"),
    );
    expect(numbers).to.have.length(3);
    expect([numbers[0], numbers[2]]).to.deep.equal([refused, settled]);
  });

  it("should list a block before the contracts were there, and exit with 1", async () => {
    const result = await runVaultTask(hre, "rehearse", {
      blocks: `0,${open}`,
      as: SENDER,
      json: true,
    });
    expect(result.exitCode).to.equal(1);
    expect(parseDocument(result)).to.deep.nested.include({
      "rehearsals[0].block": { number: 0 },
      "rehearsals[0].error.code": "VAULT_NO_CODE",
      "rehearsals[1].status": "settled",
    });
  });

  it("should draw the gas on a terminal, and only there", async () => {
    const { vault } = await hre.network.create("remote");
    const report = await rehearse(
      vault,
      parseRehearseArguments(
        argumentsOf("rehearse", { blocks: `${refused},${open},${settled}` }),
      ),
      SENDER,
      false,
      () => ({ update: () => undefined, hide: () => undefined }),
    );
    expect(report.text(createStyle({}))).to.not.include("Gas used, by block");
    const text = stripVTControlCharacters(
      report.text(createStyle({ isTTY: true, columns: 80 })),
    );
    expect(text).to.include("Gas used, by block");
    expect(
      Math.max(...text.split("\n").map((line) => line.length)),
    ).to.be.at.most(80);
    expect(text).to.include("reverted: too early");
    expect(text).to.include("nothing to do: the round is settled already");
    expect(text).to.include("would have settled at 1 of 3 blocks");
  });

  it("should refuse what makes no sense, before a network is asked", async () => {
    const wrong: ReadonlyArray<
      readonly [
        Parameters<typeof argumentsOf<"rehearse">>[1],
        Parameters<typeof expectVaultError>[1],
      ]
    > = [
      [{}, "VAULT_INVALID_ARGUMENT"],
      [{ blocks: "1", samples: "1" }, "VAULT_INVALID_ARGUMENT"],
      [{ blocks: "1", fromBlock: "1" }, "VAULT_INVALID_ARGUMENT"],
      [{ blocks: "1,x" }, "VAULT_INVALID_INTEGER"],
      [{ blocks: "1,9007199254740993" }, "VAULT_INVALID_BLOCK"],
      [{ blocks: "99999999999999999999" }, "VAULT_INVALID_BLOCK"],
      [{ samples: "0" }, "VAULT_INVALID_ARGUMENT"],
      [{ samples: "1001" }, "VAULT_INVALID_ARGUMENT"],
      [{ samples: "3", toBlock: "pending" }, "VAULT_INVALID_ARGUMENT"],
      [{ blocks: "1", as: "me" }, "VAULT_INVALID_ADDRESS"],
      [
        { blocks: Array.from({ length: 1_001 }, (_, id) => id).join() },
        "VAULT_INVALID_ARGUMENT",
      ],
    ];
    for (const [args, code] of wrong) {
      await expectVaultError(
        () => parseRehearseArguments(argumentsOf("rehearse", args)),
        code,
      );
    }
    const inProcess = await createTestHre();
    const result = await runVaultTask(inProcess, "rehearse", {
      blocks: "1",
      json: true,
    });
    expect(result.exitCode).to.equal(1);
    expect(result.stdout).to.include("VAULT_INVALID_ARGUMENT");
  });
});

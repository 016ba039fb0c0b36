import { expect } from "chai";
import { toQuantity } from "ethers";
import type { HardhatRuntimeEnvironment } from "hardhat/types/hre";

import type { HardhatVault } from "../../src/plugin/hardhat-vault.js";
import { startAnvil } from "../helpers/anvil.js";
import type { ServerProcess } from "../helpers/child-process.js";
import {
  DOCUMENTED_BLOCK,
  documentedHandler,
  documentedContracts,
} from "../helpers/scripted-node.js";
import { createTestHre, httpNetwork } from "../helpers/hre.js";
import { parseDocument, runVaultTask } from "../helpers/run-vault-task.js";
import { startRpcServer } from "../helpers/rpc-server.js";
import type { RpcServer } from "../helpers/rpc-server.js";

const ZERO = "0x0000000000000000000000000000000000000000";
const FROM = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8";
const NUMBER = `0x${DOCUMENTED_BLOCK.number.toString(16)}`;

/** Read tasks, and how many values each has to read. */
const tasks: ReadonlyArray<
  readonly [
    task: string,
    args: Readonly<Record<string, unknown>>,
    reads: number,
  ]
> = [
  ["funding-rate", {}, 2],
  ["funding-rate", { type: "call" }, 1],
  ["round", {}, 1],
  ["order", { id: "1" }, 1],
  ["pools", {}, 2],
  [
    "margins",
    { maxVolume: "1", apy: "2", endTime: "1800000000", raw: true },
    1,
  ],
  ["volume", {}, 1],
  ["margin-balance", {}, 1],
  ["min-margin", {}, 1],
  ["status", {}, 8],
];

describe("the block of a read task", () => {
  let server: RpcServer;
  let hre: HardhatRuntimeEnvironment;

  before(async () => {
    server = await startRpcServer({
      handler: async (exchange) =>
        // A node that knows no state overrides: every reading is a call.
        exchange.request.params.length > 2
          ? { error: { code: -32602, message: "too many arguments" } }
          : await documentedHandler(exchange),
    });
    hre = await createTestHre(
      {
        networks: {
          live: httpNetwork(server.url, {
            from: FROM,
            vault: { contracts: documentedContracts },
          }),
        },
      },
      { network: "live" },
    );
  });
  after(async () => {
    await server.stop();
  });
  beforeEach(() => {
    server.requests.length = 0;
  });

  /** The documented calls, without what asks for a state override. */
  const calls = (): ReadonlyArray<readonly unknown[]> =>
    server.requests
      .filter(
        ({ method, params }) => method === "eth_call" && params.length < 3,
      )
      .map(({ params }) => params);
  const headers = (): unknown[] =>
    server.requests
      .filter(({ method }) => method === "eth_getBlockByNumber")
      .map(({ params }) => params);

  for (const [task, args, reads] of tasks) {
    it(`should be read first, and every call of ${task} ${JSON.stringify(args)} pinned to it`, async () => {
      const result = await runVaultTask(hre, task, { ...args, json: true });
      expect(result.exitCode).to.equal(0);
      expect(parseDocument(result)).to.deep.include({
        network: "live",
        chainId: 1,
        block: DOCUMENTED_BLOCK,
      });
      expect(headers()).to.deep.equal([["latest", false]]);
      expect(calls()).to.have.lengthOf(reads);
      for (const [call, tag, ...rest] of calls()) {
        expect(tag).to.equal(NUMBER);
        expect(rest).to.deep.equal([]);
        expect(call).to.have.all.keys("from", "to", "data");
        expect(call).to.have.property("from", FROM);
        if (task === "margins") {
          expect(call)
            .to.have.property("data")
            .that.matches(/^0x.{8}0{63}10{63}20{56}6b49d200$/u);
        }
      }
    });
  }

  it("a read task looks up the block that --block names, and reads for the sender that --from names", async () => {
    for (const [given, header, pinned] of [
      ["finalized", "finalized", NUMBER],
      ["0x3e8", "0x3e8", NUMBER],
      ["1000", "0x3e8", NUMBER],
      // A pending block has no number that a node could be asked for.
      ["pending", "pending", "pending"],
    ]) {
      for (const task of ["volume", "status"]) {
        server.requests.length = 0;
        const args = { block: given, from: ZERO };
        const { exitCode } = await runVaultTask(hre, task, args);
        expect(exitCode).to.equal(0);
        expect(headers()).to.deep.equal([[header, false]]);
        expect(calls()).to.have.lengthOf(task === "status" ? 8 : 1);
        for (const [call, tag] of calls()) {
          expect(call).to.have.property("from", ZERO);
          expect(tag).to.equal(pinned);
        }
      }
    }
  });
});

describe("the block of a read task, where the node runs code for it", () => {
  let anvil: ServerProcess;
  let server: RpcServer;
  let hre: HardhatRuntimeEnvironment;
  let vault: HardhatVault;
  let at: string;
  let older: number;

  before(async () => {
    anvil = await startAnvil();
    server = await startRpcServer({ upstream: anvil.url });
    hre = await createTestHre(
      { networks: { live: httpNetwork(server.url) } },
      { network: "live" },
    );
    ({ vault } = await hre.network.create());
    const mocks = await vault.deployMocks();
    at = `vaultFactory=${mocks.addresses.vaultFactory}`;
    older = (await vault.block()).number;
    await mocks.set({ round: { strikePrice: 1n } });
  });
  after(async () => {
    await server.stop();
    await anvil.stop();
  });

  for (const isOlder of [false, true]) {
    it(`should come with the chain's id in one request${isOlder ? ", by its number" : ""}`, async () => {
      const block = await vault.block(isOlder ? older : "latest");
      const { strikePrice } = await vault.getLatestRoundInfo({
        blockTag: block.number,
      });
      expect(strikePrice === 1n).to.equal(!isOlder);
      server.requests.length = 0;
      const result = await runVaultTask(hre, "round", {
        ...(isOlder ? { block: String(older) } : {}),
        at,
        json: true,
      });
      expect(parseDocument(result)).to.deep.nested.include({
        chainId: 31_337,
        block,
        "round.strikePrice": String(strikePrice),
      });
      const number = toQuantity(block.number);
      expect(
        server.requests.map(({ method, params }) => [
          method,
          params[1],
          params.length,
        ]),
      ).to.deep.equal([
        ["eth_call", isOlder ? number : "latest", 3],
        ["eth_call", number, 2],
      ]);
    });
  }
});

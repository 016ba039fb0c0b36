import { expect } from "chai";
import type { HardhatRuntimeEnvironment } from "hardhat/types/hre";

import {
  DOCUMENTED_BLOCK,
  documentedContracts,
  documentedHandler,
  documentedNode,
} from "../helpers/documented-node.js";
import { handlerOf } from "../helpers/scripted-node.js";
import { hreOnLive } from "../helpers/hre.js";
import { parseDocument, runTyped } from "../helpers/run-vault-task.js";
import { startRpcServer } from "../helpers/rpc-server.js";
import type { RpcServer } from "../helpers/rpc-server.js";

const ZERO = "0x0000000000000000000000000000000000000000";
const FROM = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8";
const NUMBER = `0x${DOCUMENTED_BLOCK.number.toString(16)}`;

/** Read tasks, and how many values each reads. */
const tasks: Readonly<Record<string, number>> = {
  "funding-rate": 2,
  "funding-rate --type call": 1,
  round: 1,
  "order 1": 1,
  pools: 2,
  "margins --max-volume 1 --apy 2 --end-time 1800000000 --raw": 1,
  volume: 1,
  "margin-balance": 1,
  "min-margin": 1,
  status: 8,
};

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
    hre = await hreOnLive(server.url, {
      from: FROM,
      vault: { contracts: documentedContracts, instances: { usdc: {} } },
    });
  });
  after(async () => {
    await server.stop();
  });
  beforeEach(() => {
    server.requests.length = 0;
  });

  const calls = (): ReadonlyArray<readonly unknown[]> =>
    server.requests
      .filter(
        ({ method, params }) => method === "eth_call" && params.length < 3,
      )
      .map(({ params }) => params);
  /**
   * Each once: beside a call with overrides that is refused, it is asked again. Without
   * the first block, by which the journal knows its chain, and those that status counts
   * the time by.
   */
  const headers = (): unknown[] =>
    server.requests
      .filter(({ method }) => method === "eth_getBlockByNumber")
      .map(({ params }) => params)
      .filter(
        ([tag], index, all) =>
          tag !== "0x0" &&
          (tag !== "pending" || !all.some(([other]) => other === "latest")) &&
          all.findIndex(([other]) => other === tag) === index,
      );

  for (const [typed, reads] of Object.entries(tasks)) {
    it(`vault ${typed} reads the block first, and pins every call to its number`, async () => {
      const result = await runTyped(hre, `${typed} --json`);
      expect(result.exitCode).to.equal(0);
      expect(parseDocument(result)).to.deep.include({
        network: "live",
        chainId: 1,
        block: DOCUMENTED_BLOCK,
      });
      const [first, ...others] = headers();
      expect(first).to.deep.equal(["latest", false]);
      // A time counts from the clock of that block, which is read first.
      expect(others).to.deep.equal(
        typed.includes("time") ? [[NUMBER, false]] : [],
      );
      expect(calls()).to.have.lengthOf(reads);
      for (const [call, tag] of calls()) {
        expect(tag).to.equal(NUMBER);
        expect(call).to.have.all.keys("from", "to", "data");
        expect(call).to.have.property("from", FROM);
      }
    });
  }

  it("vault status --all asks once for the newest block, and reads each instance at its number, for the sender that --from names", async () => {
    await runTyped(hre, `status --all --from ${ZERO}`);
    expect(headers()).to.deep.equal([
      ["latest", false],
      [NUMBER, false],
    ]);
    expect(calls()).to.have.lengthOf(16);
    for (const [call] of calls()) {
      expect(call).to.have.property("from", ZERO);
    }
  });

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
        await runTyped(hre, `${task} --block ${given} --from ${ZERO}`);
        expect(headers()).to.deep.equal([[header, false]]);
        expect(calls()).to.have.lengthOf(task === "status" ? 8 : 1);
        for (const [call, tag] of calls()) {
          expect(call).to.have.property("from", ZERO);
          expect(tag).to.equal(pinned);
        }
      }
    }
  });

  it("a read task gets the block, latest or of --block, with the chain's id beside its header if the node applies state overrides", async () => {
    server.handler = handlerOf(documentedNode({ overrides: true }));
    for (const [option, tag] of [
      ["", "latest"],
      ["--block 1000", "0x3e8"],
    ]) {
      server.requests.length = 0;
      const result = await runTyped(hre, `round --json ${option}`);
      expect(parseDocument(result)).to.deep.include({
        chainId: 1,
        block: DOCUMENTED_BLOCK,
      });
      expect(
        server.requests
          .filter(({ method }) => method === "eth_call")
          .map(({ params: [, at, ...rest] }) => [at, rest.length]),
      ).to.deep.equal([[tag, 1]]);
    }
  });
});

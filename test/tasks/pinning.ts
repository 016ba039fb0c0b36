import { expect } from "chai";
import { id } from "ethers";
import type { HardhatRuntimeEnvironment } from "hardhat/types/hre";

import {
  DOCUMENTED_BLOCK,
  documentedContracts,
  documentedNode,
} from "../helpers/documented-node.js";
import { handlerOf } from "../helpers/scripted-node.js";
import type { ScriptedNodeOptions } from "../helpers/scripted-node.js";
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
  "status --all": 16,
};

describe("the block of a read task", () => {
  let server: RpcServer;
  let hre: HardhatRuntimeEnvironment;
  /** Params of each header that was requested, and of each call that was answered. */
  let headers: Array<readonly unknown[]>;
  let calls: Array<readonly unknown[]>;

  before(async () => {
    server = await startRpcServer({});
    hre = await hreOnLive(server.url, {
      from: FROM,
      vault: { contracts: documentedContracts, instances: { usdc: {} } },
    });
  });
  after(async () => {
    await server.stop();
  });

  /** Without state overrides, every reading is a call. */
  function answerAs(options: ScriptedNodeOptions): void {
    headers = [];
    calls = [];
    const node = documentedNode({ overrides: false, ...options });
    node.on("eth_getBlockByNumber", async (params, answer) => {
      headers.push(params);
      return await answer();
    });
    node.on("eth_call", async (params, answer) => {
      const answered = await answer();
      calls.push(params);
      return answered;
    });
    server.handler = handlerOf(node);
  }

  const byHash = {
    blockHash: id(`block ${DOCUMENTED_BLOCK.number}`),
    requireCanonical: true,
  };
  for (const [takes, hashes, pinned] of [
    ["takes its hash", true, byHash],
    ["takes only its number", false, NUMBER],
  ] as const) {
    it(`is read first, named in every call, and compared again if the node ${takes}`, async () => {
      for (const [typed, reads] of Object.entries(tasks)) {
        answerAs({ hashes });
        const result = await runTyped(hre, `${typed} --json`);
        expect(parseDocument(result), typed).to.deep.include({
          chainId: 1,
          block: DOCUMENTED_BLOCK,
        });
        expect(headers[0], typed).to.deep.equal(["latest", false]);
        expect(headers, typed).to.deep.include([NUMBER, false]);
        expect(calls, typed).to.have.lengthOf(reads);
        for (const [call, at] of calls) {
          expect(call).to.have.all.keys("from", "to", "data");
          expect(call).to.have.property("from", FROM);
          expect(at, typed).to.deep.equal(pinned);
        }
      }
    });
  }

  it("is the one that --block names, read for the sender that --from names", async () => {
    for (const [given, header, pinned] of [
      ["finalized", "finalized", NUMBER],
      ["0x3e8", "0x3e8", NUMBER],
      ["1000", "0x3e8", NUMBER],
      // A pending block has no number that a node could be asked for.
      ["pending", "pending", "pending"],
    ]) {
      for (const task of ["volume", "status"]) {
        answerAs({ hashes: false });
        await runTyped(hre, `${task} --block ${given} --from ${ZERO}`);
        expect(headers[0]).to.deep.equal([header, false]);
        expect(calls).to.have.lengthOf(task === "status" ? 8 : 1);
        for (const [call, at] of calls) {
          expect(call).to.have.property("from", ZERO);
          expect(at).to.equal(pinned);
        }
      }
    }
  });

  it("is read with the chain's id and all values in one call if the node applies state overrides", async () => {
    for (const [option, tag] of [
      ["", "latest"],
      ["--block 1000", NUMBER],
    ]) {
      answerAs({ overrides: true });
      const result = await runTyped(hre, `round --json ${option}`);
      expect(parseDocument(result)).to.deep.include({
        chainId: 1,
        block: DOCUMENTED_BLOCK,
      });
      expect(calls.map(({ length, 1: at }) => [at, length])).to.deep.equal([
        [tag, 3],
      ]);
    }
  });
});

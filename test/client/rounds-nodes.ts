import { expect } from "chai";

import { MockVaultFactory__factory } from "../../src/bindings/factories/MockVaultFactory__factory.js";
import { VaultClient } from "../../src/client/index.js";
import { MockVaultFactoryArtifact } from "../../src/mocks/artifacts.js";
import type { Eip1193Provider } from "../../src/rpc/eip1193.js";
import { everyNode } from "../helpers/every-node.js";
import type { TestNode } from "../helpers/every-node.js";
import { connectTo } from "../helpers/hre.js";
import { pastRound, roundsBlockByBlock } from "../helpers/past-rounds.js";
import { settledRound } from "../helpers/scripted-node.js";
import type { Answer } from "../helpers/scripted-node.js";
import { deployCode } from "../helpers/transactions.js";

const mock = MockVaultFactory__factory.createInterface();

/**
 * What one block does: leave all as it is, say another round (or two, one after
 * the other), or settle the one there is.
 */
const script: ReadonlyArray<ReadonlyArray<"next" | "settle">> = [
  [],
  ["next"],
  [],
  ["settle"],
  // Settled and replaced in one block, and in neighbouring blocks.
  ["next"],
  ["settle", "next"],
  ["settle"],
  ["next", "settle"],
  ["next"],
  ["next"],
  // A round that no block boundary shows.
  ["next", "next"],
  [],
  [],
  ["settle"],
  [],
  ["next"],
];

describe("client - rounds on a node", () => {
  for (const { name, start } of everyNode) {
    describe(name, () => {
      let node: TestNode;
      let provider: Eip1193Provider;

      before(async () => {
        node = await start();
        ({ provider } = await connectTo(node.url));
      });
      after(async () => {
        await node.stop();
      });

      it("should find what was written down, block by block", async () => {
        const factory = await deployCode(
          provider,
          MockVaultFactoryArtifact.bytecode,
        );
        const client = new VaultClient(provider, { vaultFactory: factory });
        const { number: deployedIn } = await client.block();
        const answers: Array<readonly [number, Answer]> = Array.from(
          { length: deployedIn },
          (_, block) => [block, "no code"] as const,
        );
        answers.push([deployedIn, "zeros"]);
        let index = 0;
        let latest: Answer = "zeros";
        for (const steps of script) {
          const rounds = steps.map((step) => {
            index += step === "next" ? 1 : 0;
            const round = pastRound(index);
            return step === "next" ? round : settledRound(round);
          });
          await mineBlock(
            provider,
            factory,
            rounds.map((round) => mock.encodeFunctionData("setRound", [round])),
          );
          latest = rounds.at(-1) ?? latest;
          answers.push([(await client.block()).number, latest]);
        }
        expect(answers.map(([block]) => block)).to.deep.equal(
          answers.map((_, block) => block),
        );
        expect(await Array.fromAsync(client.rounds())).to.deep.equal(
          roundsBlockByBlock(answers),
        );
      });
    });
  }
});

/** Mines one block with these calls in this order, or with none. */
async function mineBlock(
  provider: Eip1193Provider,
  to: string,
  calls: readonly string[],
): Promise<void> {
  const accounts = await provider.request({ method: "eth_accounts" });
  const from: unknown = Array.isArray(accounts) ? accounts[0] : undefined;
  await provider.request({ method: "evm_setAutomine", params: [false] });
  for (const data of calls) {
    await provider.request({
      method: "eth_sendTransaction",
      params: [{ from, to, data, gas: "0x7a120" }],
    });
  }
  await provider.request({ method: "evm_mine", params: [] });
  await provider.request({ method: "evm_setAutomine", params: [true] });
}

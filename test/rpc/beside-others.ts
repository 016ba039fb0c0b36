import { setTimeout as sleep } from "node:timers/promises";

import { expect } from "chai";
import type { NetworkConnection } from "hardhat/types/network";
import { createPublicClient, custom } from "viem";

import { differentNodes } from "../helpers/every-node.js";
import type { TestNode } from "../helpers/every-node.js";
import { useFixtureProject } from "../helpers/fixture-project.js";
import { createTestHre, httpNetwork } from "../helpers/hre.js";

/** More than Hardhat's pool has connections, so that requests wait for each other. */
const THEIRS = 400;
const ORDERS = 500;

for (const { name, start } of differentNodes) {
  describe(`requests beside those of others on one connection, ${name}`, () => {
    let node: TestNode;
    let project: Awaited<ReturnType<typeof useFixtureProject>>;
    let connection: NetworkConnection;

    before(async () => {
      node = await start();
      project = await useFixtureProject("empty");
      const hre = await createTestHre(
        node.url === undefined
          ? {}
          : { networks: { live: httpNetwork(node.url) } },
        { projectRoot: project.path },
      );
      connection = await hre.network.create(
        node.url === undefined ? "default" : "live",
      );
      const { vault } = connection;
      const mocks = await vault.deployMocks({ scenario: "expired-round" });
      await mocks.set({
        generatedOrders: { firstId: 1n, lastId: BigInt(ORDERS) },
      });
    });
    after(async () => {
      await connection.close();
      await node.stop();
      await project.remove();
    });

    /** Sends hundreds of requests by hardhat-ethers and viem. @returns Their failures. */
    const failuresOfOthers = async (): Promise<readonly string[]> => {
      const { ethers, provider } = connection;
      const viem = createPublicClient({
        transport: custom(provider, { retryCount: 0 }),
      });
      const work = Array.from({ length: THEIRS }, async (_, index) => {
        // Each is a request of its own: viem sends equal ones once.
        const address = `0x${String(index).padStart(40, "0")}` as const;
        return index % 2 === 0
          ? await ethers.provider.getBalance(address)
          : await viem.getBalance({ address });
      });
      return failuresIn(await Promise.allSettled(work));
    };

    it("orders() before, and orders() among them, fail none and do not fail", async () => {
      const { vault } = connection;
      const scan = async (): Promise<number> =>
        (await Array.fromAsync(vault.orders({ chunkSize: 10 }))).length;
      expect(await scan()).to.equal(ORDERS);
      const [failures, count] = await Promise.all([failuresOfOthers(), scan()]);
      expect(failures).to.deep.equal([]);
      expect(count).to.equal(ORDERS);
    });

    it("reads that end with a timeout fail none, while they wait and afterwards", async () => {
      const { vault } = connection;
      const timeout = 500;
      const reads = Array.from({ length: 50 }, () =>
        vault.snapshot({ timeout }),
      );
      const [failures] = await Promise.all([
        failuresOfOthers(),
        Promise.allSettled(reads),
      ]);
      expect(failures).to.deep.equal([]);
      // Their deadlines are over while these wait.
      const later = failuresOfOthers();
      await sleep(timeout);
      expect(await later).to.deep.equal([]);
      expect(await failuresOfOthers()).to.deep.equal([]);
    });
  });
}

function failuresIn(
  ends: ReadonlyArray<PromiseSettledResult<unknown>>,
): readonly string[] {
  return ends.flatMap((end) =>
    end.status === "rejected" ? [String(end.reason)] : [],
  );
}

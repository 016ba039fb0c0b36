import { setTimeout as pause } from "node:timers/promises";

import { expect } from "chai";

import type { Settlement } from "../../src/types.js";
import { startAnvil } from "../helpers/anvil.js";
import { deployInstance } from "../helpers/deployment/deploy.js";
import { fetchProvider } from "../helpers/fetch-provider.js";
import { useFixtureProject } from "../helpers/fixture-project.js";
import type { FixtureProject } from "../helpers/fixture-project.js";
import { hreOnLive } from "../helpers/hre.js";
import { startRpcServer } from "../helpers/rpc-server.js";
import type { RpcServer } from "../helpers/rpc-server.js";
import { sample } from "../helpers/sample.js";
import { devKey } from "../helpers/world.js";

describe("a settlement on a chain with fast blocks that replaces some of them", () => {
  let anvil: Awaited<ReturnType<typeof startAnvil>>;
  let server: RpcServer;
  let project: FixtureProject;

  before(async () => {
    anvil = await startAnvil({ args: ["--block-time", "1"] });
    // To the package it is a live chain.
    server = await startRpcServer({
      upstream: anvil.url,
      handler: ({ request: { method } }) =>
        /^(?:anvil|hardhat|evm)_/u.test(method)
          ? { error: { code: -32601, message: "no such method" } }
          : undefined,
    });
  });
  after(async () => {
    await server.stop();
    await anvil.stop();
  });
  beforeEach(async () => {
    project = await useFixtureProject("plain");
  });
  afterEach(async () => {
    await project.remove();
  });

  const rpc = async (method: string, ...params: unknown[]): Promise<unknown> =>
    await fetchProvider(anvil.url).request({ method, params });
  /** Waits until the chain has so many blocks more. */
  const waitForBlocks = async (count: number): Promise<void> => {
    const end = Number(await rpc("eth_blockNumber")) + count;
    while (Number(await rpc("eth_blockNumber")) < end) {
      await pause(100);
    }
  };
  /** Replaces the newest blocks by empty ones, and forgets their transactions. */
  const replaceBlocks = async (depth: number): Promise<void> => {
    // anvil has no re-organisation of nothing.
    if (depth > 0) {
      await rpc("anvil_reorg", depth, []);
    }
  };

  /** Settles while blocks are replaced; `isThere` is whether the chain has it now. */
  const settle = async (
    depth: number,
    when: "as it is mined" | "after the end",
  ): Promise<{
    readonly said: Settlement;
    readonly isThere: () => Promise<boolean>;
  }> => {
    const { contracts } = await deployInstance(fetchProvider(anvil.url));
    // The deployment stays.
    await waitForBlocks(4);
    const hre = await hreOnLive(
      server.url,
      { accounts: [devKey(1)], vault: { contracts } },
      project.path,
    );
    const { vault } = await hre.network.create();
    let replaced: Promise<void> | undefined;
    const said = await vault.settleAll({
      confirm: async () => await Promise.resolve(true),
      onEvent: (event) => {
        if (event.type === "mined" && when === "as it is mined") {
          // Once.
          replaced ??= replaceBlocks(depth);
        }
      },
    });
    await replaced;
    if (when === "after the end") {
      await replaceBlocks(depth);
    }
    await waitForBlocks(2);
    return {
      said,
      isThere: async () => (await vault.getLatestRoundInfo()).settled,
    };
  };

  const cases = [0, 1, 2].flatMap((depth) =>
    (["as it is mined", "after the end"] as const).map(
      (when) => [depth, when] as const,
    ),
  );
  for (const [depth, when] of sample(cases, 1)) {
    it(`settleAll settles once, and what it reports stays, if ${depth} blocks are replaced ${when}`, async () => {
      const { said, isThere } = await settle(depth, when);
      expect(said).to.include({ status: "settled", code: null });
      expect(said.hashes).to.have.lengthOf(1);
      expect(await isThere()).to.equal(true);
    });
  }
});

import { expect } from "chai";
import { concat } from "ethers";
import type { NetworkConnection } from "hardhat/types/network";

import type { SettlementPreflight } from "../../src/types.js";
import { startAnvil } from "../helpers/anvil.js";
import { differentNodes } from "../helpers/every-node.js";
import type { TestNode } from "../helpers/every-node.js";
import { fieldsOf } from "../helpers/fields.js";
import { useFixtureProject } from "../helpers/fixture-project.js";
import type { FixtureProject } from "../helpers/fixture-project.js";
import {
  connectTo,
  createTestHre,
  hreOnLive,
  httpNetwork,
} from "../helpers/hre.js";
import { parseDocument, runTyped } from "../helpers/run-vault-task.js";

const WEEK = 7 * 86_400;
/** 1 January 2020. */
const PAST = 1_577_836_800;

const advance = async (
  { provider }: Pick<NetworkConnection, "provider">,
  seconds: number,
): Promise<void> => {
  await provider.request({ method: "evm_increaseTime", params: [seconds] });
};

describe("a round's end, by the time that the next block would have", () => {
  for (const { name, start } of differentNodes) {
    describe(`on ${name}, which makes blocks only for transactions`, () => {
      let node: TestNode;
      let connection: NetworkConnection;
      before(async () => {
        node = await start();
        connection = await connectTo(node.url);
        await connection.vault.deployMocks();
      });
      after(async () => {
        await connection.close();
        await node.stop();
      });

      it("a keeper settles once the round has ended, though the newest block is older, and not before", async () => {
        const { vault } = connection;
        const early = await vault.settleAll({ ifExpired: true });
        await advance(connection, WEEK);
        const asserted = await vault.settleAll({
          ifExpired: true,
          assertOnly: true,
        });
        const late = await vault.settleAll({ ifExpired: true });
        expect([early.status, asserted.code, late.status]).to.deep.equal([
          "nothing-to-do",
          "VAULT_SETTLEMENT_NEEDED",
          "settled",
        ]);
      });
    });
  }

  describe("on a development node whose clock is years behind this machine's", () => {
    const settleTwice = async (
      connection: NetworkConnection,
    ): Promise<readonly string[]> => {
      const { vault } = connection;
      await vault.deployMocks();
      const early = await vault.settleAll({ ifExpired: true });
      await advance(connection, WEEK);
      const late = await vault.settleAll({ ifExpired: true });
      await connection.close();
      return [early.status, late.status];
    };

    it("a keeper on anvil counts by the node's clock", async () => {
      const node = await startAnvil({ args: ["--timestamp", String(PAST)] });
      expect(await settleTwice(await connectTo(node.url))).to.deep.equal([
        "nothing-to-do",
        "settled",
      ]);
      await node.stop();
    });

    it("a keeper in process counts by the network's clock", async () => {
      const initialDate = new Date(PAST * 1_000).toISOString();
      const { network } = await createTestHre({
        networks: { past: { type: "edr-simulated", initialDate } },
      });
      expect(await settleTwice(await network.create("past"))).to.deep.equal([
        "nothing-to-do",
        "settled",
      ]);
    });
  });
});

describe("vault tasks on a node with mocks", () => {
  let node: TestNode & { readonly url: string };
  let connection: NetworkConnection;
  let contracts: Readonly<Record<string, string>>;
  let project: FixtureProject;
  before(async () => {
    node = await startAnvil();
    project = await useFixtureProject("plain");
  });
  beforeEach(async () => {
    connection = await connectTo(node.url);
    contracts = (await connection.vault.deployMocks()).addresses;
  });
  afterEach(async () => {
    await connection.close();
  });
  after(async () => {
    await node.stop();
    await project.remove();
  });
  const run = async (typed: string, settings: object = {}) => {
    const vault = { contracts, ...settings };
    const hre = await hreOnLive(node.url, { vault }, project.path);
    return await runTyped(hre, typed);
  };
  const settlementOf = async (typed: string, settings?: object) =>
    fieldsOf(
      fieldsOf(parseDocument(await run(`settle --json ${typed}`, settings)))[
        "settlement"
      ],
    );

  it("round counts down by the next block's time, and says how old the newest block is", async () => {
    await advance(connection, WEEK);
    const { stdout } = await run("round");
    expect(stdout)
      .to.match(/^The newest block is 6048\d\d s old\./mu)
      .and.match(/^End .* ago$/mu);
  });

  it("round says nothing of the newest block if it is not old", async () => {
    expect((await run("round")).stdout).to.not.include("newest block");
  });

  it("settle --max-fee-per-gas 1wei refuses, and names the option", async () => {
    expect(await settlementOf("--yes --max-fee-per-gas 1wei"))
      .to.include({ status: "refused", code: "VAULT_FEE_ABOVE_LIMIT" })
      .and.to.have.property("reason")
      .that.includes("(--max-fee-per-gas)");
    expect(await settlementOf("--yes --max-fee-per-gas 50gwei")).to.include({
      status: "settled",
    });
  });

  it("settle --partial sends what does not settle the round, and settle --yes names the option", async () => {
    // Accepts every call.
    const stub = "0x00000000000000000000000000000000000000E1";
    await connection.provider.request({
      method: "anvil_setCode",
      params: [stub, "0x00"],
    });
    const own = { contracts: { ...contracts, vault: stub } };
    expect(await settlementOf("--yes", own))
      .to.include({ status: "refused", code: "VAULT_WOULD_NOT_SETTLE" })
      .and.to.have.property("reason")
      .that.includes("pass --partial");
    expect(await settlementOf("--yes --partial", own)).to.include({
      status: "not-settled",
    });
  });

  it("settle --partial and --max-fee-per-gas exclude --calldata", async () => {
    for (const flag of ["--partial", "--max-fee-per-gas 1gwei"]) {
      const { exitCode, stderr } = await run(`settle --calldata ${flag}`);
      expect(exitCode).to.equal(1);
      expect(stderr).to.include("exclude each other");
    }
  });

  it("settle warns where an instance has its own vault and the network's factory", async () => {
    const { vault: own = "" } = contracts;
    const hre = await createTestHre(
      {
        networks: {
          live: httpNetwork(node.url, {
            vault: {
              contracts,
              instances: {
                weekly: { contracts: { vault: own } },
                daily: { contracts },
              },
            },
          }),
        },
      },
      { network: "live", projectRoot: project.path },
    );
    const opened = await hre.network.create();
    const warningsOf = async (name: string): Promise<readonly string[]> => {
      let shown: SettlementPreflight | undefined;
      await opened.vault.instance(name).settleAll({
        confirm: async (preflight) => {
          shown = preflight;
          return await Promise.resolve("no");
        },
      });
      return shown?.warnings ?? [];
    };
    const [inherited] = await warningsOf("weekly");
    expect(inherited).to.include("networks.live.vault.contracts.vaultFactory");
    expect(await warningsOf("daily")).to.deep.equal([]);
    await opened.close();
    const { stderr } = await runTyped(hre, "settle --instance weekly");
    expect(stderr.replaceAll("\n", " ")).to.include(
      "which the instance inherits",
    );
  });

  it("settle reads a factory that refuses callers with code", async () => {
    const gate = "0x00000000000000000000000000000000000000E2";
    const { vaultFactory = "" } = contracts;
    await connection.provider.request({
      method: "anvil_setCode",
      params: [
        gate,
        concat([
          // Reverts if the caller has code; else returns what the factory returns.
          "0x333b15600957",
          "0x5f5ffd",
          "0x5b365f5f375f5f365f73",
          vaultFactory,
          "0x5afa503d5f5f3e3d5ff3",
        ]),
      ],
    });
    const own = { contracts: { ...contracts, vaultFactory: gate } };
    expect(await settlementOf("--assert", own)).to.include({
      status: "refused",
      code: "VAULT_SETTLEMENT_NEEDED",
    });
  });
});

import { expect } from "chai";
import type { ContractAddresses } from "../../src/client/index.js";
import { encodeRevertData } from "../../src/mocks/index.js";
import { examineVault } from "../../src/plugin/doctor.js";
import type { Check } from "../../src/plugin/doctor.js";
import { operations } from "../../src/protocol/index.js";
import { BareHost } from "../helpers/bare-host.js";
import { named, outline } from "../helpers/checks.js";
import {
  documentedAnswer,
  documentedContracts,
} from "../helpers/documented-node.js";
import { useKeeper } from "../helpers/keeper.js";
import { pathsOf } from "../helpers/readings.js";
import { SETTLER } from "../helpers/scripted-contracts.js";
import { ScriptedNode } from "../helpers/scripted-node.js";

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
    return await examineVault(node.host({ contracts }), { chainId: 1, block });
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
});

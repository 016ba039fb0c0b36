import { expect } from "chai";

import type { ContractAddresses } from "../../src/client/index.js";
import type { Check } from "../../src/plugin/check.js";
import {
  examineContracts,
  examineInstances,
  examineNode,
} from "../../src/plugin/examine.js";
import { encodeRevertData } from "../../src/mocks/index.js";
import { operations } from "../../src/protocol/index.js";
import type { Operation } from "../../src/protocol/index.js";
import { named, outline } from "../helpers/checks.js";
import { createTestHre, httpNetwork } from "../helpers/hre.js";
import {
  documentedAnswer,
  documentedContracts,
} from "../helpers/documented-node.js";
import { pathsOf } from "../helpers/readings.js";
import { ScriptedNode } from "../helpers/scripted-node.js";

const closed = encodeRevertData("closed");

describe("what doctor finds out of a node", () => {
  const block = { number: 5, timestamp: 1_000 };
  const examine = async (
    kind: "live" | "development",
    age: number,
    settings: Readonly<Record<string, unknown>> = {},
    node = new ScriptedNode(),
  ): Promise<readonly Check[]> => {
    if (kind === "development") {
      node.makeDevelopmentNode();
    }
    return await examineNode(
      node.host({ settings: { vault: { maxHeadAge: 300 }, ...settings } }),
      { chainId: 56, block },
      () => (block.timestamp + age) * 1_000,
    );
  };

  for (const [kind, configured, status, detail] of [
    ["live", undefined, "warn", "chain id 56; none is configured"],
    ["development", undefined, "ok", "chain id 56"],
    ["live", 56, "ok", "chain id 56, as configured"],
    ["development", 1, "fail", "chain id 56, but 1 is configured"],
  ] as const) {
    it(`examineNode() finds the chain id 56 of a ${kind} node ${status} if ${String(configured)} is configured`, async () => {
      const settings = configured === undefined ? {} : { chainId: configured };
      const checks = await examine(kind, 0, settings);
      expect(named(checks, "network")).to.include({ status, detail });
    });
  }

  for (const [kind, age, status, detail] of [
    ["live", 300.4, "ok", "block 5, 300 s old"],
    ["live", 300.5, "fail", "block 5, 301 s old; maxHeadAge is 300 s"],
    ["live", -301, "warn", "block 5, 301 s ahead of this machine's clock"],
    ["development", 301, "ok", "block 5, 301 s old"],
  ] as const) {
    it(`examineNode() finds the latest block of a ${kind} node ${status} if it is ${age} s old`, async () => {
      expect(named(await examine(kind, age), "head")).to.include({
        status,
        detail,
      });
    });
  }

  for (const [kind, overrides, status, detail] of [
    ["live", true, "ok", /^simulateV1: one request/u],
    ["live", false, "warn", /^fork: this process/u],
    ["development", false, "ok", /^fork: this process/u],
  ] as const) {
    it(`examineNode() finds the engine of a ${kind} node ${status} ${overrides ? "with" : "without"} eth_simulateV1`, async () => {
      const node = new ScriptedNode({ overrides });
      const engine = named(await examine(kind, 0, {}, node), "engine");
      expect(engine.status).to.equal(status);
      expect(engine.detail).to.match(detail);
    });
  }

  it("examineNode() finds an in-process network ok, whatever its clock", async () => {
    const { vault } = await (await createTestHre()).network.create();
    const found = { chainId: 31_337, block };
    const checks = await examineNode(vault, found, () => 9_000_000);
    expect(outline(checks)).to.deep.equal([
      "network ok",
      "head ok",
      "engine ok",
    ]);
    expect(named(checks, "engine").detail).to.match(/^in-process: /u);
    await vault.connection.close();
  });
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
    return await examineContracts(node.host({ contracts }), 5);
  };

  it("examineContracts() finds contracts ok, with address and readings", async () => {
    const checks = await examine();
    expect(outline(checks)).to.deep.equal([
      ...["underlying asset ok", "public pool ok", "private pool ok"],
      ...["trading ok", "vault factory ok", "vault ok"],
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
    it(`examineContracts() finds the vault ${status}, with "${operation}", if ${Object.keys(reverting).join(" and ")} revert`, async () => {
      const vault = named(await examine(reverting), "vault");
      expect(vault.status).to.equal(status);
      expect(vault.detail.slice(0, operation.length)).to.equal(operation);
    });
  }

  it("examineContracts() warns of a factory that answers with zeros only, as one without a round", async () => {
    const node = new ScriptedNode({
      codeOf: () => "0x01",
      answerOf: (call) => {
        const read = Object.values<Operation>(operations).find(
          ({ selector }) => call.data === selector,
        );
        return call.to === documentedContracts.vaultFactory
          ? {
              reverted: false,
              data: `0x${"0".repeat(64 * (read?.outputs.length ?? 0))}`,
            }
          : documentedAnswer(call);
      },
    });
    const checks = await examineContracts(
      node.host({ contracts: documentedContracts }),
      5,
    );
    expect(named(checks, "vault factory").status).to.equal("warn");
    expect(named(checks, "vault").status).to.equal("ok");
  });

  const { vault, vaultFactory } = documentedContracts;
  for (const [contracts, missing, fix] of [
    [{}, "fail", true],
    [{ vault }, "warn", true],
    [{ vault, vaultFactory }, "ok", false],
  ] as const) {
    it(`examineContracts() finds a public pool without an address ${missing} if these have one: ${Object.keys(contracts).join()}`, async () => {
      const pool = named(await examine({}, contracts), "public pool");
      expect(pool.status).to.equal(missing);
      expect(pool.detail).to.match(/^no address is configured/u);
      expect(pool.fix !== null).to.equal(fix);
    });
  }
});

describe("what doctor finds out of instances", () => {
  const { vault, vaultFactory } = documentedContracts;
  const instances = {
    own: { contracts: { vault } },
    whole: { contracts: { vault, vaultFactory } },
    none: {},
  };

  for (const [title, contracts, instance, found] of [
    ["of a network", { vaultFactory }, undefined, ["instance own warn"]],
    ["by its name", { vaultFactory }, "own", ["instance own warn"]],
    ["by another name", { vaultFactory }, "whole", []],
    ["of a network without a factory", {}, undefined, []],
  ] as const) {
    it(`examineInstances() ${found.length === 0 ? "finds nothing" : "warns of an instance with another vault's factory"}, asked for those ${title}`, async () => {
      const networks = {
        live: httpNetwork("http://127.0.0.1:1", {
          vault: { contracts, instances },
        }),
      };
      const { vault: own } = await (
        await createTestHre({ networks })
      ).network.create("live");
      const checks = examineInstances(
        instance === undefined ? own : own.instance(instance),
      );
      expect(outline(checks)).to.deep.equal(found);
      for (const { fix } of checks) {
        expect(fix).to.contain(
          "networks.live.vault.instances.own.contracts.vaultFactory",
        );
      }
    });
  }
});

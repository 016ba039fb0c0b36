import { mkdir, writeFile } from "node:fs/promises";
import path from "node:path";

import { configVariable } from "hardhat/config";

import { operations } from "../../src/client/index.js";
import * as mocks from "../../src/mocks/index.js";
import * as check from "../../src/plugin/check.js";
import * as examineSettlement from "../../src/plugin/examine-settlement.js";
import * as examine from "../../src/plugin/examine.js";
import { startDatedAnvil } from "../helpers/anvil.js";
import { contracts, distinctState } from "../helpers/distinct-state.js";
import { fetchProvider } from "../helpers/fetch-provider.js";
import { useFixtureProject } from "../helpers/fixture-project.js";
import { createTestHre, httpNetwork } from "../helpers/hre.js";
import { recordCalls } from "../helpers/record-calls.js";
import type { CallWorld } from "../helpers/record-calls.js";

const SECOND = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8";
const THIRD = "0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC";

/** @param network The one that `hre.vault` connects to. */
async function openWorld(network: string): Promise<CallWorld> {
  const project = await useFixtureProject("plain");
  const node = await startDatedAnvil(1_795_219_200);
  const { url } = node;
  const { trading, vaultFactory, ...others } = contracts;
  const hre = await createTestHre(
    {
      networks: {
        live: httpNetwork(url),
        second: httpNetwork(url, { from: SECOND }),
        unknown: httpNetwork(url, { from: contracts.vault }),
        named: httpNetwork(url, {
          from: THIRD,
          vault: {
            contracts: {
              ...others,
              trading: configVariable("SESSION_TRADING"),
              vaultFactory: configVariable("SESSION_MISSING"),
            },
            instances: {
              weekly: { contracts: { vault: configVariable("SESSION_WRONG") } },
              daily: { contracts: { vault: trading, vaultFactory } },
              none: {},
            },
          },
        }),
        gone: httpNetwork("http://127.0.0.1:1"),
        plain: httpNetwork(url, {
          vault: { instances: { none: {}, daily: {} } },
        }),
        default: {
          type: "edr-simulated",
          vault: { instances: { weekly: {}, daily: {} } },
        },
      },
    },
    { network, projectRoot: project.path },
  );
  process.env["SESSION_TRADING"] = trading;
  process.env["SESSION_WRONG"] = `${contracts.vault.slice(0, -1)}g`;
  const root = path.join(project.path, "vault-deployments");
  await mkdir(root);
  const provider = fetchProvider(url);
  /** Refuses what only a development node answers. */
  const production = {
    request: async (given: Parameters<typeof provider.request>[0]) => {
      if (/nodeInfo|metadata/u.test(given.method)) {
        throw Object.assign(new Error("no such method"), { code: -32_601 });
      }
      return given.method === "web3_clientVersion"
        ? "Live\u202e/1.0"
        : await provider.request(given);
    },
  };
  return {
    hre,
    names: {
      ...{
        ...mocks,
        ...check,
        ...examine,
        ...examineSettlement,
        operations,
        contracts,
        distinctState,
      },
      ...{ provider, production, SECOND, THIRD },
      write: async (name: string, value: unknown) => {
        const text = typeof value === "string" ? value : JSON.stringify(value);
        await writeFile(path.join(root, name), text);
      },
    },
    close: async () => {
      await node.stop();
      await project.remove();
      delete process.env["SESSION_TRADING"];
      delete process.env["SESSION_WRONG"];
    },
  };
}

describe("hre.vault and connection.vault, call by call", () => {
  recordCalls("vaults", async () => await openWorld("live"));
});

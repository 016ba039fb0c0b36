import { toUtf8Bytes } from "ethers";
import type { NetworkConnection } from "hardhat/types/network";

import { operations } from "../../src/client/index.js";
import { startDatedAnvil } from "../helpers/anvil.js";
import { createTestHre, httpNetwork } from "../helpers/hre.js";
import { keysOf } from "../helpers/keys-of.js";
import { recordCalls } from "../helpers/record-calls.js";
import { startRpcServer } from "../helpers/rpc-server.js";
import * as scripted from "../helpers/scripted-node.js";
import type {
  ContractAnswer,
  ContractCall,
  Rewrite,
  ScriptedNodeOptions,
} from "../helpers/scripted-node.js";
import { deploySettlingVault } from "../helpers/settling-vaults.js";
import type { SettlingVaultName } from "../helpers/settling-vaults.js";

const START = 1_795_219_200;
const END = START + 1_000;

const vaults: Readonly<Record<string, SettlingVaultName>> = {
  ...{ mixed: "MixedVault", clock: "ClockVault", idle: "IdleVault" },
  ...{ keeper: "KeeperVault", purse: "PurseVault", rolling: "RollingVault" },
  accounts: "NoContractsVault",
};

/** Deploys the vaults; the sender has shares of the first. */
async function deployOn({ ethers }: NetworkConnection) {
  const signer = await ethers.provider.getSigner(0);
  const at: Record<string, Readonly<Record<string, string>>> = {};
  const tokens: string[] = [];
  for (const [name, vault] of Object.entries(vaults)) {
    const terms = { endTime: END, orders: 2 };
    const made = await deploySettlingVault(signer, vault, terms);
    at[name] = made.contracts;
    if (name === "mixed") {
      const { token, contract } = made;
      await contract.getFunction("give").send(signer, 4n * 10n ** 18n);
      tokens.push(await token.getAddress(), await contract.getAddress());
    }
  }
  return { at, tokens };
}

/** Contracts whose values all differ, and change up and down. */
const readings =
  (failures: Readonly<Record<string, string>> = {}) =>
  ({ to, data, phase }: ContractCall): ContractAnswer => {
    const name = keysOf(operations).find((each) =>
      data.startsWith(operations[each].selector),
    );
    const failure = failures[`${name} ${phase}`];
    if (failure !== undefined || name === undefined || name === "settleAll") {
      const reverted = failure !== undefined && failure !== "0x00";
      return { reverted, data: failure ?? "0x" };
    }
    const [isAfter, step] = phase === "after" ? [1, 1] : [0, 0];
    if (name === "getOrderInfo") {
      const exType = toUtf8Bytes(isAfter === 1 ? "\u001b[2J,=1" : "BTC-USDT");
      const order = { exType, contractType: 1 + step, state: 2 - step };
      return { reverted: false, data: scripted.orderWords(order) };
    }
    const first = Number(`0x${to.slice(-1)}${data.slice(-1)}`) * 1_000;
    const words = operations[name].outputs.map(({ type }, index) => {
      const value = first + index * 10 + (index % 2 === 0 ? step : -step);
      return (type === "bool" ? isAfter : value).toString(16).padStart(64, "0");
    });
    return { reverted: false, data: `0x${words.join("")}` };
  };

describe("simulateSettleAll, call by call", () => {
  recordCalls("simulations", async () => {
    const anvil = await startDatedAnvil(START);
    let node = new scripted.ScriptedNode();
    const server = await startRpcServer({
      handler: async (asked) => await scripted.handlerOf(node)(asked),
    });
    const initialDate = new Date(START * 1_000).toISOString();
    const hre = await createTestHre(
      {
        networks: {
          live: httpNetwork(anvil.url),
          scripted: httpNetwork(server.url, {
            vault: { contracts: scripted.documentedContracts },
          }),
          free: httpNetwork(server.url, { gasPrice: 0 }),
          dear: httpNetwork(server.url, { gasPrice: 10 ** 15, gas: 5 }),
          local: { type: "edr-simulated", initialDate },
        },
      },
      { network: "live" },
    );
    const local = await hre.network.create("local");
    /** A vault on a new node with these answers. */
    const on = async (
      rewrites: Readonly<Record<string, Rewrite>> = {},
      options: ScriptedNodeOptions = {},
      network = "scripted",
    ) => {
      const all = { codeOf: () => "0x01", answerOf: readings(), ...options };
      node = new scripted.ScriptedNode(all);
      for (const [method, rewrite] of Object.entries(rewrites)) {
        node.on(method, rewrite);
      }
      return (await hre.network.create(network)).vault;
    };
    const outside = await deployOn(await hre.network.create());
    const inside = await deployOn(local);
    const shown = { inside, local: local.vault, START, END, readings, on };
    return {
      hre,
      names: { ...scripted, ...outside, ...shown, current: () => node },
      close: async () => {
        await Promise.all([local.close(), server.stop(), anvil.stop()]);
      },
    };
  });
});

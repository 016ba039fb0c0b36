/**
 * Deploys contracts that behave as the protocol's public versions do, from the first
 * account of a node, without a request more than it needs.
 */
import { readFileSync } from "node:fs";
import path from "node:path";

import { Interface, concat, getCreateAddress, toQuantity } from "ethers";

import type { Address } from "../../../src/protocol/index.js";
import type { Eip1193Provider } from "../../../src/rpc/rpc-client.js";
import { fieldsOf, listOf } from "../fields.js";
import { compile } from "../solc.js";
import { untilFound } from "../transactions.js";

/** What has happened to the latest round. */
export type RoundState =
  | "open"
  | "ended"
  | "priced"
  | "below the strike"
  | "settled in part"
  | "settled"
  | "terminated";

export interface InstanceOptions {
  /** Decimals of the stable coin. Default: 18. */
  readonly decimals?: 6 | 18;
  /** Orders of the trading contract, ids from 0 on. Default: 40. */
  readonly orders?: number;
  /** Orders of the vault. Default: 3. */
  readonly vaultOrders?: number;
  /** Default: "priced". */
  readonly round?: RoundState;
}

/** One set of contracts, and the others that they use. */
export type Instance = Awaited<ReturnType<typeof instanceOn>>;

const WEEK = 604_800;
const STRIKE = 1_900n * 10n ** 18n;
/** Prices of the feed have 8 decimals. */
const PRICE = 2_000n * 10n ** 8n;
const LOW_PRICE = 1_800n * 10n ** 8n;
const COIN_PRICE = 600n * 10n ** 8n;
const REWARDS = 100_000n * 10n ** 18n;
/** Enough for each deployment, and below the cap of a transaction since Osaka. */
const GAS = 8_000_000;

const files = {
  Trading: "Trading",
  PriceFeed: "Markets",
  Formula: "Markets",
  UnderlyingAsset: "Markets",
  PublicPool: "Markets",
  PrivatePool: "Markets",
  Token: "Vault",
  VaultFactory: "Vault",
  Vault: "Vault",
} as const;
type DeployedName = keyof typeof files;

const compiled = new Map<DeployedName, { code: string; abi: Interface }>();

/** A contract of this folder. */
function compiledContract(name: DeployedName) {
  const known = compiled.get(name);
  if (known !== undefined) {
    return known;
  }
  const file = `${files[name]}.sol`;
  const content = readFileSync(path.join(import.meta.dirname, file), "utf8");
  const { errors = [], contracts } = compile(
    file === "Vault.sol" ? "0.8.37" : "0.6.12",
    { [file]: { content } },
    {
      optimizer: { enabled: true },
      // Nodes of every hardfork run it.
      evmVersion: file === "Vault.sol" ? "paris" : "istanbul",
    },
  );
  const found = contracts[file]?.[name];
  if (found === undefined) {
    throw new Error(errors.map((one) => one.formattedMessage).join("\n"));
  }
  const contract = {
    code: `0x${found.evm.bytecode.object}`,
    abi: new Interface(JSON.stringify(found.abi)),
  };
  compiled.set(name, contract);
  return contract;
}

/** Sends transactions one after the other, and does not wait for each. */
async function senderOn(provider: Eip1193Provider) {
  const request = async (
    method: string,
    ...params: readonly unknown[]
  ): Promise<unknown> => await provider.request({ method, params });
  const from = String(listOf(await request("eth_accounts"))[0]);
  let nonce = Number(await request("eth_getTransactionCount", from, "pending"));
  const sent = new Map<string, unknown>();
  const send = async (what: string, transaction: object): Promise<void> => {
    const gas = toQuantity(GAS);
    const call = { from, gas, nonce: toQuantity(nonce), ...transaction };
    const hash = await request("eth_sendTransaction", call);
    sent.set(`${what} (${nonce})`, hash);
    nonce += 1;
  };
  return {
    /** @returns The address that the contract will have. */
    deploy: async (name: DeployedName, ...args: readonly unknown[]) => {
      const { code, abi } = compiledContract(name);
      const data = concat([code, abi.encodeDeploy([...args])]);
      const address = getCreateAddress({ from, nonce });
      await send(name, { data });
      // ethers' addresses begin with 0x
      return address as Address;
    },
    call: async (
      name: DeployedName,
      to: Address,
      method: string,
      ...args: readonly unknown[]
    ) => {
      const { abi } = compiledContract(name);
      const data = abi.encodeFunctionData(method, [...args]);
      await send(`${name}.${method}`, { to, data });
    },
    /** @throws Error for a transaction that reverts */
    waitForAll: async () => {
      for (const [what, hash] of sent) {
        const receipt = await untilFound(
          async () => await request("eth_getTransactionReceipt", hash),
        );
        if (fieldsOf(receipt)["status"] !== "0x1") {
          throw new Error(`${what} reverted`);
        }
      }
    },
  };
}

export async function deployInstance(
  provider: Eip1193Provider,
  options: InstanceOptions = {},
): Promise<Instance> {
  return await instanceOn(provider, options);
}

async function instanceOn(provider: Eip1193Provider, options: InstanceOptions) {
  const { decimals = 18, orders = 40, round = "priced" } = options;
  const { vaultOrders = round === "terminated" ? 0 : 3 } = options;
  const block = await provider.request({
    method: "eth_getBlockByNumber",
    params: ["latest", false],
  });
  const now = Number(fieldsOf(block)["timestamp"]);
  const { deploy, call, waitForAll } = await senderOn(provider);
  const feed = await deploy("PriceFeed", PRICE);
  const coinFeed = await deploy("PriceFeed", COIN_PRICE);
  const formula = await deploy("Formula");
  const underlyingAsset = await deploy("UnderlyingAsset", feed, formula);
  const rewardToken = await deploy("Token", "SLD", 18);
  const unit = 10n ** BigInt(decimals);
  const trading = await deploy("Trading", decimals);
  const publicPool = await deploy("PublicPool", unit);
  const privatePool = await deploy("PrivatePool", unit);
  const vault = await deploy("Vault", rewardToken, feed, coinFeed, unit);
  const vaultFactory = await deploy("VaultFactory");
  await call("VaultFactory", vaultFactory, "setVault", vault);
  await call("Token", rewardToken, "mint", vault, REWARDS);
  await call("Trading", trading, "seed", orders);
  const end = round === "open" ? now + WEEK : now;
  const times = [end - WEEK, end] as const;
  await call("Vault", vault, "startRound", STRIKE, ...times, vaultOrders);
  if (round === "terminated") {
    await call("Vault", vault, "terminate");
  } else if (round !== "open" && round !== "ended") {
    const isLow = round === "below the strike";
    await call("PriceFeed", feed, "set", isLow ? LOW_PRICE : PRICE);
    await call("Vault", vault, "updatePrice");
    await call("PriceFeed", feed, "set", PRICE);
  }
  if (round === "settled in part") {
    await call("Vault", vault, "settle", [0]);
  } else if (round === "settled") {
    await call("Vault", vault, "settleAll");
  }
  await waitForAll();
  return {
    contracts: {
      underlyingAsset,
      publicPool,
      privatePool,
      trading,
      vaultFactory,
      vault,
    },
    Trading: trading,
    PriceFeed: feed,
    Vault: vault,
    /** The vault pays its caller with it, 18 decimals. */
    Token: rewardToken,
  };
}

/** Calls a function of a contract, by a transaction of the node's first account. */
export async function sendTo(
  provider: Eip1193Provider,
  instance: Instance,
  contract: "Trading" | "PriceFeed" | "Vault",
  method: string,
  ...args: readonly unknown[]
): Promise<void> {
  const sender = await senderOn(provider);
  await sender.call(contract, instance[contract], method, ...args);
  await sender.waitForAll();
}

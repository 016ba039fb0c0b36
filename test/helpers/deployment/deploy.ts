/**
 * Deploys contracts that behave as the protocol's public versions do, from the first
 * account of a node, without a request more than it needs.
 */
import { readFileSync } from "node:fs";
import path from "node:path";

import { Interface, concat, getCreateAddress, toQuantity } from "ethers";

import type { Address, ContractRole } from "../../../src/protocol/index.js";
import type { Eip1193Provider } from "../../../src/rpc/eip1193.js";
import { fieldsOf, listOf } from "../fields.js";
import { compile } from "../solc.js";
import type { CompiledContract } from "../solc.js";
import { untilFound } from "../transactions.js";

/** As `PriceFeed.Outage`. */
export const outages = { none: 0, text: 1, silent: 2, zero: 3 } as const;

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
export interface Instance {
  /** For `vault.contracts` of a network. */
  readonly contracts: Readonly<Record<ContractRole, Address>>;
  /** Of every contract; `Token` is what the vault pays its caller with, 18 decimals. */
  readonly addresses: Readonly<Record<DeployedName, Address>>;
}

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

const compiled = new Map<DeployedName, CompiledContract>();

/** The compiler's output of a contract of this folder. */
export function compiledContract(name: DeployedName): CompiledContract {
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
  compiled.set(name, found);
  return found;
}

const interfaces = new Map<DeployedName, Interface>();

function interfaceOf(name: DeployedName): Interface {
  const known =
    interfaces.get(name) ??
    new Interface(JSON.stringify(compiledContract(name).abi));
  interfaces.set(name, known);
  return known;
}

/** Sends transactions one after the other, and does not wait for each. */
interface Sender {
  /** @returns The address that the contract will have. */
  deploy(name: DeployedName, ...args: readonly unknown[]): Promise<Address>;
  call(
    name: DeployedName,
    to: Address,
    method: string,
    ...args: readonly unknown[]
  ): Promise<void>;
  /** @throws Error for a transaction that reverts */
  waitForAll(): Promise<void>;
}

async function senderOn(provider: Eip1193Provider): Promise<Sender> {
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
    deploy: async (name, ...args) => {
      const code = `0x${compiledContract(name).evm.bytecode.object}`;
      const data = concat([code, interfaceOf(name).encodeDeploy([...args])]);
      const address = getCreateAddress({ from, nonce });
      await send(name, { data });
      // ethers' addresses begin with 0x
      return address as Address;
    },
    call: async (name, to, method, ...args) => {
      const data = interfaceOf(name).encodeFunctionData(method, [...args]);
      await send(`${name}.${method}`, { to, data });
    },
    waitForAll: async () => {
      for (const [what, hash] of sent) {
        const receipt = await untilFound(
          async () => await request("eth_getTransactionReceipt", hash),
        );
        if (fieldsOf(receipt)["status"] !== "0x1") {
          throw new Error(`${what} reverted`);
        }
      }
      sent.clear();
    },
  };
}

async function bringTo(
  round: RoundState,
  sender: Sender,
  { vault, feed }: { readonly vault: Address; readonly feed: Address },
): Promise<void> {
  if (round === "open" || round === "ended") {
    return;
  }
  if (round === "terminated") {
    await sender.call("Vault", vault, "terminate");
    return;
  }
  const isLow = round === "below the strike";
  await sender.call("PriceFeed", feed, "set", isLow ? LOW_PRICE : PRICE);
  await sender.call("Vault", vault, "updatePrice");
  if (isLow) {
    await sender.call("PriceFeed", feed, "set", PRICE);
  } else if (round === "settled in part") {
    await sender.call("Vault", vault, "settle", [0]);
  } else if (round === "settled") {
    await sender.call("Vault", vault, "settleAll");
  }
}

/** Deploys several instances under one underlying asset. */
export async function deployInstances<Name extends string>(
  provider: Eip1193Provider,
  instances: Readonly<Record<Name, InstanceOptions>>,
): Promise<Readonly<Record<Name, Instance>>> {
  const block = await provider.request({
    method: "eth_getBlockByNumber",
    params: ["latest", false],
  });
  const now = Number(fieldsOf(block)["timestamp"]);
  const sender = await senderOn(provider);
  // What every instance shares.
  const feed = await sender.deploy("PriceFeed", PRICE);
  const coinFeed = await sender.deploy("PriceFeed", COIN_PRICE);
  const formula = await sender.deploy("Formula");
  const underlyingAsset = await sender.deploy("UnderlyingAsset", feed, formula);
  const rewardToken = await sender.deploy("Token", "SLD", 18);
  // Filled below, name by name.
  const deployed = {} as Record<Name, Instance>;
  // The type has no other keys.
  for (const name of Object.keys(instances) as Name[]) {
    const options: InstanceOptions = instances[name];
    const { decimals = 18, orders = 40, round = "priced" } = options;
    const { vaultOrders = round === "terminated" ? 0 : 3 } = options;
    const unit = 10n ** BigInt(decimals);
    const trading = await sender.deploy("Trading", decimals);
    const publicPool = await sender.deploy("PublicPool", unit);
    const privatePool = await sender.deploy("PrivatePool", unit);
    const vault = await sender.deploy(
      ...(["Vault", rewardToken, feed, coinFeed, unit] as const),
    );
    const vaultFactory = await sender.deploy("VaultFactory");
    await sender.call("VaultFactory", vaultFactory, "setVault", vault);
    await sender.call("Token", rewardToken, "mint", vault, REWARDS);
    await sender.call("Trading", trading, "seed", orders);
    const end = round === "open" ? now + WEEK : now;
    await sender.call(
      ...(["Vault", vault, "startRound", STRIKE, end - WEEK, end] as const),
      vaultOrders,
    );
    await bringTo(round, sender, { vault, feed });
    const addresses = {
      ...{ Trading: trading, PriceFeed: feed, Token: rewardToken },
      ...{ PublicPool: publicPool, PrivatePool: privatePool },
      ...{ Vault: vault, VaultFactory: vaultFactory },
      ...{ UnderlyingAsset: underlyingAsset, Formula: formula },
    };
    deployed[name] = {
      contracts: {
        underlyingAsset,
        publicPool,
        privatePool,
        trading,
        vaultFactory,
        vault,
      },
      addresses,
    };
  }
  await sender.waitForAll();
  return deployed;
}

/** Calls a function of a contract, by a transaction of the node's first account. */
export async function sendTo(
  provider: Eip1193Provider,
  { addresses }: Instance,
  contract: DeployedName,
  method: string,
  ...args: readonly unknown[]
): Promise<void> {
  const sender = await senderOn(provider);
  await sender.call(contract, addresses[contract], method, ...args);
  await sender.waitForAll();
}

/** Deploys one instance. */
export async function deployInstance(
  provider: Eip1193Provider,
  options: InstanceOptions = {},
): Promise<Instance> {
  const { only } = await deployInstances(provider, { only: options });
  return only;
}

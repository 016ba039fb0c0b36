import { HDNodeWallet, Mnemonic, Wallet } from "ethers";
import type { BaseWallet, Transaction } from "ethers";
import type { NetworkConfig } from "hardhat/types/config";
import pLimit from "p-limit";

import {
  checksumAddress,
  parseAccount,
  parseAddress,
} from "../client/inputs.js";
import type { AccountLike } from "../client/inputs.js";
import {
  fallbackTo,
  invalidArgument,
  refusesSettlement,
  vaultError,
} from "../errors.js";
import type { Address } from "../protocol/index.js";
import { getAccounts, getNonce, isDevelopmentNode } from "../rpc/chain.js";
import { classify, isNodeError } from "../rpc/errors.js";
import type { RpcClient } from "../rpc/rpc-client.js";

/** Who signs, for a person. */
export const signingKinds = {
  local: "a key of the configuration",
  remote: "an account of the node or of a plugin",
  "in-process": "an account of the in-process network",
} as const;

export type SigningKind = keyof typeof signingKinds;

export interface Signer {
  readonly address: Address;
  readonly kind: SigningKind;
  /** Signs with a configured key, which never leaves this file. */
  readonly sign?: (transaction: Transaction) => Promise<string>;
}

/**
 * Finds the account that sends: the given one, else the network's `from`, else its first.
 *
 * @param config Undefined for a plain provider: the node or the wallet behind it signs.
 * @throws VaultError VAULT_NO_SIGNER, VAULT_UNKNOWN_SIGNER, VAULT_INVALID_ARGUMENT
 */
export async function resolveSigner(
  rpc: RpcClient,
  config: NetworkConfig | undefined,
  given?: AccountLike,
): Promise<Signer> {
  const { network } = rpc;
  const configured =
    config?.from === undefined
      ? undefined
      : parseAddress(config.from, `networks.${network}.from`);
  const from = given === undefined ? configured : parseAccount(given, "from");
  const kind = config?.type === "edr-simulated" ? "in-process" : "remote";
  if (kind === "in-process" && from !== undefined) {
    // It may be impersonated. If it is not, the in-process network refuses it.
    return { address: from, kind };
  }
  if (config?.type === "http" && config.accounts !== "remote") {
    for await (const key of configuredKeys(rpc, config.accounts)) {
      if (from === undefined || key.address === from) {
        const sign = async (transaction: Transaction): Promise<string> =>
          await key.signTransaction(transaction);
        return { address: checksumAddress(key.address), kind: "local", sign };
      }
    }
  }
  // Accounts of the node, or of a plugin for a hardware wallet. Public endpoints have none:
  // some return an empty list, some refuse. One that is busy may have some.
  const listed = await getAccounts(rpc).catch(
    fallbackTo(
      [],
      ({ code, details }) =>
        details["kind"] === "refused" ||
        (code === "VAULT_RPC_ERROR" && details["kind"] !== "busy"),
    ),
  );
  const accounts = listed.map((account) =>
    parseAddress(account, `An account of network ${network}`),
  );
  const address = from ?? accounts[0];
  if (address === undefined) {
    throw vaultError("VAULT_NO_SIGNER", { network });
  }
  // It may impersonate the account. If it does not, it refuses the transaction.
  if (!accounts.includes(address) && !(await isDevelopmentNode(rpc))) {
    const known = accounts.length === 0 ? "none" : accounts.join(", ");
    throw vaultError("VAULT_UNKNOWN_SIGNER", { from: address, network, known });
  }
  return { address, kind };
}

/** Finds the default sender, kept for the connection. */
export async function findSender(
  rpc: RpcClient,
  config: NetworkConfig,
): Promise<Address> {
  if (config.from !== undefined) {
    return parseAddress(config.from, `networks.${rpc.network}.from`);
  }
  const { node, network } = rpc;
  try {
    node.sender ??= (await resolveSigner(rpc, config)).address;
    return node.sender;
  } catch (error) {
    throw refusesSettlement(error)
      ? vaultError("VAULT_NO_SENDER", { network }, error)
      : error;
  }
}

/**
 * Returns the account's next nonce. Refuses pending transactions: the settlement would
 * wait behind them, and one of them may be a settlement.
 */
export async function findFreeNonce(
  rpc: RpcClient,
  { address, kind }: Signer,
  observed: number,
): Promise<number> {
  if (kind === "in-process") {
    return await getNonce(rpc, address, "pending");
  }
  const [counted, pending] = await Promise.all([
    // A node that lags does not have that block, so it returns no outdated count. The
    // state may be pruned before a person has confirmed.
    getNonce(rpc, address, observed).catch(fallbackTo(0, isNodeError)),
    getNonce(rpc, address, "pending"),
  ]);
  // Some may have been mined since.
  const mined =
    pending > counted
      ? Math.max(counted, await getNonce(rpc, address, "latest"))
      : counted;
  if (pending > mined) {
    throw vaultError("VAULT_PENDING_TRANSACTIONS", {
      from: address,
      network: rpc.network,
      count: pending - mined,
      nonce: mined,
    });
  }
  return mined;
}

/**
 * Runs what one account sends on a connection one after the other: its nonce is free only
 * once the transaction before is mined.
 */
export async function inTurn<Result>(
  { node }: RpcClient,
  account: string,
  task: () => Promise<Result>,
): Promise<Result> {
  const key = account.toLowerCase();
  const queue = node.senders.get(key) ?? pLimit(1);
  node.senders.set(key, queue);
  return await queue(task);
}

type Accounts = Exclude<
  Extract<NetworkConfig, { type: "http" }>["accounts"],
  "remote"
>;

async function* configuredKeys(
  rpc: RpcClient,
  accounts: Accounts,
): AsyncGenerator<BaseWallet, void> {
  const { redactor } = rpc;
  if (Array.isArray(accounts)) {
    for (const [index, account] of accounts.entries()) {
      const problem = "it is not a private key";
      yield await readSecret(rpc, `accounts[${index}]`, problem, async () => {
        const key = await account.getHexString();
        redactor.keepKey(key);
        return new Wallet(key);
      });
    }
    return;
  }
  const { mnemonic, passphrase, path, initialIndex, count } = accounts;
  const problem =
    "a word is not in the BIP-39 list, or the last one does not match the others";
  const parent = await readSecret(
    rpc,
    "accounts.mnemonic",
    problem,
    async () => {
      const [words, password] = [await mnemonic.get(), await passphrase.get()];
      redactor.keep(words, password);
      const phrase = Mnemonic.fromPhrase(words.trim(), password);
      return HDNodeWallet.fromMnemonic(phrase, path.replace(/\/$/u, ""));
    },
  );
  for (let index = 0; index < count; index += 1) {
    yield parent.deriveChild(initialIndex + index);
  }
}

/** Drops the cause, which may quote the secret, unless a variable is missing. */
async function readSecret<Read>(
  { network, redactor }: RpcClient,
  setting: string,
  problem: string,
  read: () => Promise<Read>,
): Promise<Read> {
  try {
    return await read();
  } catch (error) {
    const { error: known } = classify(error, { network, redactor });
    const where = `networks.${network}.${setting}`;
    throw known.code === "VAULT_CONFIG_VARIABLE"
      ? known
      : invalidArgument(
          where,
          problem,
          "Correct it, or the configuration variable that it uses.",
        );
  }
}

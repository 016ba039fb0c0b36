import { HDNodeWallet, Mnemonic, Wallet } from "ethers";
import type { BaseWallet, Transaction } from "ethers";
import type {
  HttpNetworkHDAccountsConfig,
  NetworkConfig,
} from "hardhat/types/config";

import {
  checksumAddress,
  parseAccount,
  parseAddress,
} from "../client/inputs.js";
import type { AccountLike } from "../client/inputs.js";
import type { Address } from "../protocol/index.js";
import { getAccounts, getNonce } from "../rpc/accounts.js";
import { isDevelopmentNode } from "../rpc/development-node.js";
import { toRpcError } from "../rpc/errors.js";
import {
  VaultError,
  fallbackTo,
  refusesSettlement,
  vaultError,
} from "../errors.js";
import type { KnownNode, RpcClient } from "../rpc/rpc-client.js";

/** `local`: configured key; `remote`: node or plugin; `in-process`: Hardhat. */
export type SigningKind = "local" | "remote" | "in-process";

export interface Signer {
  readonly address: Address;
  readonly kind: SigningKind;
  /** Signs with a configured key, which never leaves this file. */
  readonly sign?: (transaction: Transaction) => Promise<string>;
}

/** The default account that settles, once it is found. */
const senders = new WeakMap<KnownNode, Address>();

/**
 * Finds the account that settles: the given one, else the network's `from`, else its first.
 */
export async function resolveSigner(
  rpc: RpcClient,
  config: NetworkConfig,
  given: AccountLike | undefined,
): Promise<Signer> {
  const from =
    given === undefined
      ? config.from === undefined
        ? undefined
        : parseAddress(config.from, "from of the network's configuration")
      : parseAccount(given, "from");
  const kind = config.type === "http" ? "remote" : "in-process";
  if (config.type === "http") {
    const local = await findLocalKey(rpc, config.accounts, from);
    if (local !== undefined) {
      const address = checksumAddress(local.address);
      const sign = async (transaction: Transaction): Promise<string> =>
        await local.signTransaction(transaction);
      return { address, kind: "local", sign };
    }
  } else if (from !== undefined) {
    // It may be impersonated. If it is not, the in-process network refuses it.
    return { address: from, kind };
  }
  // Accounts of the node, or of a plugin for a hardware wallet.
  const { network } = rpc;
  const listed = await getAccounts(rpc).catch((error: unknown) => {
    // Public endpoints have no accounts: some return an empty list, some refuse.
    throw VaultError.isVaultError(error) &&
      (error.code === "VAULT_RPC_ERROR" || error.details["kind"] === "refused")
      ? vaultError("VAULT_NO_SIGNER", { network }, error)
      : error;
  });
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

/**
 * Finds the default sender: the network's `from`, else its first account, kept
 * for the connection.
 */
export async function findSender(
  rpc: RpcClient,
  config: NetworkConfig,
): Promise<Address> {
  if (config.from !== undefined) {
    return parseAddress(config.from, `networks.${rpc.network}.from`);
  }
  const { node, network } = rpc;
  try {
    const sender =
      senders.get(node) ??
      (await resolveSigner(rpc, config, undefined)).address;
    senders.set(node, sender);
    return sender;
  } catch (error) {
    if (refusesSettlement(error)) {
      throw vaultError("VAULT_NO_SENDER", { network }, error);
    }
    throw error;
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
    getNonce(rpc, address, observed).catch(
      fallbackTo(0, ({ code }) => code === "VAULT_RPC_ERROR"),
    ),
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

async function findLocalKey(
  rpc: RpcClient,
  accounts: Extract<NetworkConfig, { type: "http" }>["accounts"],
  from: string | undefined,
): Promise<BaseWallet | undefined> {
  if (accounts === "remote") {
    return undefined;
  }
  const keys = Array.isArray(accounts)
    ? accounts.map((account) => async () => {
        const key = await account.getHexString();
        rpc.redactor.keepKey(key);
        return new Wallet(key);
      })
    : await mnemonicKeys(rpc, accounts);
  for (const [index, readKey] of keys.entries()) {
    const wallet = await readKey().catch((error: unknown) => {
      const problem = "it is not a private key";
      throw secretError(error, rpc, `accounts[${index}]`, problem);
    });
    if (from === undefined || wallet.address === from) {
      return wallet;
    }
  }
  return undefined;
}

async function mnemonicKeys(
  rpc: RpcClient,
  config: HttpNetworkHDAccountsConfig,
): Promise<ReadonlyArray<() => Promise<BaseWallet>>> {
  let mnemonic: Mnemonic;
  try {
    const phrase = await config.mnemonic.get();
    const passphrase = await config.passphrase.get();
    rpc.redactor.keep(phrase, passphrase);
    mnemonic = Mnemonic.fromPhrase(phrase.trim(), passphrase);
  } catch (error) {
    const problem =
      "a word is not in the BIP-39 list, or the last one does not match the others";
    throw secretError(error, rpc, "accounts.mnemonic", problem);
  }
  const parent = HDNodeWallet.fromMnemonic(
    mnemonic,
    config.path.replace(/\/$/u, ""),
  );
  return Array.from(
    { length: config.count },
    (_, index) => async () => parent.deriveChild(config.initialIndex + index),
  );
}

/** Drops the cause, which may quote the secret, unless a variable is missing. */
function secretError(
  error: unknown,
  { network, redactor }: RpcClient,
  setting: string,
  problem: string,
): VaultError {
  const known = toRpcError(error, "the keys", { network, redactor });
  const where = `networks.${network}.${setting}`;
  return known.code === "VAULT_CONFIG_VARIABLE"
    ? known
    : vaultError("VAULT_INVALID_KEY", { where, problem });
}

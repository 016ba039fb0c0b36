import type {
  BaseContract,
  TransactionReceipt,
  TransactionResponse,
} from "ethers";

import type { Eip1193Provider } from "../../src/rpc/eip1193.js";

/** Deploys code from the node's first account; the contract's address. */
export async function deployCode(
  provider: Eip1193Provider,
  bytecode: string,
): Promise<string> {
  const { contractAddress } = await sendTransaction(provider, {
    data: bytecode,
  });
  if (typeof contractAddress !== "string") {
    throw new Error("the deployment made no contract");
  }
  return contractAddress;
}

/**
 * Waits until a transaction is mined. A loaded anvil answers the hash a little
 * before the block is there, and `wait()` of ethers waits for ever for a block
 * that comes just then.
 */
export async function mined({
  hash,
  provider,
}: TransactionResponse): Promise<TransactionReceipt> {
  let receipt: TransactionReceipt | null = null;
  while (receipt === null) {
    receipt = await provider.getTransactionReceipt(hash);
  }
  return receipt;
}

/** Deploys the contract of an ethers factory, and waits until it is there. */
export async function deployContract<
  Contract extends BaseContract,
  Args extends readonly unknown[],
>(
  factory: { deploy: (...args: Args) => Promise<Contract> },
  ...args: Args
): Promise<Contract> {
  const contract = await factory.deploy(...args);
  const deployment = contract.deploymentTransaction();
  if (deployment !== null) {
    await mined(deployment);
  }
  return contract;
}

/** Sends a transaction from the node's first account; its receipt, mined. */
export async function sendTransaction(
  provider: Eip1193Provider,
  transaction: { readonly to?: string; readonly data: string },
): Promise<Readonly<Record<string, unknown>>> {
  const accounts = await provider.request({ method: "eth_accounts" });
  const from: unknown = Array.isArray(accounts) ? accounts[0] : undefined;
  const hash = await provider.request({
    method: "eth_sendTransaction",
    params: [{ from, ...transaction }],
  });
  for (;;) {
    // Nodes that mine at once may still answer before they have.
    const receipt = await provider.request({
      method: "eth_getTransactionReceipt",
      params: [hash],
    });
    if (typeof receipt === "object" && receipt !== null) {
      const fields: Readonly<Record<string, unknown>> = { ...receipt };
      if (fields["status"] !== "0x1") {
        throw new Error("the transaction reverted");
      }
      return fields;
    }
  }
}

import { Contract } from "ethers";
import type {
  ContractFactory,
  TransactionReceipt,
  TransactionResponse,
} from "ethers";

import type { Eip1193Provider } from "../../src/rpc/rpc-client.js";
import { fieldsOf, listOf } from "./fields.js";

/** Milliseconds: a node that mines by itself does so at once, also on a busy machine. */
const LONGEST_MS = 300_000;

/**
 * Looks until there is something. A loaded anvil answers the hash a little before
 * the block is there, and `wait()` of ethers can wait for ever for that block.
 *
 * @throws Error after five minutes, before the limit of a test
 */
export async function untilFound<Found>(
  look: () => Promise<Found | null>,
): Promise<Found> {
  const start = Date.now();
  for (;;) {
    const found = await look();
    if (found !== null) {
      return found;
    }
    if (Date.now() - start > LONGEST_MS) {
      throw new Error(`nothing was found within ${LONGEST_MS} ms`);
    }
  }
}

export async function mined({
  hash,
  provider,
}: TransactionResponse): Promise<TransactionReceipt> {
  return await untilFound(
    async () => await provider.getTransactionReceipt(hash),
  );
}

/** Deploys the contract of a factory, and waits until it is there. */
export async function deployContract(
  factory: ContractFactory,
  ...args: readonly unknown[]
): Promise<Contract> {
  const contract = await factory.deploy(...args);
  const deployment = contract.deploymentTransaction();
  if (deployment !== null) {
    await mined(deployment);
  }
  return new Contract(contract.target, contract.interface, factory.runner);
}

/** Deploys code from the node's first account; the contract's address. */
export async function deployCode(
  provider: Eip1193Provider,
  bytecode: string,
): Promise<string> {
  const receipt = await sendTransaction(provider, { data: bytecode });
  return String(receipt["contractAddress"]);
}

/** Sends a transaction from the node's first account; its receipt, mined. */
export async function sendTransaction(
  provider: Eip1193Provider,
  transaction: { readonly to?: string; readonly data: string },
): Promise<Readonly<Record<string, unknown>>> {
  const accounts = await provider.request({ method: "eth_accounts" });
  const hash = await provider.request({
    method: "eth_sendTransaction",
    params: [{ from: listOf(accounts)[0], ...transaction }],
  });
  const method = "eth_getTransactionReceipt";
  const receipt = fieldsOf(
    await untilFound(
      async () => await provider.request({ method, params: [hash] }),
    ),
  );
  if (receipt["status"] !== "0x1") {
    throw new Error("the transaction reverted");
  }
  return receipt;
}

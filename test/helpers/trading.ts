import { AbiCoder } from "ethers";

import { MockTrading__factory } from "../../src/bindings/index.js";
import type { Eip1193Provider } from "../../src/client/index.js";
import { compileFixture } from "./solc.js";
import { deployCode, sendTransaction } from "./transactions.js";

/** Deploys a mock trading contract with orders computed from their ids. */
export async function deployGeneratedOrders(
  provider: Eip1193Provider,
  firstId: bigint,
  lastId: bigint,
): Promise<string> {
  const trading = await deployCode(provider, MockTrading__factory.bytecode);
  const data = MockTrading__factory.createInterface().encodeFunctionData(
    "generateOrders",
    [firstId, lastId],
  );
  await sendTransaction(provider, { to: trading, data });
  return trading;
}

/** Deploys HostileTrading.sol, which answers as a good contract but for some ids. */
export async function deployHostileTrading(
  provider: Eip1193Provider,
  good: string,
): Promise<string> {
  const argument = AbiCoder.defaultAbiCoder().encode(["address"], [good]);
  const { evm } = compileFixture("HostileTrading.sol", "HostileTrading");
  return await deployCode(
    provider,
    `0x${evm.bytecode.object}${argument.slice(2)}`,
  );
}

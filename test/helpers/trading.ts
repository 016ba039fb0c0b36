import { MockTrading__factory } from "../../src/bindings/factories/MockTrading__factory.js";
import type { Eip1193Provider } from "../../src/rpc/eip1193.js";
import { MockTradingArtifact } from "../../src/mocks/artifacts.js";
import { deployCode, sendTransaction } from "./transactions.js";

/** Deploys a mock trading contract with orders computed from their ids. */
export async function deployGeneratedOrders(
  provider: Eip1193Provider,
  firstId: bigint,
  lastId: bigint,
): Promise<string> {
  const trading = await deployCode(provider, MockTradingArtifact.bytecode);
  await sendTransaction(provider, {
    to: trading,
    data: MockTrading__factory.createInterface().encodeFunctionData(
      "generateOrders",
      [firstId, lastId],
    ),
  });
  return trading;
}

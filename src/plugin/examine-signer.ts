import { formatEther } from "ethers";

import { fallbackTo, refusesSettlement } from "../errors.js";
import type { VaultHost } from "../host.js";
import { settlementCall } from "../simulation/engine.js";
import {
  currentPricePerGas,
  maxPricePerGas,
  resolveFees,
} from "../simulation/fees.js";
import { findBlock } from "../simulation/next-block.js";
import { findGas, simulate } from "../settlement/preview.js";
import { resolveSigner } from "../settlement/signer.js";
import type { Signer } from "../settlement/signer.js";
import { check, fail, failed, ok, warn } from "./examination.js";
import type { Check, Finding } from "./examination.js";

/** Gas of a settlement that cannot be estimated now. */
const SUPPOSED_GAS = 1_000_000n;

/** Checks who would settle, and if the account could pay for it. */
export async function examineSigner(
  vault: VaultHost,
): Promise<readonly Check[]> {
  const name = "signer";
  const { networkConfig, networkName } = vault.connection;
  let signer: Signer;
  try {
    signer = await resolveSigner(vault.rpc, networkConfig, undefined);
  } catch (error) {
    if (refusesSettlement(error)) {
      const fix = `Nothing to do where only reads are made; to settle, set networks.${networkName}.accounts.`;
      return [{ name, ...warn(error.shortMessage, fix) }];
    }
    return [failed(name, error)];
  }
  const kinds = {
    local: "a key of the configuration",
    remote: "an account of the node",
    "in-process": "an account of the in-process network",
  } as const;
  const { address, kind } = signer;
  return [
    { name, ...ok(`${address}, ${kinds[kind]}`) },
    await check("balance", () => examineBalance(vault, address), "warn"),
  ];
}

/** By the gas and the fees that a settlement would be given now. */
async function examineBalance(
  vault: VaultHost,
  from: string,
): Promise<Finding> {
  const { rpc } = vault;
  const next = await findBlock(vault);
  const fees = await resolveFees(rpc, vault.connection.networkConfig, next);
  const price = currentPricePerGas(fees, next);
  const [balance, found] = await Promise.all([
    rpc.balance(from),
    simulate(vault, from, next, price)
      .then(async (simulated) => {
        const { address } = await vault.addressOf("vault");
        const call = settlementCall(from, address);
        return await findGas(vault, call, next, simulated);
      })
      // Nodes differ in how they refuse an estimate for want of money.
      .catch(fallbackTo(undefined)),
  ]);
  const gas = typeof found === "bigint" ? found : undefined;
  const cost = (gas ?? SUPPOSED_GAS) * maxPricePerGas(fees);
  const detail = `${formatEther(balance)} in native currency; a settlement may cost ${formatEther(cost)}${gas === undefined ? `, if it takes ${SUPPOSED_GAS.toLocaleString("en")} gas: it cannot be estimated now` : ""}`;
  return balance < cost
    ? (gas === undefined ? warn : fail)(
        detail,
        `Fund ${from}, or settle with another account.`,
      )
    : ok(detail);
}

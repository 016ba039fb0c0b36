import { formatEther } from "ethers";

import { VaultError, otherwise } from "../errors.js";
import type { VaultHost } from "../host.js";
import { settlementCall } from "../rehearsal/question.js";
import type { Chain } from "../rpc/node.js";
import { RevertedCall } from "../rpc/request.js";
import {
  HEADROOM,
  estimateGas,
  maxPricePerGas,
  resolveFees,
} from "../rehearsal/fees.js";
import { resolveSigner } from "../settlement/signer.js";
import type { Signer } from "../settlement/signer.js";
import { SettlementStopped } from "../settlement/stopped.js";
import { check, fail, failed, ok, warn } from "./examination.js";
import type { Check, Finding } from "./examination.js";

/** Gas of a settlement that cannot be estimated now. */
const SUPPOSED_GAS = 1_000_000n;

/** Looks who would settle, and whether the account could pay for it. */
export async function examineSigner(
  vault: VaultHost,
): Promise<readonly Check[]> {
  const name = "signer";
  const { networkConfig, networkName } = vault.connection;
  const { chain } = vault;
  let signer: Signer;
  try {
    signer = await resolveSigner(chain, networkConfig, undefined);
  } catch (error) {
    if (error instanceof SettlementStopped) {
      return [
        {
          name,
          ...warn(
            error.reason,
            `Nothing to do where only reads are made; to settle, set networks.${networkName}.accounts.`,
          ),
        },
      ];
    }
    const isUnset =
      VaultError.isVaultError(error) && error.code === "VAULT_CONFIG_VARIABLE";
    return [failed(name, error, isUnset ? "warn" : "fail")];
  }
  const kinds = {
    local: "a key of the configuration",
    remote: "an account of the node",
    "in-process": "an account of the in-process network",
  } as const;
  const { address, kind } = signer;
  return [
    { name, ...ok(`${address}, ${kinds[kind]}`) },
    await check(
      "balance",
      async () => await examineBalance(vault, chain, address),
      "warn",
    ),
  ];
}

async function examineBalance(
  vault: VaultHost,
  chain: Chain,
  from: string,
): Promise<Finding> {
  const [balance, header] = await Promise.all([
    chain.balance(from),
    chain.header(),
  ]);
  const { networkConfig } = vault.connection;
  const fees = await resolveFees(chain, networkConfig, header);
  const estimate = await estimateSettlement(vault, chain, from);
  const gas =
    estimate === undefined
      ? SUPPOSED_GAS
      : (estimate * HEADROOM.numerator) / HEADROOM.denominator;
  const cost = gas * maxPricePerGas(fees);
  const detail = `${formatEther(balance)} in native currency; a settlement may cost ${formatEther(cost)}${estimate === undefined ? `, if it takes ${SUPPOSED_GAS.toLocaleString("en")} gas: it cannot be estimated now` : ""}`;
  return balance < cost
    ? (estimate === undefined ? warn : fail)(
        detail,
        `Fund ${from}, or settle with another account.`,
      )
    : ok(detail);
}

/** @returns Undefined where it reverts, or where no vault is configured. */
async function estimateSettlement(
  vault: VaultHost,
  chain: Chain,
  from: string,
): Promise<bigint | undefined> {
  const estimate = async (): Promise<bigint | RevertedCall> => {
    const { address } = await vault.addressOf("vault");
    return await estimateGas(chain, settlementCall(from, address));
  };
  // Nodes differ in how they refuse an estimate for want of money.
  const gas = await estimate().catch(otherwise(undefined));
  return gas instanceof RevertedCall ? undefined : gas;
}

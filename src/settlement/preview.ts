import { fallbackTo, vaultError } from "../errors.js";
import type { VaultError } from "../errors.js";
import { isNodeRefusal } from "../rpc/errors.js";
import type { VaultHost } from "../host.js";
import { INTRINSIC_GAS, settlementCall } from "../simulation/engine.js";
import { describeTokens } from "../simulation/tokens.js";
import { explainRefusal } from "../simulation/refusal.js";
import type { Refusal } from "../simulation/refusal.js";
import { simulateSettlement } from "../simulation/simulate-settle-all.js";
import type { HttpEngine } from "../simulation/options.js";
import type { Simulated } from "../simulation/simulate-settle-all.js";
import type { CallRequest, NextBlock } from "../rpc/rpc-client.js";
import { resolveFees, resolveGas } from "../simulation/fees.js";
import type { Fees } from "../simulation/fees.js";
import { SETTLED_MEANWHILE } from "./observe.js";
import type { Observation } from "./observe.js";
import type { Signer } from "./signer.js";
import type { SettlementPreflight, Stop } from "./types.js";

export interface Preview {
  readonly shown: SettlementPreflight;
  /** Reason of the revert, or gas limit and fees. */
  readonly terms: Stop | Terms;
}

export interface Terms {
  readonly gas: bigint;
  /** Undefined in process: Hardhat fills them in. */
  readonly fees: Fees | undefined;
}

/**
 * Simulates the settlement, or only calls it if no engine works on the node, and computes
 * its cost. Sends nothing.
 *
 * @returns A stop if the round was settled meanwhile.
 */
export async function preview(
  vault: VaultHost,
  { chainId, contract, block, round }: Observation,
  signer: Signer,
  next: NextBlock,
): Promise<Preview | Stop> {
  const { networkConfig } = vault.connection;
  requireGas(vault, networkConfig.gas, INTRINSIC_GAS);
  const call = settlementCall(signer.address, contract.address);
  const price = await resolveFees(vault.rpc, networkConfig, next);
  const simulated = await simulate(vault, call.from, next);
  const simulation = simulated?.simulation ?? null;
  if (simulation?.status === "nothing-to-do") {
    return { status: "nothing-to-do", reason: SETTLED_MEANWHILE };
  }
  const moved = (simulation?.transfers ?? []).map(({ token }) => token);
  // Transfers are shown even if the tokens cannot be read.
  const tokens = await describeTokens(vault, moved).catch(
    fallbackTo(new Map(), ({ kind }) => kind === "rpc"),
  );
  const gas = await findGas(vault, call, next, simulated);
  const shown = {
    chainId,
    chainTime: block.timestamp,
    round,
    contract,
    from: signer.address,
    signing: signer.kind,
    balance: simulated?.balance ?? (await vault.rpc.balance(call.from)),
    preview: simulation,
    tokens,
  };
  if (typeof gas === "object") {
    const { code, reason } = gas;
    if (code === "VAULT_OUT_OF_GAS") {
      requireGas(vault, networkConfig.gas, undefined);
    }
    const costs = { gas: null, cost: null, maxCost: null };
    return {
      shown: { ...shown, ...costs, outcome: "reverts", reason },
      terms: { status: "reverted", code, reason },
    };
  }
  requireGas(vault, gas, simulation?.gasUsed ?? INTRINSIC_GAS);
  const [cost, maxCost] = [gas * price.current, gas * price.highest];
  const fees = signer.kind === "in-process" ? undefined : price.fees;
  return {
    shown: { ...shown, gas, cost, maxCost, outcome: "succeeds", reason: null },
    terms: { gas, fees },
  };
}

/** @returns Undefined if no engine works on the node. */
export async function simulate(
  vault: VaultHost,
  sender: string,
  next: NextBlock,
): Promise<Simulated | undefined> {
  const ask = async (
    engine: HttpEngine,
    isUnable: (error: VaultError) => boolean,
  ): Promise<Simulated | undefined> =>
    await simulateSettlement(vault, { sender, engines: [engine] }, next).catch(
      fallbackTo(undefined, isUnable),
    );
  const isUnavailable = ({ code }: VaultError): boolean =>
    code === "VAULT_ENGINE_UNAVAILABLE";
  return (
    (await ask("simulateV1", isUnavailable)) ??
    // A fork needs more of a node than a settlement does.
    (await ask(
      "fork",
      (error) =>
        isUnavailable(error) ||
        error.code === "VAULT_FORK_NETWORK_TAKEN" ||
        error.code === "VAULT_FORK_REORGED" ||
        isNodeRefusal(error),
    ))
  );
}

/** @param simulated If undefined, the settlement is called instead. */
export async function findGas(
  vault: VaultHost,
  call: CallRequest,
  next: NextBlock,
  simulated: Simulated | undefined,
): Promise<bigint | Refusal> {
  const { networkConfig } = vault.connection;
  const { gas } = networkConfig;
  const { status, code, reason, gasUsed } = simulated?.simulation ?? {};
  if (status === "reverted") {
    return { code: code ?? "VAULT_CALL_REVERTED", reason: reason ?? "" };
  }
  const limit = gas === "auto" ? next.gasLimit : gas;
  const reverted =
    simulated === undefined
      ? await vault.rpc.simulate(call, "latest", limit)
      : undefined;
  const used =
    typeof gasUsed === "bigint" && typeof simulated?.gasNeeded === "bigint"
      ? { used: gasUsed, needed: simulated.gasNeeded }
      : undefined;
  const found =
    reverted === undefined
      ? await resolveGas(vault.rpc, networkConfig, call, next, used)
      : { reverted };
  return typeof found === "bigint"
    ? found
    : await explainRefusal(vault, found.reverted);
}

/** @param used Undefined if it exceeds any configured limit. */
function requireGas(
  { networkName: network }: VaultHost,
  limit: bigint | "auto",
  used: bigint | undefined,
): void {
  if (limit !== "auto" && (used === undefined || limit < used)) {
    throw vaultError("VAULT_GAS_LIMIT_TOO_LOW", { network, gas: limit });
  }
}

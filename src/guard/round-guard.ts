import {
  AbiCoder,
  Interface,
  ZeroHash,
  concat,
  getAddress,
  getCreate2Address,
  keccak256,
} from "ethers";

import { listOf } from "../json.js";
import type { Address, VaultRound } from "../protocol/index.js";
import { decodeArguments } from "../rpc/revert-reason.js";
import type { ErrorValues } from "../rpc/revert-reason.js";
import { RoundGuardArtifact } from "./artifact.js";

/** The round that a guard accepts, and its conditions for the settlement. */
export interface GuardedSettlement {
  /** Address of the guard. */
  readonly address: Address;
  readonly factory: string;
  readonly round: Pick<VaultRound, "startTime" | "strikePrice">;
  /** Reverts before the end of the round. */
  readonly mustHaveEnded: boolean;
  /** Reverts if the vault does not settle the round. */
  readonly mustSettle: boolean;
  /** ERC-20 tokens that are forwarded to the caller. */
  readonly tokens: readonly string[];
}

/** The usual deployer of contracts at addresses that their code decides. */
export const CREATE2_DEPLOYER = "0x4e59b44847b379578588920cA78FbF26c0B4956C";

const guardInterface = new Interface(RoundGuardArtifact.abi);

export function encodeGuarded(
  vault: string,
  guard: Omit<GuardedSettlement, "address">,
): string {
  const { factory, round, mustHaveEnded, mustSettle, tokens } = guard;
  return guardInterface.encodeFunctionData("settle", [
    vault,
    factory,
    round.startTime,
    round.strikePrice,
    mustHaveEnded,
    mustSettle,
    tokens,
  ]);
}

/** @returns Undefined for another call, or one that is encoded otherwise. */
export function parseGuarded(
  address: Address,
  data: string,
):
  | { readonly vaultAddress: string; readonly guard: GuardedSettlement }
  | undefined {
  try {
    const values: Readonly<Record<string, unknown>> = guardInterface
      .decodeFunctionData("settle", data)
      .toObject();
    const vaultAddress = String(values["vault"]);
    const guard = {
      address,
      factory: String(values["factory"]),
      round: {
        startTime: BigInt(String(values["startTime"])),
        strikePrice: BigInt(String(values["strikePrice"])),
      },
      mustHaveEnded: values["mustHaveEnded"] === true,
      mustSettle: values["mustSettle"] === true,
      // Checksummed by the decoder.
      tokens: listOf(values["tokens"]).map(String),
    };
    return encodeGuarded(vaultAddress, guard) === data
      ? { vaultAddress, guard }
      : undefined;
  } catch {
    return undefined;
  }
}

/** @returns The error of the guard in revert data, 0x hex; undefined for any other data. */
export function guardErrorIn(
  data: string,
): { readonly name: string; readonly values: ErrorValues } | undefined {
  const error = guardInterface.getError(data.slice(0, 10));
  const values = error === null ? undefined : decodeArguments(error, data);
  return error === null || values === undefined
    ? undefined
    : { name: error.name, values };
}

/** @param settler The only account that may settle; the zero address for anyone. */
export function guardCreationCode(settler: string): string {
  const argument = AbiCoder.defaultAbiCoder().encode(["address"], [settler]);
  return concat([RoundGuardArtifact.bytecode, argument]);
}

/** Address of a guard that {@link CREATE2_DEPLOYER} deploys, the same on every chain. */
export function guardAddressOf(settler: string): string {
  const hash = keccak256(guardCreationCode(settler));
  return getCreate2Address(CREATE2_DEPLOYER, ZeroHash, hash);
}

/**
 * Finds the settler in the code of a guard.
 *
 * @param code Runtime code, 0x hex.
 * @returns Undefined if it is the code of another contract.
 */
export function settlerIn(code: string): string | undefined {
  const { deployedBytecode, immutables } = RoundGuardArtifact;
  const placeOf = (start: number): number => 2 + 2 * start;
  const first = placeOf(immutables[0]);
  const settler = code.slice(first + 24, first + 64).toLowerCase();
  let expected = deployedBytecode.toLowerCase();
  for (const place of immutables.map(placeOf)) {
    const word = settler.padStart(64, "0");
    expected = `${expected.slice(0, place)}${word}${expected.slice(place + 64)}`;
  }
  return code.toLowerCase() === expected
    ? getAddress(`0x${settler}`)
    : undefined;
}

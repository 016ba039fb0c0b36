import { ContractFactory, ZeroAddress } from "ethers";
import type { Signer } from "ethers";

import { RoundGuardArtifact } from "../../src/guard/artifact.js";
import { deployContract } from "./transactions.js";

/** Deploys a guard with a plain transaction, and returns its address. */
export async function deployTestGuard(
  deployer: Signer,
  settler = ZeroAddress,
): Promise<string> {
  const { abi, bytecode } = RoundGuardArtifact;
  const contract = await deployContract(
    new ContractFactory(abi, bytecode, deployer),
    settler,
  );
  return await contract.getAddress();
}

export function guardCode(settler = ZeroAddress): string {
  const word = settler.slice(2).toLowerCase().padStart(64, "0");
  return RoundGuardArtifact.immutables.reduce<string>(
    (code, start) =>
      `${code.slice(0, 2 + 2 * start)}${word}${code.slice(66 + 2 * start)}`,
    RoundGuardArtifact.deployedBytecode,
  );
}

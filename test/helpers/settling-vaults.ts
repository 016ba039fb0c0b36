import { readFileSync } from "node:fs";
import path from "node:path";

import { Contract, ContractFactory } from "ethers";
import type { Signer } from "ethers";

import { contractRoleNames } from "../../src/protocol/index.js";
import { compile } from "./solc.js";
import type { CompiledContract } from "./solc.js";
import { deployContract, mined } from "./transactions.js";

const FILE = "SettlingVaults.sol";

/** The vaults of SettlingVaults.sol, each of which settles in a way of its own. */
export const settlingVaultNames = [
  "PayingVault",
  "RefundingVault",
  "KeeperVault",
  "ClockVault",
  "NativeVault",
  "NoContractsVault",
  "ContractsOnlyVault",
  "RollingVault",
  "BatchVault",
  "IdleVault",
  "SwallowingVault",
  "FeeVault",
  "PurseVault",
] as const;

export type SettlingVaultName = (typeof settlingVaultNames)[number];

/** One of those vaults on a chain, in all six roles. */
export interface SettlingVault {
  readonly contract: Contract;
  readonly token: Contract;
  readonly oracle: Contract;
  /** For `vault.contracts` of a network. */
  readonly contracts: Readonly<Record<string, string>>;
}

let compiled: Readonly<Record<string, CompiledContract>> | undefined;

function artifact(name: string): CompiledContract {
  compiled ??= compile(
    "0.8.37",
    {
      [FILE]: {
        content: readFileSync(
          path.resolve(
            import.meta.dirname,
            "../fixture-projects/settling-vaults",
            FILE,
          ),
          "utf8",
        ),
      },
    },
    { optimizer: { enabled: true }, evmVersion: "paris" },
  ).contracts[FILE];
  const found = compiled?.[name];
  if (found === undefined) {
    throw new Error(`${FILE} has no ${name}, or does not compile`);
  }
  return found;
}

async function deploy(
  deployer: Signer,
  name: string,
  ...args: readonly string[]
): Promise<string> {
  const { abi, evm } = artifact(name);
  const contract = await deployContract(
    new ContractFactory(JSON.stringify(abi), evm.bytecode.object, deployer),
    ...args,
  );
  return await contract.getAddress();
}

/** Deploys one, with orders of holders that are nobody else. */
export async function deploySettlingVault(
  deployer: Signer,
  name: SettlingVaultName,
  {
    orders = 3,
    endTime = 1_700_000_000,
    isProxied = false,
  }: {
    readonly orders?: number;
    readonly endTime?: number;
    readonly isProxied?: boolean;
  } = {},
): Promise<SettlingVault> {
  const connect = (address: string, of: string): Contract =>
    new Contract(address, JSON.stringify(artifact(of).abi), deployer);
  const token = connect(await deploy(deployer, "TestToken"), "TestToken");
  const oracle = connect(await deploy(deployer, "TestOracle"), "TestOracle");
  const implementation = await deploy(deployer, name);
  const address = isProxied
    ? await deploy(deployer, "Proxy", implementation)
    : implementation;
  const contract = connect(address, name);
  const call = async (
    on: Contract,
    method: string,
    ...args: readonly unknown[]
  ): Promise<void> => {
    await mined(await on.getFunction(method).send(...args));
  };
  await call(
    contract,
    "initialise",
    await token.getAddress(),
    await oracle.getAddress(),
    await deployer.getAddress(),
    endTime,
  );
  await call(token, "mint", address, 1_000_000n);
  const sent = await deployer.sendTransaction({
    to: address,
    value: 10n ** 19n,
  });
  await mined(sent);
  const AT_ONCE = 100;
  for (let opened = 0; opened < orders; opened += AT_ONCE) {
    await call(contract, "open", Math.min(AT_ONCE, orders - opened));
  }
  return {
    contract,
    token,
    oracle,
    contracts: Object.fromEntries(
      contractRoleNames.map((role) => [role, address]),
    ),
  };
}

import { Contract, ContractFactory } from "ethers";
import type { Signer } from "ethers";

import { contractRoles } from "../../src/client/index.js";
import { compileFixture } from "./solc.js";
import { deployContract, mined } from "./transactions.js";

/** Vaults of SettlingVaults.sol, each of which settles in a way of its own. */
export type SettlingVaultName =
  | `${"Paying" | "Refunding" | "Keeper" | "Clock" | "Native" | "Rolling"}Vault`
  | `${"NoContracts" | "Batch" | "Idle" | "Fee" | "Purse" | "Giving"}Vault`
  | `${"Mixed" | "Origin" | "FailingPayment" | "Ticking"}Vault`
  | `${"Unpaid" | "Untouched" | "Priced" | "Rebate" | "Reward" | "Wasting"}Vault`;

/** Deploys a contract of SettlingVaults.sol. */
export async function deploy(
  deployer: Signer,
  name: string,
  ...args: readonly unknown[]
): Promise<Contract> {
  const { abi, evm } = compileFixture("SettlingVaults.sol", name);
  return await deployContract(
    new ContractFactory(JSON.stringify(abi), evm.bytecode.object, deployer),
    ...args,
  );
}

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
): Promise<{
  readonly contract: Contract;
  readonly token: Contract;
  readonly contracts: Readonly<Record<string, string>>;
}> {
  const token = await deploy(deployer, "TestToken");
  const oracle = await deploy(deployer, "TestOracle");
  const implementation = await deploy(deployer, name);
  const address = await (
    isProxied
      ? await deploy(deployer, "Proxy", await implementation.getAddress())
      : implementation
  ).getAddress();
  const contract = new Contract(address, implementation.interface, deployer);
  const call = async (
    on: Contract,
    method: string,
    ...args: readonly unknown[]
  ): Promise<void> => {
    await mined(await on.getFunction(method).send(...args));
  };
  await call(contract, "initialise", token, oracle, deployer, endTime);
  await call(token, "mint", address, 1_000_000n);
  await mined(
    await deployer.sendTransaction({ to: address, value: 10n ** 19n }),
  );
  const AT_ONCE = 100;
  for (let opened = 0; opened < orders; opened += AT_ONCE) {
    await call(contract, "open", Math.min(AT_ONCE, orders - opened));
  }
  return {
    contract,
    token,
    contracts: Object.fromEntries(
      Object.keys(contractRoles).map((role) => [role, address]),
    ),
  };
}

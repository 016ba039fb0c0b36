// What the shorter code blocks of the documents take for granted. A block that
// declares such a name itself is a module, and its own name comes first.
import type { HardhatEthers } from "@nomicfoundation/hardhat-ethers/types";
import type { NetworkHelpers } from "@nomicfoundation/hardhat-network-helpers/types";
import type { HardhatRuntimeEnvironment } from "hardhat/types/hre";
import type { NetworkConnection } from "hardhat/types/network";
import type { HardhatVault } from "hardhat-vault";
import type { MockVaultHandle } from "hardhat-vault/mocks";

declare global {
  const hre: HardhatRuntimeEnvironment;
  const connection: NetworkConnection;
  const vault: HardhatVault;
  const mocks: MockVaultHandle;
  const ethers: HardhatEthers;
  const networkHelpers: NetworkHelpers;
}

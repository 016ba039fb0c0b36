import hardhatToolboxMochaEthers from "@nomicfoundation/hardhat-toolbox-mocha-ethers";
import { defineConfig } from "hardhat/config";
import vault from "hardhat-vault";

export default defineConfig({
  plugins: [hardhatToolboxMochaEthers, vault],
  solidity: { version: "0.8.28" },
});

import hardhatToolboxMochaEthers from "@nomicfoundation/hardhat-toolbox-mocha-ethers";
import { defineConfig } from "hardhat/config";
import vault from "hardhat-vault";

export default defineConfig({
  plugins: [hardhatToolboxMochaEthers, vault],
  solidity: { version: "0.8.28" },
  // The default, 256 runs of 500 calls, takes invariants most of a minute.
  test: { solidity: { invariant: { runs: 16, depth: 50 } } },
});

import { createRequire } from "node:module";

import { defineConfig } from "hardhat/config";

import vault from "./src/index.js";

const { resolve } = createRequire(import.meta.url);

const compiler = {
  // The compiler of the npm package: nothing is downloaded. Projects that
  // import the contracts compile them with their own settings.
  version: "0.8.37",
  path: resolve("solc/soljson.js"),
  // The bytecode that is shipped runs on every chain and on forks of any
  // hardfork: newer targets use opcodes that some do not have.
  settings: {
    evmVersion: "paris",
    optimizer: { enabled: true, runs: 1_000 },
  },
};

export default defineConfig({
  plugins: [vault],
  // By default, every .sol file below test/, those of fixture projects too.
  paths: { tests: { solidity: "test/solidity" } },
  solidity: {
    compilers: [compiler],
    overrides: {
      // Its code is part of each request of the lens, and runs for each of hundreds of
      // orders: viaIR makes it smaller and cheaper.
      "contracts/lens/VaultLens.sol": {
        ...compiler,
        settings: {
          ...compiler.settings,
          viaIR: true,
          optimizer: { enabled: true, runs: 200 },
          metadata: { appendCBOR: false },
        },
      },
      // It computes thousands of orders: this takes a third of the instructions away.
      "contracts/mocks/MockTrading.sol": {
        ...compiler,
        settings: { ...compiler.settings, viaIR: true },
      },
      // Its code decides its address, which must be the same for everybody. Without
      // this, it ends with a hash of paths and comments.
      "contracts/guard/RoundGuard.sol": {
        ...compiler,
        settings: { ...compiler.settings, metadata: { appendCBOR: false } },
      },
    },
  },
  networks: {
    // The amounts of the mocks' scenarios have 18 decimals.
    default: { type: "edr-simulated", vault: { tokenDecimals: 18 } },
    localhost: {
      type: "http",
      url: "http://127.0.0.1:8545",
      vault: { tokenDecimals: 18 },
    },
  },
});

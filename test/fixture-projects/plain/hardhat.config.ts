import { configVariable, defineConfig } from "hardhat/config";

import vault from "../../../src/index.js";

// The tests name their node, its contracts and its keys in the environment.
const {
  TEST_URL: url = "http://127.0.0.1:8545",
  TEST_VAULT: vaultSettings,
  TEST_NETWORK: networkSettings,
} = process.env;

export default defineConfig({
  plugins: [vault],
  networks: {
    test: {
      type: "http",
      url,
      ...(networkSettings === undefined ? {} : JSON.parse(networkSettings)),
      ...(vaultSettings === undefined
        ? {}
        : { vault: JSON.parse(vaultSettings) }),
    },
    withKeyVariable: {
      type: "http",
      url,
      accounts: [configVariable("TEST_UNSET_PRIVATE_KEY")],
    },
    withUrlVariable: { type: "http", url: configVariable("TEST_UNSET_URL") },
  },
});

import { defineConfig } from "hardhat/config";

import vault from "../../../src/index.js";

export default defineConfig({
  plugins: [vault],
  networks: {
    default: {
      type: "edr-simulated",
      initialDate: "2026-11-21T00:00:00Z",
      vault: { tokenDecimals: 18 },
    },
    live: {
      type: "http",
      url: process.env["TEST_NODE_URL"] ?? "http://127.0.0.1:8545",
      vault: {
        tokenDecimals: 18,
        displayDecimals: {
          pools: 18,
          volume: 18,
          order: 18,
          marginBalance: 18,
        },
        instances: { usdc: { displayDecimals: { volume: 20 } } },
      },
    },
  },
});

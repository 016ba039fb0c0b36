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
  },
});

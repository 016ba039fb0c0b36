import { defineConfig } from "hardhat/config";

import vault from "../../../src/index.js";

export default defineConfig({
  plugins: [vault],
  networks: { default: { type: "edr-simulated" } },
});

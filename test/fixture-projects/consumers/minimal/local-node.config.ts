// The project's own configuration, and a node on any port.
import { defineConfig } from "hardhat/config";

import config from "./hardhat.config.ts";

export default defineConfig({
  ...config,
  networks: {
    ...config.networks,
    local: { type: "http", url: process.env.LOCAL_NODE_URL ?? "" },
  },
});

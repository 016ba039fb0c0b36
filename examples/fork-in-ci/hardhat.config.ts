import { configVariable, defineConfig } from "hardhat/config";
import vault from "hardhat-vault";

export default defineConfig({
  plugins: [vault],
  networks: {
    mainnet: {
      type: "http",
      url: configVariable("VAULT_MAINNET_RPC_URL"),
      // Simulations need no key: this account is only named.
      from: process.env.VAULT_SETTLER,
      vault: {
        contracts: {
          vault: configVariable("VAULT_ADDRESS"),
          vaultFactory: configVariable("VAULT_FACTORY_ADDRESS"),
        },
        tokenDecimals: 18,
      },
    },
    // To try everything on a node of your own.
    localhost: {
      type: "http",
      url: process.env.LOCAL_NODE_URL ?? "http://127.0.0.1:8545",
      vault: { tokenDecimals: 18 },
    },
  },
});

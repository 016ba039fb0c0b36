import { configVariable, defineConfig } from "hardhat/config";
import vault from "hardhat-vault";

// `npm run deploy-guard` prints the address. Until it is set, there is no guard.
const guard = process.env.VAULT_GUARD;

export default defineConfig({
  plugins: [vault],
  networks: {
    mainnet: {
      type: "http",
      url: configVariable("VAULT_MAINNET_RPC_URL"),
      chainId: 56, // of your chain: a URL of another one is refused
      accounts: [configVariable("VAULT_MAINNET_KEY")],
      // Of that key: what only reads, as `status`, tries a settlement as this account.
      ...(process.env.VAULT_FROM === undefined
        ? {}
        : { from: process.env.VAULT_FROM }),
      vault: {
        contracts: {
          vault: configVariable("VAULT_ADDRESS"),
          vaultFactory: configVariable("VAULT_FACTORY_ADDRESS"),
        },
        tokenDecimals: 18,
        maxFeePerGasLimit: 100_000_000_000n, // 100 gwei
        timeBeforeBumpingFees: 180_000, // 3 minutes, then a higher fee
        // With a guard: every ERC-20 token that the vault may pay to whoever settles; [] for none.
        // tokens: ["0x…"],
        ...(guard === undefined ? {} : { guard }),
      },
    },
    // To try everything on a node of your own.
    localhost: {
      type: "http",
      url: process.env.LOCAL_NODE_URL ?? "http://127.0.0.1:8545",
      vault: {
        tokenDecimals: 18,
        ...(guard === undefined ? {} : { guard }),
      },
    },
  },
});

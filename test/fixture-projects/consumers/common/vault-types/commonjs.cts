// The types that a CommonJS module finds.
import plugin = require("hardhat-vault");
import abi = require("hardhat-vault/abi");
import bindings = require("hardhat-vault/bindings");
import client = require("hardhat-vault/client");
import mocks = require("hardhat-vault/mocks");

// @ts-expect-error -- requiring the plugin throws
const id: string = plugin.id;
const factory = bindings.Vault__factory;
const type: "function" = abi.vaultAbi[0].type;

async function volume(
  ...[provider, addresses]: ConstructorParameters<typeof client.VaultClient>
): Promise<bigint> {
  const { vault } = await mocks.deployMocks(provider);
  await vault.queryVolume();
  return await new client.VaultClient(provider, addresses).queryVolume();
}

export = { id, factory, type, volume };

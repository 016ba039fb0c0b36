import { existsSync } from "node:fs";

import { expect } from "chai";
import { HDNodeWallet, Transaction, Wallet } from "ethers";
import type { NetworkHooks } from "hardhat/types/hooks";
import type { JsonRpcResponse } from "hardhat/types/providers";
import { HardhatPluginError } from "hardhat/plugins";

import type { Settlement } from "../../src/types.js";
import { examineSigner } from "../../src/plugin/doctor.js";
import { useAnvil } from "../helpers/anvil.js";
import { fieldsOf, listOf } from "../helpers/fields.js";
import { useFixtureProject } from "../helpers/fixture-project.js";
import type { FixtureProject } from "../helpers/fixture-project.js";
import { createTestHre, httpNetwork } from "../helpers/hre.js";
import type { HardhatVault } from "../../src/plugin/hardhat-vault.js";
import { openChain, devKey } from "../helpers/world.js";

type OnRequest = NonNullable<NetworkHooks["onRequest"]>;

/** Where the plugin fails: before it sends, once the node has the transaction, or between. */
type Failure =
  | "eth_sendTransaction"
  | "after sending"
  | "before its node has it";

describe("a settlement with the account of a plugin, as of a hardware wallet", () => {
  const anvil = useAnvil();
  const device: HDNodeWallet = HDNodeWallet.createRandom();
  let project: FixtureProject;

  before(async () => {
    project = await useFixtureProject("plain");
  });
  after(async () => {
    await project.remove();
  });

  const noDevice = (): Error =>
    new HardhatPluginError("hardhat-other", "the device is not connected");

  const open = async (failure?: Failure): Promise<HardhatVault> => {
    let late: (() => Promise<unknown>) | undefined;
    const onRequest: OnRequest = async (context, connection, request, next) => {
      const { method, params } = request;
      if (method === failure) {
        throw noDevice();
      }
      if (method === "eth_call" && late !== undefined) {
        // The last request of a look.
        const answer = await next(context, connection, request);
        await late();
        late = undefined;
        return answer;
      }
      if (method === "eth_accounts") {
        const answer = await next(context, connection, request);
        return "result" in answer
          ? { ...answer, result: [...listOf(answer.result), device.address] }
          : answer;
      }
      const [asked] = listOf(params);
      const { from, to, data, nonce, gas } = fieldsOf(asked);
      if (
        method !== "eth_sendTransaction" ||
        String(from).toLowerCase() !== device.address.toLowerCase()
      ) {
        return await next(context, connection, request);
      }
      const transaction = Transaction.from({
        type: 2,
        to: String(to),
        data: String(data),
        chainId: 31_337,
        nonce: Number(nonce),
        gasLimit: BigInt(String(gas)),
        maxFeePerGas: 10n ** 11n,
        maxPriorityFeePerGas: 1n,
      });
      const raw = await device.signTransaction(transaction);
      const sent = { ...request, method: "eth_sendRawTransaction" };
      const send = async (): Promise<JsonRpcResponse> =>
        await next(context, connection, { ...sent, params: [raw] });
      if (failure === "before its node has it") {
        late = send;
        throw noDevice();
      }
      const answer = await send();
      if (failure === "after sending") {
        throw noDevice();
      }
      return answer;
    };
    const chain = await openChain(anvil.url, devKey(0));
    const { contracts } = chain;
    chain.close();
    const hre = await createTestHre(
      {
        plugins: [
          {
            id: "hardhat-other",
            hookHandlers: {
              network: async () =>
                await Promise.resolve({
                  default: async () => await Promise.resolve({ onRequest }),
                }),
            },
          },
        ],
        networks: { live: httpNetwork(anvil.url, { vault: { contracts } }) },
      },
      { projectRoot: project.path },
    );
    const { vault, provider } = await hre.network.create("live");
    await provider.request({
      method: "anvil_setBalance",
      params: [device.address, "0xde0b6b3a7640000"],
    });
    return vault;
  };
  const settle = async (vault: HardhatVault): Promise<Settlement> =>
    await vault.settleAll({ from: device.address, pollingInterval: 20 });

  it("is refused at once, in the plugin's words, if the plugin fails before it sends, and another account may settle", async () => {
    const vault = await open("eth_sendTransaction");
    const settlement = await settle(vault);
    expect(settlement).to.include({
      status: "refused",
      code: "VAULT_HARDHAT_ERROR",
      hash: null,
    });
    expect(settlement.reason).to.include(
      "The plugin hardhat-other failed: the device is not connected",
    );
    const { address } = await vault.addressOf("vault");
    const file = `${project.path}/vault-deployments/settlement-development-31337-${address.toLowerCase()}.json`;
    expect(existsSync(file)).to.equal(false);
    const from = new Wallet(devKey(1)).address;
    expect(await vault.settleAll({ from })).to.include({ status: "settled" });
  });

  for (const failure of ["after sending", "before its node has it"] as const) {
    it(`is followed to its end if the plugin sends it, and fails ${failure}`, async () => {
      const vault = await open(failure);
      expect(await settle(vault)).to.include({ status: "settled" });
    });
  }

  it("settles if the plugin works, and doctor finds the account", async () => {
    const vault = await open();
    const [signer] = await examineSigner(vault, device.address);
    expect(signer?.detail).to.include(
      `${device.address}, an account of the node or of a plugin`,
    );
    expect(await settle(vault)).to.include({ status: "settled" });
  });
});

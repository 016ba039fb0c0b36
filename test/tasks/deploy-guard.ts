import { expect } from "chai";
import { Wallet, ZeroAddress } from "ethers";

import { guardAddressOf, settlerIn } from "../../src/guard/round-guard.js";
import { deploy } from "../../tasks/deploy-guard.js";
import { deployGuardTask } from "../../tasks/definitions/deploy-guard.js";
import { parseOptions } from "../../tasks/parse-options.js";
import type { TypedOptions } from "../../tasks/parse-options.js";
import { useAnvil } from "../helpers/anvil.js";
import { expectVaultError } from "../helpers/assertions.js";
import { fetchProvider } from "../helpers/fetch-provider.js";
import { fieldsOf } from "../helpers/fields.js";
import { startHardhatNode } from "../helpers/hardhat-node.js";
import { createTestHre, hreOnLive } from "../helpers/hre.js";
import type { NetworkSettings } from "../helpers/hre.js";
import { parseDocument, runTyped } from "../helpers/run-vault-task.js";
import { KeptOutput } from "../helpers/screens.js";
import { squeezed } from "../helpers/use-tasks.js";
import { devKey } from "../helpers/world.js";

const KEY = devKey(0);
const ACCOUNT = new Wallet(KEY).address;
const addressAt = (index: number): string => new Wallet(devKey(index)).address;

// How a guard is deployed: test/settlement/deploy-guard.ts.
describe("vault deploy-guard", () => {
  const anvil = useAnvil();

  const deployed = async (
    options: string,
    settings: NetworkSettings = { accounts: [KEY] },
    url = anvil.url,
  ) => {
    const hre = await hreOnLive(url, settings);
    const result = await runTyped(hre, `deploy-guard ${options} --json`);
    const { guard, error } = fieldsOf(parseDocument(result));
    return { ...result, guard: fieldsOf(guard ?? error) };
  };
  const settlerAt = async (address: unknown, url = anvil.url) => {
    const params = [address, "latest"];
    const node = fetchProvider(url);
    return settlerIn(
      String(await node.request({ method: "eth_getCode", params })),
    );
  };

  it("deploy-guard deploys for the account that deploys, and sends nothing the second time", async () => {
    const { guard, stderr } = await deployed("--yes");
    const address = guardAddressOf(ACCOUNT);
    expect(guard).to.include({ address, settler: ACCOUNT });
    expect(stderr).to.contain(`Transaction ${String(guard["hash"])}`);
    expect(await settlerAt(address)).to.equal(ACCOUNT);
    const again = await deployed("");
    expect(again.guard).to.deep.equal({ ...guard, hash: null });
    expect(again.exitCode).to.equal(0);
  });

  it("deploy-guard prints the line for the configuration, and where it belongs", async () => {
    const hre = await hreOnLive(anvil.url, {
      accounts: [KEY],
      vault: { instances: { usdc: {} } },
    });
    const { stdout } = await runTyped(
      hre,
      "deploy-guard --yes --instance usdc",
    );
    expect(stdout)
      .to.contain(`guard: "${guardAddressOf(ACCOUNT)}",`)
      .and.contain("Put this into networks.live.vault.instances.usdc of the");
  });

  for (const [option, settler] of [
    [addressAt(1), addressAt(1)],
    ["anyone", ZeroAddress],
  ] as const) {
    it(`deploy-guard --settler ${option} deploys a guard of ${settler} by an account of the node`, async () => {
      const { guard, stderr } = await deployed(`--settler ${option} --yes`, {
        accounts: "remote",
      });
      const address = guardAddressOf(settler);
      expect(guard).to.include({ address, settler });
      expect(await settlerAt(address)).to.equal(settler);
      expect(stderr.includes("Anyone may settle through this guard")).to.equal(
        option === "anyone",
      );
    });
  }

  it("deploy-guard without --yes sends nothing if there is no terminal to ask on", async () => {
    const settler = addressAt(5);
    const { guard, stderr, exitCode } = await deployed(`--settler ${settler}`);
    expect(guard).to.include({ code: "VAULT_INVALID_ARGUMENT" });
    expect(exitCode).to.equal(1);
    expect(stderr).to.contain(guardAddressOf(settler));
    expect(await settlerAt(guardAddressOf(settler))).to.equal(undefined);
  });

  describe("on a terminal", () => {
    /** The guard's settler after the answer, what was asked, and what was shown. */
    const answering = async (
      settler: string,
      answer: boolean,
      typed: TypedOptions = {},
    ) => {
      const hre = await hreOnLive(anvil.url);
      const { vault } = await hre.network.create();
      const asked: string[] = [];
      const err = new KeptOutput();
      const ask = async (question: string): Promise<boolean> => {
        asked.push(question);
        return await Promise.resolve(answer);
      };
      const { options } = deployGuardTask;
      const args = parseOptions(options, { settler, ...typed }, hre);
      const work = deploy(vault, args, { ask, err });
      await (answer || typed["yes"] === true
        ? work
        : expectVaultError(work, "VAULT_NOT_CONFIRMED"));
      const found = await settlerAt(guardAddressOf(settler));
      return { found, asked, shown: squeezed(err.text) };
    };

    it("deploy-guard shows what it would deploy, and sends nothing after a no", async () => {
      const settler = addressAt(4);
      const { found, asked, shown } = await answering(settler, false);
      expect(found).to.equal(undefined);
      expect(asked).to.deep.equal(["Deploy this guard now?"]);
      expect(shown.replaceAll(/0\.\d+/gu, "0.#").split("\n")).to.deep.equal([
        "About to deploy a guard",
        "Network · live (chain id 31337)",
        `Deployed by · ${ACCOUNT}`,
        `Settler · ${settler} · no other account may settle through it`,
        `Address · ${guardAddressOf(settler)}`,
        "Cost · 0.# · native currency; at most 0.#",
        "",
      ]);
    });

    it("deploy-guard deploys after a yes", async () => {
      const { found } = await answering(addressAt(4), true);
      expect(found).to.equal(addressAt(4));
    });

    it("deploy-guard --yes asks nothing", async () => {
      const { found, asked } = await answering(addressAt(3), false, {
        yes: true,
      });
      expect(found).to.equal(addressAt(3));
      expect(asked).to.deep.equal([]);
    });
  });

  for (const [index, accounts] of [
    [9, [KEY]],
    [10, "remote"],
  ] satisfies ReadonlyArray<[number, NetworkSettings["accounts"]]>) {
    it(`deploy-guard offers maxFeePerGasLimit at most, with accounts ${accounts === "remote" ? "of the node" : "of the configuration"}`, async () => {
      const node = fetchProvider(anvil.url);
      const request = async (method: string, ...params: unknown[]) =>
        fieldsOf(await node.request({ method, params }));
      await request("anvil_setNextBlockBaseFeePerGas", "0x3b9aca00");
      await request("anvil_mine");
      const typed = `--settler ${addressAt(index)} --yes`;
      const above = await deployed(typed, {
        ...{ accounts, vault: { maxFeePerGasLimit: 1n } },
      });
      expect(above.guard).to.include({ code: "VAULT_FEE_ABOVE_LIMIT" });
      const { guard } = await deployed(typed, {
        ...{ accounts, vault: { maxFeePerGasLimit: 2_100_000_000n } },
      });
      const sent = await request("eth_getTransactionByHash", guard["hash"]);
      expect(sent["maxFeePerGas"]).to.equal("0x7d2b7500");
    });
  }

  it("deploy-guard deploys by a plain transaction on hardhat node, which lacks the CREATE2 deployer", async () => {
    const node = await startHardhatNode();
    try {
      const { guard, stderr } = await deployed("--yes", {}, node.url);
      expect(guard).to.include({ settler: ACCOUNT });
      expect(squeezed(stderr)).to.include(
        "Address · not known yet · this chain lacks the CREATE2 deployer\n",
      );
      expect(await settlerAt(guard["address"], node.url)).to.equal(ACCOUNT);
    } finally {
      await node.stop();
    }
  });

  it("deploy-guard deploys in process", async () => {
    const typed = "deploy-guard --yes --json";
    const result = await runTyped(await createTestHre(), typed);
    expect(fieldsOf(parseDocument(result)))
      .to.have.nested.property("guard.hash")
      .that.matches(/^0x/u);
  });
});

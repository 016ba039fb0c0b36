import { expect } from "chai";
import { Interface, Wallet, ZeroAddress } from "ethers";

import { RoundGuardArtifact } from "../../src/guard/artifact.js";
import {
  CREATE2_DEPLOYER,
  guardAddressOf,
  settlerIn,
} from "../../src/guard/round-guard.js";
import { deploy } from "../../tasks/deploy-guard.js";
import { deployGuardTask } from "../../tasks/definitions/deploy-guard.js";
import { createStyle } from "../../tasks/output/style.js";
import { parseOptions } from "../../tasks/parse-options.js";
import type { TypedOptions } from "../../tasks/parse-options.js";
import type { TaskReport } from "../../tasks/run-task.js";
import { expectVaultError } from "../helpers/assertions.js";
import { useAnvil } from "../helpers/anvil.js";
import type { ServerProcess } from "../helpers/child-process.js";
import { fetchProvider } from "../helpers/fetch-provider.js";
import { fieldsOf } from "../helpers/fields.js";
import { startHardhatNode } from "../helpers/hardhat-node.js";
import { createTestHre, hreOnLive } from "../helpers/hre.js";
import { parseDocument, runTyped } from "../helpers/run-vault-task.js";
import { squeezed } from "../helpers/use-tasks.js";
import { devKey } from "../helpers/world.js";

const KEY = devKey(0);
const ACCOUNT = new Wallet(KEY).address;
const OTHER = new Wallet(devKey(1)).address;

const guardErrors = new Interface(RoundGuardArtifact.abi);

type Document = Readonly<Record<string, unknown>>;

describe("vault deploy-guard", () => {
  const anvil = useAnvil();

  const deployed = async (
    options: string,
    {
      url = anvil.url,
      settings = { accounts: [KEY] },
    }: {
      readonly url?: string;
      readonly settings?: Parameters<typeof hreOnLive>[1];
    } = {},
  ): Promise<{ guard: Document; stderr: string; exitCode: number | null }> => {
    const hre = await hreOnLive(url, settings);
    const result = await runTyped(hre, `deploy-guard ${options} --json`);
    const { guard, error } = fieldsOf(parseDocument(result));
    return { ...result, guard: fieldsOf(guard ?? error) };
  };
  const settlerAt = async (url: string, address: unknown): Promise<unknown> => {
    const code = await fetchProvider(url).request({
      method: "eth_getCode",
      params: [address, "latest"],
    });
    return settlerIn(String(code));
  };

  it("deploys at the address that the settler decides, for the account that deploys, and the second time sends nothing", async () => {
    const { guard, stderr } = await deployed("--yes");
    expect(guard).to.include({
      address: guardAddressOf(ACCOUNT),
      settler: ACCOUNT,
    });
    expect(stderr).to.contain(`Transaction ${String(guard["hash"])}`);
    expect(await settlerAt(anvil.url, guard["address"])).to.equal(ACCOUNT);
    const again = await deployed("");
    expect(again.guard).to.deep.equal({ ...guard, hash: null });
    expect(again.exitCode).to.equal(0);
  });

  it("deploys for another settler, and for anyone with --settler anyone, by accounts of the node, too", async () => {
    for (const [option, settler] of [
      [OTHER, OTHER],
      ["anyone", ZeroAddress],
    ] as const) {
      const { guard, stderr } = await deployed(`--settler ${option} --yes`, {
        settings: { accounts: "remote" },
      });
      expect(stderr.includes("Anyone may settle through this guard")).to.equal(
        option === "anyone",
      );
      const address = guardAddressOf(settler);
      expect(guard).to.include({ address, settler });
      expect(await settlerAt(anvil.url, address)).to.equal(settler);
    }
  });

  it("sends nothing without --yes where there is no terminal to ask on", async () => {
    const settler = new Wallet(devKey(5)).address;
    const { guard, stderr, exitCode } = await deployed(`--settler ${settler}`);
    expect(guard).to.include({ code: "VAULT_INVALID_ARGUMENT" });
    expect(exitCode).to.equal(1);
    expect(stderr).to.contain(guardAddressOf(settler));
    expect(await settlerAt(anvil.url, guardAddressOf(settler))).to.equal(
      undefined,
    );
  });

  it("fails, and pays for nothing, where other code is at the deployer's address", async () => {
    const node = fetchProvider(anvil.url);
    const setDeployer = async (code: unknown): Promise<void> => {
      await node.request({
        method: "anvil_setCode",
        params: [CREATE2_DEPLOYER, code],
      });
    };
    const code = await node.request({
      method: "eth_getCode",
      params: [CREATE2_DEPLOYER, "latest"],
    });
    await setDeployer("0x00");
    const settler = new Wallet(devKey(6)).address;
    const { guard, stderr } = await deployed(`--settler ${settler} --yes`);
    await setDeployer(code);
    expect(guard).to.include({ code: "VAULT_GUARD_NOT_DEPLOYED" });
    expect(stderr).to.not.match(/Transaction/u);
  });

  it("prints the line for the configuration, and where it belongs", async () => {
    const hre = await hreOnLive(anvil.url, {
      accounts: [KEY],
      vault: { instances: { usdc: {} } },
    });
    for (const [options, place] of [
      ["", "networks.live.vault of"],
      ["--instance usdc", "networks.live.vault.instances.usdc of"],
    ] as const) {
      const { stdout } = await runTyped(hre, `deploy-guard --yes ${options}`);
      expect(stdout).to.contain(`guard: "${guardAddressOf(ACCOUNT)}",`);
      expect(stdout).to.contain(`Put this into ${place} the configuration:`);
      expect(stdout).to.contain("none: it is there already");
    }
  });

  it("asks whether it is to deploy what it shows, and deploys only after a yes", async () => {
    const hre = await hreOnLive(anvil.url);
    const { vault } = await hre.network.create();
    const settler = new Wallet(devKey(4)).address;
    const asked: string[] = [];
    let shown = "";
    const answering = async (
      answer: boolean,
      more: TypedOptions = {},
    ): Promise<TaskReport> =>
      await deploy(
        vault,
        parseOptions(deployGuardTask.options, { settler, ...more }, hre),
        {
          ask: async (question) => {
            asked.push(question);
            return await Promise.resolve(answer);
          },
          err: {
            style: createStyle({}),
            write: async (text) => {
              shown += text;
              return await Promise.resolve(true);
            },
          },
        },
      );
    const address = guardAddressOf(settler);
    await expectVaultError(answering(false), "VAULT_NOT_CONFIRMED");
    expect(await settlerAt(anvil.url, address)).to.equal(undefined);
    expect(squeezed(shown)).to.match(
      new RegExp(
        [
          "^About to deploy a guard",
          "Network · live \\(chain id 31337\\)",
          `Deployed by · ${ACCOUNT}`,
          `Settler · ${settler} · no other account may settle through it`,
          `Address · ${address}`,
          "Cost · 0\\.\\d+ · native currency; at most 0\\.\\d+\n$",
        ].join("\n"),
        "u",
      ),
    );
    await answering(true);
    expect(await settlerAt(anvil.url, address)).to.equal(settler);
    // With --yes it does not ask.
    const other = new Wallet(devKey(3)).address;
    await answering(false, { settler: undefined, from: other, yes: true });
    expect(await settlerAt(anvil.url, guardAddressOf(other))).to.equal(other);
    expect(asked).to.deep.equal([
      "Deploy this guard now?",
      "Deploy this guard now?",
    ]);
  });

  it("refuses the wrong chain", async () => {
    const settler = new Wallet(devKey(7)).address;
    const { guard, exitCode } = await deployed(`--settler ${settler} --yes`, {
      settings: { accounts: [KEY], chainId: 5 },
    });
    expect(guard).to.include({ code: "VAULT_WRONG_CHAIN" });
    expect(exitCode).to.equal(1);
    expect(await settlerAt(anvil.url, guardAddressOf(settler))).to.equal(
      undefined,
    );
  });

  it("sends nothing above the limits of the fees", async () => {
    const settler = new Wallet(devKey(8)).address;
    for (const limit of ["maxFeePerGasLimit", "maxPriorityFeePerGasLimit"]) {
      const { guard } = await deployed(`--settler ${settler} --yes`, {
        settings: { accounts: [KEY], vault: { [limit]: 1n } },
      });
      expect(guard).to.include({ code: "VAULT_FEE_ABOVE_LIMIT" });
    }
    expect(await settlerAt(anvil.url, guardAddressOf(settler))).to.equal(
      undefined,
    );
  });

  it("offers no more than the limit, by an account of the node, too", async () => {
    const node = fetchProvider(anvil.url);
    for (const [index, accounts] of [
      [9, [KEY]],
      [10, "remote"],
    ] as const) {
      const params = ["0x3b9aca00"];
      await node.request({ method: "anvil_setNextBlockBaseFeePerGas", params });
      await node.request({ method: "anvil_mine", params: [] });
      const settler = new Wallet(devKey(index)).address;
      const { guard } = await deployed(`--settler ${settler} --yes`, {
        settings: {
          accounts: accounts === "remote" ? accounts : [...accounts],
          vault: { maxFeePerGasLimit: 2_100_000_000n },
        },
      });
      const sent = await node.request({
        method: "eth_getTransactionByHash",
        params: [guard["hash"]],
      });
      expect(fieldsOf(sent)["maxFeePerGas"]).to.equal("0x7d2b7500");
    }
  });

  describe("without the deployer", () => {
    let node: ServerProcess;
    before(async () => {
      node = await startHardhatNode();
    });
    after(async () => {
      await node.stop();
    });

    it("deploys by a plain transaction on hardhat node, and in process", async () => {
      for (const accounts of [[KEY], "remote"] as const) {
        const { guard, stderr } = await deployed("--yes", {
          url: node.url,
          settings: {
            accounts: accounts === "remote" ? accounts : [...accounts],
          },
        });
        expect(guard).to.include({ settler: ACCOUNT });
        expect(squeezed(stderr)).to.include(
          "Address · not known yet · this chain lacks the CREATE2 deployer\n",
        );
        expect(await settlerAt(node.url, guard["address"])).to.equal(ACCOUNT);
      }
      const result = await runTyped(
        await createTestHre({}),
        "deploy-guard --yes --json",
      );
      const guard = fieldsOf(fieldsOf(parseDocument(result))["guard"]);
      expect(guard["hash"]).to.match(/^0x/u);
    });
  });

  it("vault decode names the errors of a guard", async () => {
    const data = guardErrors.encodeErrorResult("RoundNotEnded", [
      1_700_000_000n,
    ]);
    const hre = await createTestHre({});
    const result = await runTyped(hre, `decode ${data} --json`);
    expect(fieldsOf(parseDocument(result))["decoded"]).to.include({
      kind: "error",
      signature: "RoundNotEnded(uint256)",
    });
  });
});

import { expect } from "chai";
import { Wallet, ZeroAddress } from "ethers";

import { guardAddressOf, settlerIn } from "../../../src/guard/round-guard.js";
import { deploy } from "../../../tasks/settle.js";
import { tasks } from "../../../tasks/definitions.js";
import { parseTaskValues } from "../../../tasks/parse-options.js";
import { useAnvil } from "../../helpers/anvil.js";
import { expectVaultError } from "../../helpers/assertions.js";
import { fetchProvider } from "../../helpers/fetch-provider.js";
import { fieldsOf } from "../../helpers/fields.js";
import { hreOnLive } from "../../helpers/hre.js";
import type { NetworkSettings } from "../../helpers/hre.js";
import { useKeeper } from "../../helpers/keeper.js";
import { startRpcServer } from "../../helpers/rpc-server.js";
import { parseDocument, runTyped } from "../../helpers/run-vault-task.js";
import { KeptOutput, linesOf } from "../../helpers/screens.js";
import { handlerOf } from "../../helpers/scripted-node.js";
import { squeezed } from "../../helpers/use-tasks.js";
import { devKey } from "../../helpers/world.js";

const KEY = devKey(0);
const ACCOUNT = new Wallet(KEY).address;
const addressAt = (index: number): string => new Wallet(devKey(index)).address;

// How a guard is deployed: test/settlement/deploy-guard.ts.
describe("vault deploy-guard", () => {
  const anvil = useAnvil();

  const deployed = async (
    options: string,
    settings: NetworkSettings = { accounts: [KEY] },
  ) => {
    const hre = await hreOnLive(anvil.url, settings);
    const result = await runTyped(hre, `deploy-guard ${options} --json`);
    const { guard, error } = fieldsOf(parseDocument(result));
    return { ...result, guard: fieldsOf(guard ?? error) };
  };
  const settlerAt = async (address: string) => {
    const params = [address, "latest"];
    const node = fetchProvider(anvil.url);
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

  for (const [option, settler] of [
    [addressAt(1), addressAt(1)],
    ["anyone", ZeroAddress],
  ] as const) {
    it(`deploy-guard --settler ${option} deploys a guard of ${settler} by an account of the node`, async () => {
      const { guard } = await deployed(`--settler ${option} --yes`, {
        accounts: "remote",
      });
      const address = guardAddressOf(settler);
      expect(guard).to.include({ address, settler });
      expect(await settlerAt(address)).to.equal(settler);
    });
  }

  it("deploy-guard --from deploys by that account, and for it", async () => {
    const from = addressAt(2);
    const { guard } = await deployed(`--from ${from} --yes`, {
      accounts: [KEY, devKey(2)],
    });
    expect(guard).to.include({ address: guardAddressOf(from), settler: from });
    const params = [guard["hash"]];
    const sent = await fetchProvider(anvil.url).request({
      ...{ method: "eth_getTransactionByHash", params },
    });
    expect(fieldsOf(sent)["from"]).to.equal(from.toLowerCase());
  });

  it("deploy-guard without --yes sends nothing if there is no terminal to ask on", async () => {
    const settler = addressAt(5);
    const { guard, exitCode } = await deployed(`--settler ${settler}`);
    expect(guard).to.include({ code: "VAULT_NO_TERMINAL" });
    expect(guard["message"]).to.match(
      /without a question\. Nothing was sent\.$/u,
    );
    expect(exitCode).to.equal(1);
    expect(await settlerAt(guardAddressOf(settler))).to.equal(undefined);
  });

  describe("on a terminal", () => {
    const keeper = useKeeper();
    /** The guard's settler after the answer, and what was asked. */
    const answering = async (settler: string, answer: boolean) => {
      const hre = await hreOnLive(anvil.url);
      const { vault } = await hre.network.create();
      const asked: string[] = [];
      const ask = async (question: string): Promise<boolean> => {
        asked.push(question);
        return await Promise.resolve(answer);
      };
      const args = parseTaskValues(tasks["deploy-guard"], { settler });
      const err = new KeptOutput();
      const given = { ...args, instance: "us\u001bdc" };
      const work = deploy(vault, given, { ask, err });
      const lines = answer
        ? linesOf((await work).screen)
        : [(await expectVaultError(work, "VAULT_NOT_CONFIRMED")).code];
      const found = await settlerAt(guardAddressOf(settler));
      return { found, asked, lines, shown: squeezed(err.text) };
    };

    it("deploy-guard shows network, settler, account and highest cost, asks, and sends nothing after a no", async () => {
      const { found, asked, shown } = await answering(addressAt(4), false);
      expect(found).to.equal(undefined);
      expect(asked).to.deep.equal(["Deploy this guard now?"]);
      expect(shown.split("\n").slice(0, 4)).to.deep.equal([
        "About to deploy a guard",
        "Network · live (chain 31337)",
        `Settler · only ${addressAt(4)}`,
        `Account · ${ACCOUNT}`,
      ]);
      expect(shown).to.match(/^Cost · at most 0\.\d+ native currency$/mu);
    });

    it("deploy-guard shows that anyone may settle, and what that means", async () => {
      const { lines } = await answering(ZeroAddress, true);
      expect(lines).to.include.members([
        "Settler · anyone",
        "Anyone may settle through this guard: a vault's allow-list must not name it.",
      ]);
    });

    it("deploy-guard deploys after a yes", async () => {
      const { found, lines } = await answering(addressAt(4), true);
      expect(found).to.equal(addressAt(4));
      expect(lines).to.include(
        "Put this into networks.live.vault.instances.us\\u{1b}dc of the configuration:",
      );
    });

    it("deploy-guard --yes asks nobody, and sends nothing without a limit of the fee: VAULT_FEE_LIMIT_NEEDED", async () => {
      keeper.chain.on("eth_estimateGas", () => "0xea60");
      const server = await startRpcServer({ handler: handlerOf(keeper.chain) });
      const hre = await hreOnLive(server.url, { accounts: [KEY] });
      const { vault } = await hre.network.create();
      let asked = 0;
      const ask = async (): Promise<boolean> => {
        asked += 1;
        return await Promise.resolve(true);
      };
      const args = parseTaskValues(tasks["deploy-guard"], { yes: true });
      const work = deploy(vault, args, { ask, err: new KeptOutput() });
      await expectVaultError(work, "VAULT_FEE_LIMIT_NEEDED");
      await server.stop();
      expect([asked, keeper.sends]).to.deep.equal([0, 0]);
    });
  });
});

import { expect } from "chai";

import type { HardhatVault } from "../../../src/types.js";
import { listOf } from "../../../src/json.js";
import { useAnvil } from "../../helpers/anvil.js";
import { fieldsOf } from "../../helpers/fields.js";
import { deployTestGuard } from "../../helpers/guard.js";
import { connectTo } from "../../helpers/hre.js";
import { startRpcServer } from "../../helpers/rpc-server.js";
import type { RpcHandler } from "../../helpers/rpc-server.js";
import { deploySettlingVault } from "../../helpers/settling-vaults.js";
import { mined } from "../../helpers/transactions.js";

/** A call with two arguments logs the first and returns true; with one, it takes all gas. */
const NO_TOKEN = "0x36602414601a57602060045f375f60205fa160015f5260205ff35bfe";

/** The same, but its balances are 0. */
const EMPTY_TOKEN = NO_TOKEN.replace(/fe$/u, "60205ff3");

const code = "VAULT_GUARD_KEEPS_TOKENS";

describe("a contract whose event names the guard", () => {
  const anvil = useAnvil();

  /** A vault that pays through a guard, behind a server. */
  async function open(handler: RpcHandler) {
    const { vault } = await connectTo(anvil.url);
    const { provider } = vault.connection.ethers;
    const deployer = await provider.getSigner(0);
    const guard = await deployTestGuard(deployer, deployer.address);
    const { contract, contracts, token } = await deploySettlingVault(
      deployer,
      "RewardVault",
    );
    const pay = async (paid: string): Promise<void> => {
      const set = contract.getFunction("setReward");
      await mined(await set.send(paid, 1_000n, false, false));
    };
    const server = await startRpcServer({ upstream: anvil.url, handler });
    const connected = await connectTo(server.url, {
      vault: { contracts, guard },
    });
    const seen: HardhatVault = connected.vault;
    return { server, seen, pay, provider, token: await token.getAddress() };
  }

  for (const engine of [undefined, "simulateV1"] as const) {
    it(`is no token that stays there if it takes all gas for its balance, and the simulation by ${engine ?? "any engine"} is shown`, async () => {
      const { server, seen, pay, provider } = await open(() => undefined);
      try {
        const address = `0x${"0".repeat(36)}beef`;
        await provider.send("anvil_setCode", [address, NO_TOKEN]);
        await pay(address);
        const found = await seen.simulateSettleAll({ engine });
        expect(found).to.include({
          ...{ status: "settled", code: null, engine: "simulateV1" },
        });
      } finally {
        await server.stop();
      }
    });
  }

  it("stays there if it is a token, also if the node refuses the second simulation, which reads its balance", async () => {
    const { server, seen, pay, token } = await open(({ request, occurrence }) =>
      request.method === "eth_simulateV1" && occurrence > 0
        ? { error: { code: -32_000, message: "execution aborted" } }
        : undefined,
    );
    try {
      await pay(token);
      const { reason, ...found } = await seen.simulateSettleAll();
      expect(found).to.include({
        ...{ status: "settled", code, engine: "simulateV1" },
      });
      expect(reason).to.contain("tokens in the guard").and.contain(token);
    } finally {
      await server.stop();
    }
  });

  it("counts as a token that stays there if the settlement reverts in the simulation that reads its balance", async () => {
    const { server, seen, pay, provider } = await open(
      async ({ request, occurrence, forward }) => {
        if (request.method !== "eth_simulateV1" || occurrence === 0) {
          return undefined;
        }
        const [block] = listOf(fieldsOf(JSON.parse(await forward()))["result"]);
        const calls = listOf(fieldsOf(block)["calls"]);
        // Before it are the accounts, two balances and the loan.
        const reverted = { ...fieldsOf(calls[4]), status: "0x0", logs: [] };
        return {
          result: [{ ...fieldsOf(block), calls: calls.with(4, reverted) }],
        };
      },
    );
    try {
      const address = `0x${"0".repeat(36)}beef`;
      await provider.send("anvil_setCode", [address, EMPTY_TOKEN]);
      await pay(address);
      const { reason, ...found } = await seen.simulateSettleAll();
      expect(found).to.include({ status: "settled", code });
      expect(reason).to.contain("tokens in the guard");
    } finally {
      await server.stop();
    }
  });

  it("stays there if no engine can read its balance", async () => {
    const { server, seen, pay, token } = await open(({ request, occurrence }) =>
      request.method === "eth_simulateV1" && occurrence > 0
        ? { error: { code: -32_000, message: "execution aborted" } }
        : // Another verdict than that of a fork.
          request.method === "eth_call" &&
            JSON.stringify(request.params).includes("0x0e3544a2")
          ? { error: { code: 3, message: "execution reverted", data: "0x" } }
          : undefined,
    );
    try {
      await pay(token);
      const { reason, ...found } = await seen.simulateSettleAll();
      expect(found).to.include({ status: "settled", code });
      expect(reason).to.contain("tokens in the guard").and.contain(token);
    } finally {
      await server.stop();
    }
  });
});

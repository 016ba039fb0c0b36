import { expect } from "chai";
import { configVariable } from "hardhat/config";

import { encodeRevertData } from "../../src/mocks/index.js";
import { VaultError } from "../../src/client/index.js";
import type { ForkConnection, HardhatVault } from "../../src/types.js";
import { useAnvil } from "../helpers/anvil.js";
import { createTestHre, httpNetwork } from "../helpers/hre.js";
import { startRpcServer } from "../helpers/rpc-server.js";
import type { RpcHandler, RpcServer } from "../helpers/rpc-server.js";
import { deployProtocol, directProvider } from "../helpers/world.js";
import type { MockProtocol } from "../helpers/world.js";
import { mined } from "../helpers/transactions.js";

/** Too short to be taken for a key by its form. */
const SECRET = "5ecret-part";
const WORDS = `denied for ${SECRET}`;

const refusal = { code: -32_000, message: WORDS };

/** Refuses the requests that match, by a method's name and its parameters. */
const refuseIf =
  (
    matches: (method: string, params: readonly unknown[]) => boolean,
  ): RpcHandler =>
  ({ request: { method, params } }) =>
    matches(method, params) ? { error: refusal } : undefined;

/** Of the block by its number: the vault asks for the latest one. */
const isHeader =
  (isFull: boolean) => (method: string, params: readonly unknown[]) =>
    method === "eth_getBlockByNumber" &&
    String(params[0]).startsWith("0x") &&
    params[1] === isFull;

const isStorage = (method: string): boolean => method === "eth_getStorageAt";

const SETTLE_ALL = "0xa015aefe";

describe("secrets of a fork's node", () => {
  const anvil = useAnvil();
  let server: RpcServer;
  let provider: ReturnType<typeof directProvider>;
  let protocol: MockProtocol;
  let checkpoint: unknown;
  let forks: ForkConnection[];

  before(async () => {
    provider = directProvider(anvil.url);
    protocol = await deployProtocol(await provider.getSigner(0));
    server = await startRpcServer({ upstream: anvil.url });
    process.env["TEST_FORK_URL"] = `${server.url}/v1/${SECRET}`;
  });
  after(async () => {
    delete process.env["TEST_FORK_URL"];
    provider.destroy();
    await server.stop();
  });
  beforeEach(async () => {
    checkpoint = await provider.send("evm_snapshot", []);
    server.handler = () => undefined;
    forks = [];
  });
  afterEach(async () => {
    await Promise.all(forks.map(async (each) => await each.close()));
    await provider.send("evm_revert", [checkpoint]);
  });

  async function fork(vault: HardhatVault): Promise<ForkConnection> {
    const forked = await vault.fork();
    forks.push(forked);
    return forked;
  }

  async function revertWithWords(
    method: "queryVolume" | "settleAll",
  ): Promise<void> {
    const { vault } = protocol.mocks;
    const { selector } = vault.interface.getFunction(method);
    await mined(await vault.setRevert(selector, encodeRevertData(WORDS)));
  }

  const refuseWithStatus: RpcHandler = ({ response }) => {
    response.writeHead(403, { "content-type": "application/json" });
    response.end(JSON.stringify({ error: refusal }));
    return "handled";
  };

  const simulate = async (vault: HardhatVault): Promise<unknown> =>
    await vault.simulateSettleAll({ engine: "fork" });

  /** What fails or is refused, each with the words of the node or of a contract. */
  const cases: ReadonlyArray<
    readonly [title: string, (vault: HardhatVault) => Promise<unknown>]
  > = [
    [
      "fork(), if the node refuses the block",
      async (vault) => {
        server.handler = refuseIf(isHeader(true));
        return await fork(vault);
      },
    ],
    [
      "fork(), if the node refuses the header by which the block is checked",
      async (vault) => {
        server.handler = refuseIf(isHeader(false));
        return await fork(vault);
      },
    ],
    [
      "a read on a fork, if the node refuses state",
      async (vault) => {
        const forked = await fork(vault);
        server.handler = refuseIf(isStorage);
        return await forked.vault.getOrderInfo(77n);
      },
    ],
    [
      "a request of a fork's provider, if the node answers HTTP 403",
      async (vault) => {
        const forked = await fork(vault);
        server.handler = refuseWithStatus;
        const balance: unknown = await forked.provider.request({
          method: "eth_getBalance",
          params: [`0x${"ab".repeat(20)}`, "latest"],
        });
        return balance;
      },
    ],
    [
      "a read on a fork, if the contract reverts",
      async (vault) => {
        await revertWithWords("queryVolume");
        return await (await fork(vault)).vault.queryVolume();
      },
    ],
    [
      "settleAll() on a fork, if the contract reverts",
      async (vault) => {
        await revertWithWords("settleAll");
        return await (await fork(vault)).vault.settleAll();
      },
    ],
    [
      "simulateSettleAll() on a fork, if the node refuses the block",
      async (vault) => {
        server.handler = refuseIf(isHeader(true));
        return await simulate(vault);
      },
    ],
    [
      "simulateSettleAll() on a fork, if the node refuses state",
      async (vault) => {
        server.handler = refuseIf(isStorage);
        return await simulate(vault);
      },
    ],
    [
      "simulateSettleAll() on a fork, if the contract reverts",
      async (vault) => {
        await revertWithWords("settleAll");
        return await simulate(vault);
      },
    ],
    [
      "simulateSettleAll() on a fork, if the contract reverts there alone",
      async (vault) => {
        await revertWithWords("settleAll");
        server.handler = ({ request: { method, params } }) =>
          method === "eth_call" && JSON.stringify(params).includes(SETTLE_ALL)
            ? { result: "0x" }
            : undefined;
        return await simulate(vault);
      },
    ],
  ];

  for (const [title, work] of cases) {
    it(`${title}, shows the words without a secret of the URL`, async () => {
      const vault = { contracts: protocol.contracts };
      const url = configVariable("TEST_FORK_URL");
      const live = { ...httpNetwork("", { vault }), url };
      const hre = await createTestHre({ networks: { live } });
      const connection = await hre.network.create("live");
      const seen: unknown = await work(connection.vault).catch(
        (thrown: unknown) => thrown,
      );
      await connection.close();
      const shown = textsIn(seen);
      expect(shown).to.contain("denied for <hidden>").and.not.contain(SECRET);
    });
  }
});

/** All texts of a result or an error, without a provider's error as the cause: it stays as thrown. */
function textsIn(seen: unknown): string {
  if (!(seen instanceof Error)) {
    return JSON.stringify(seen, (_key, value: unknown) =>
      typeof value === "bigint" ? String(value) : value,
    );
  }
  const { message, stack, cause } = seen;
  const own = VaultError.isVaultError(seen)
    ? [seen.shortMessage, JSON.stringify(seen.details)]
    : [];
  const isOfNode = cause instanceof Error && "_isProviderError" in cause;
  const below = cause === undefined || isOfNode ? "" : textsIn(cause);
  return [message, stack, ...own, below].join("\n");
}

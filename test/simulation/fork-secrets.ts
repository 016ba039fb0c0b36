import { expect } from "chai";
import { configVariable } from "hardhat/config";

import { encodeRevertData } from "../../src/mocks/index.js";
import { VaultError } from "../../src/client/index.js";
import type { ForkConnection, HardhatVault } from "../../src/types.js";
import { createTestHre, httpNetwork } from "../helpers/hre.js";
import { startRpcServer } from "../helpers/rpc-server.js";
import type { RpcHandler, RpcServer } from "../helpers/rpc-server.js";
import { mined } from "../helpers/transactions.js";
import { useProtocol } from "../helpers/world.js";

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
  const chain = useProtocol();
  let server: RpcServer;
  let forks: ForkConnection[];

  before(async () => {
    server = await startRpcServer({ upstream: chain.url });
    process.env["TEST_FORK_URL"] = `${server.url}/v1/${SECRET}`;
  });
  after(async () => {
    delete process.env["TEST_FORK_URL"];
    await server.stop();
  });
  beforeEach(() => {
    server.handler = () => undefined;
    forks = [];
  });
  afterEach(async () => {
    await Promise.all(forks.map(async (each) => await each.close()));
  });

  const refuseWithStatus: RpcHandler = ({ response }) => {
    response.writeHead(403, { "content-type": "application/json" });
    response.end(JSON.stringify({ error: refusal }));
    return "handled";
  };
  const acceptsCall: RpcHandler = ({ request: { method, params } }) =>
    method === "eth_call" && JSON.stringify(params).includes(SETTLE_ALL)
      ? { result: "0x" }
      : undefined;
  const revertWithWords = async (
    method: "queryVolume" | "settleAll",
  ): Promise<void> => {
    const { vault } = chain.protocol.mocks;
    const { selector } = vault.interface.getFunction(method);
    await mined(await vault.setRevert(selector, encodeRevertData(WORDS)));
  };

  type Work = (vault: HardhatVault) => Promise<unknown>;
  /** Works on a fork, whose node answers otherwise once it is made. */
  const onFork =
    (
      work: (fork: ForkConnection) => Promise<unknown>,
      handler: RpcHandler = () => undefined,
    ): Work =>
    async (vault) => {
      const forked = await vault.fork();
      forks.push(forked);
      server.handler = handler;
      return await work(forked);
    };
  const fork: Work = async (vault) => await vault.fork();
  const simulate: Work = async (vault) =>
    await vault.simulateSettleAll({ engine: "fork" });
  const answering =
    (handler: RpcHandler, work: Work): Work =>
    async (vault) => {
      server.handler = handler;
      return await work(vault);
    };
  const reverting =
    (method: Parameters<typeof revertWithWords>[0], work: Work): Work =>
    async (vault) => {
      await revertWithWords(method);
      return await work(vault);
    };
  const balanceOf = {
    method: "eth_getBalance",
    params: [`0x${"ab".repeat(20)}`, "latest"],
  };

  /** What fails or is refused, each with the words of the node or of a contract. */
  const cases: Readonly<Record<string, Work>> = {
    "fork(), if the node refuses the block": answering(
      refuseIf(isHeader(true)),
      fork,
    ),
    "fork(), if the node refuses the header by which the block is checked":
      answering(refuseIf(isHeader(false)), fork),
    "a read on a fork, if the node refuses state": onFork(
      async ({ vault }) => await vault.getOrderInfo(77n),
      refuseIf(isStorage),
    ),
    "a request of a fork's provider, if the node answers HTTP 403": onFork(
      async ({ provider: ofFork }) => {
        const balance: unknown = await ofFork.request(balanceOf);
        return balance;
      },
      refuseWithStatus,
    ),
    "a read on a fork, if the contract reverts": reverting(
      "queryVolume",
      onFork(async ({ vault }) => await vault.queryVolume()),
    ),
    "simulateSettleAll() on a fork, if the node refuses state": answering(
      refuseIf(isStorage),
      simulate,
    ),
    "simulateSettleAll() on a fork, if the contract reverts": reverting(
      "settleAll",
      simulate,
    ),
    "simulateSettleAll() on a fork, if the contract reverts there alone":
      reverting("settleAll", answering(acceptsCall, simulate)),
  };

  for (const [title, work] of Object.entries(cases)) {
    it(`${title}, shows the words without a secret of the URL`, async () => {
      const vault = { contracts: chain.protocol.contracts };
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

import { expect } from "chai";
import { configVariable } from "hardhat/config";

import { VaultError } from "../../src/client/index.js";
import type { ForkConnection, HardhatVault } from "../../src/types.js";
import { createTestHre, httpNetwork } from "../helpers/hre.js";
import { startRpcServer } from "../helpers/rpc-server.js";
import type { RpcHandler, RpcServer } from "../helpers/rpc-server.js";
import { useMocks } from "../helpers/world.js";

/** Too short to be taken for a key by its form. */
const SECRET = "5ecret-part";
const WORDS = `denied for ${SECRET}`;

const error = { code: -32_000, message: WORDS };

const nothing: RpcHandler = () => undefined;
const refuseBlock: RpcHandler = ({ request: { method, params } }) =>
  method === "eth_getBlockByNumber" && params[1] === true
    ? { error }
    : undefined;
const refuseStorage: RpcHandler = ({ request: { method } }) =>
  method === "eth_getStorageAt" ? { error } : undefined;
const refuseWithStatus: RpcHandler = ({ response }) => {
  response.writeHead(403, { "content-type": "application/json" });
  response.end(JSON.stringify({ error }));
  return "handled";
};
const acceptCall: RpcHandler = ({ request: { method, params } }) =>
  method === "eth_call" && JSON.stringify(params).includes("0xa015aefe")
    ? { result: "0x" }
    : undefined;

const readOrder = async ({ vault }: ForkConnection): Promise<unknown> =>
  await vault.getOrderInfo(77n);
const readVolume = async ({ vault }: ForkConnection): Promise<unknown> =>
  await vault.queryVolume();
const requestBalance = async ({
  provider,
}: ForkConnection): Promise<unknown> => {
  const params = [`0x${"ab".repeat(20)}`, "latest"];
  return await provider.request({ method: "eth_getBalance", params });
};

describe("secrets of a fork's node", () => {
  const chain = useMocks();
  let server: RpcServer;

  before(async () => {
    server = await startRpcServer({ upstream: chain.url });
    process.env["TEST_FORK_URL"] = `${server.url}/v1/${SECRET}`;
  });
  after(async () => {
    delete process.env["TEST_FORK_URL"];
    await server.stop();
  });

  const connect = async (): Promise<HardhatVault> => {
    const vault = { contracts: chain.mocks.addresses };
    const url = configVariable("TEST_FORK_URL");
    const live = { ...httpNetwork("", { vault }), url };
    const hre = await createTestHre({ networks: { live } });
    return (await hre.network.create("live")).vault;
  };
  const expectHidden = (seen: unknown): void => {
    expect(textsIn(seen))
      .to.contain("denied for <hidden>")
      .and.not.contain(SECRET);
  };

  for (const [title, work, handler, reverting] of [
    ["a read, if the node refuses state", readOrder, refuseStorage, undefined],
    ["a read, if the contract reverts", readVolume, nothing, "queryVolume"],
    [
      "a request, if the node answers HTTP 403",
      ...([requestBalance, refuseWithStatus, undefined] as const),
    ],
  ] as const) {
    it(`${title}, shows the words on a fork without a secret of the URL`, async () => {
      server.handler = nothing;
      if (reverting !== undefined) {
        await chain.mocks.fail(reverting, WORDS);
      }
      const fork = await (await connect()).fork();
      server.handler = handler;
      expectHidden(await work(fork).catch((thrown: unknown) => thrown));
      await fork.close();
    });
  }

  const fork = async (vault: HardhatVault): Promise<unknown> =>
    await vault.fork();
  const simulate = async (vault: HardhatVault): Promise<unknown> =>
    await vault.simulateSettleAll({ engine: "fork" });
  for (const [title, work, handler, isReverting] of [
    ["fork(), if the node refuses the block", fork, refuseBlock, false],
    [
      "simulateSettleAll(), if the node refuses state",
      ...([simulate, refuseStorage, false] as const),
    ],
    ["simulateSettleAll(), if the vault reverts", simulate, nothing, true],
    [
      "simulateSettleAll(), if the vault reverts on the fork alone",
      ...([simulate, acceptCall, true] as const),
    ],
  ] as const) {
    it(`${title}, shows the words without a secret of the URL`, async () => {
      if (isReverting) {
        await chain.mocks.fail("settleAll", WORDS);
      }
      server.handler = handler;
      const vault = await connect();
      expectHidden(await work(vault).catch((thrown: unknown) => thrown));
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

import { expect } from "chai";
import type { HardhatRuntimeEnvironment } from "hardhat/types/hre";
import type { NetworkConnection } from "hardhat/types/network";

import type { MockVaultHandle } from "../../src/types.js";
import { useAnvil } from "../helpers/anvil.js";
import { connectTo, createTestHre, httpNetwork } from "../helpers/hre.js";
import { startRpcServer } from "../helpers/rpc-server.js";
import type { RpcServer } from "../helpers/rpc-server.js";
import { parseDocument, runTyped } from "../helpers/run-vault-task.js";

describe("our own words beside secrets", () => {
  const anvil = useAnvil();
  let server: RpcServer;
  let direct: NetworkConnection;
  let mocks: MockVaultHandle;

  before(async () => {
    direct = await connectTo(anvil.url);
    server = await startRpcServer({ upstream: anvil.url });
  });
  after(async () => {
    await server.stop();
    await direct.close();
  });
  beforeEach(() => {
    server.handler = () => undefined;
  });

  /** @param place What follows the host in the URL. */
  const hreAt = async (
    place: string,
    user = "",
    header?: string,
  ): Promise<HardhatRuntimeEnvironment> => {
    mocks = await direct.vault.deployMocks({ scenario: "expired-round" });
    return await createTestHre(
      {
        networks: {
          live: httpNetwork(server.url.replace("//", `//${user}`) + place, {
            vault: { contracts: mocks.addresses },
            ...(header === undefined
              ? {}
              : { httpHeaders: { authorization: header } }),
          }),
        },
      },
      { network: "live" },
    );
  };

  it("a task advises `npx hardhat vault settle` if the URL's user is vault", async () => {
    const hre = await hreAt("", "vault:settle@");
    const { stdout } = await runTyped(hre, "settle --resume");
    expect(stdout.replaceAll(/\s+/gu, " ")).to.contain(
      "npx hardhat vault settle",
    );
  });

  it("simulate --json prints the status settled if the URL ends with it", async () => {
    const hre = await hreAt("/api/settled");
    const document = parseDocument(await runTyped(hre, "simulate --json"));
    expect(document).to.have.nested.property("simulation.status", "settled");
  });

  it("watch --json names a reading that changed if the URL is …/bsc/public", async () => {
    const hre = await hreAt("/bsc/public");
    let changing: Promise<unknown> | undefined;
    server.handler = async ({ request, occurrence }) => {
      if (request.method === "eth_call" && occurrence > 1) {
        changing ??= mocks
          .set({ pools: { public: { locked: 5n } } })
          .then(async () => await mocks.vault.settleAll());
        await changing;
      }
      return undefined;
    };
    const { stdout } = await runTyped(
      hre,
      "watch --json --until settled --interval 1",
    );
    const last: unknown = JSON.parse(stdout.trim().split("\n").at(-1) ?? "");
    expect(last)
      .to.have.property("changed")
      .that.includes("pools.public.locked");
    expect(stdout).to.not.contain("<hidden>");
  });

  it("an error names the network and the method if the URL has their names", async () => {
    const hre = await hreAt("/eth_getBlockByNumber/Network");
    server.handler = ({ request: { method } }) =>
      method === "eth_getBlockByNumber"
        ? { error: { code: -32000, message: `${method} is no project` } }
        : undefined;
    const { stderr } = await runTyped(hre, "volume");
    expect(stderr.replaceAll(/\s+/gu, " ")).to.contain(
      "Network live refused eth_getBlockByNumber: <hidden> is no project",
    );
  });

  for (const [title, user, header] of [
    ["the URL", "some-user:some-password@", undefined],
    [
      "a header",
      "",
      `Basic ${Buffer.from("some-user:some-password").toString("base64")}`,
    ],
  ] as const) {
    it(`a task hides user and password of ${title} that a node repeats decoded`, async () => {
      const hre = await hreAt("", user, header);
      const { authorization } = server.httpRequests.at(-1)?.headers ?? {};
      server.handler = () => ({
        error: {
          code: -32000,
          message: `no account <some-user:some-password>, <${authorization}>`,
        },
      });
      const { stderr } = await runTyped(hre, "volume");
      expect(stderr).to.contain("no account <<hidden>>");
    });
  }

  it("a task shows a word of another network's URL that its own node says", async () => {
    const hre = await hreAt("/second-secret");
    await hreAt("/first-secret");
    server.handler = () => ({
      error: { code: -32000, message: "no first-secret, no second-secret" },
    });
    const { stderr } = await runTyped(hre, "volume");
    expect(stderr).to.contain("no first-secret, no <hidden>");
  });
});

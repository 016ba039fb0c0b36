import { mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";

import { expect } from "chai";
import type { HardhatRuntimeEnvironment } from "hardhat/types/hre";

import type { ForkOptions, HardhatVault } from "../../src/types.js";
import { useAnvil } from "../helpers/anvil.js";
import { expectVaultError } from "../helpers/assertions.js";
import { fieldsOf } from "../helpers/fields.js";
import { createTestHre, httpNetwork } from "../helpers/hre.js";
import type { NetworkSettings } from "../helpers/hre.js";
import { startRpcServer } from "../helpers/rpc-server.js";
import type { RpcServer } from "../helpers/rpc-server.js";
import {
  SETTLED_PRICE,
  deployProtocol,
  directProvider,
} from "../helpers/world.js";
import type { MockProtocol } from "../helpers/world.js";

/** Any chain id that no table of hardforks knows. */
const CHAIN_ID = 987_655;
const FROM = "0x00000000000000000000000000000000000000bb";
const OTHER = "0x00000000000000000000000000000000000000AA";

describe("a fork from its making to its end", () => {
  const anvil = useAnvil("--chain-id", String(CHAIN_ID));
  let provider: ReturnType<typeof directProvider>;
  let protocol: MockProtocol;
  let node: RpcServer;
  let root: string;

  before(async () => {
    provider = directProvider(anvil.url);
    protocol = await deployProtocol(await provider.getSigner(0));
  });
  after(() => {
    provider.destroy();
  });
  beforeEach(async () => {
    node = await startRpcServer({ upstream: anvil.url });
    // Only a development node has these methods, and is not shared by forks.
    node.answer = ({ method }) =>
      ["hardhat_metadata", "anvil_nodeInfo"].includes(method)
        ? { error: { code: -32_601, message: "Method not found" } }
        : undefined;
    root = await mkdtemp(path.join(tmpdir(), "vault-fork-"));
    await writeFile(path.join(root, "package.json"), "{}");
  });
  afterEach(async () => {
    await node.stop();
    await rm(root, { recursive: true });
  });

  async function open(
    settings: NetworkSettings = {},
  ): Promise<{ hre: HardhatRuntimeEnvironment; vault: HardhatVault }> {
    const live = httpNetwork(node.url, {
      vault: { contracts: protocol.contracts },
      ...settings,
    });
    const hre = await createTestHre(
      { networks: { live } },
      { network: "live", projectRoot: root },
    );
    return { hre, vault: (await hre.network.create()).vault };
  }

  /** Values of storage that the node is asked for meanwhile. */
  const statesOf = async (work: () => Promise<unknown>): Promise<number> => {
    node.clear();
    await work();
    return node.bodies.flat().filter(({ method }) => /Storage/u.test(method))
      .length;
  };

  const settle = async (
    vault: HardhatVault,
    options?: ForkOptions,
  ): Promise<void> => {
    const fork = await vault.fork(options);
    await fork.vault.settleAll();
    const { settledPrice } = await fork.vault.getLatestRoundInfo();
    expect(settledPrice).to.equal(SETTLED_PRICE);
    await fork.close();
  };

  it("a simulation closes its fork, so that the next one reads the newest block anew", async () => {
    const { vault } = await open();
    const simulate = async (): Promise<unknown> =>
      await vault.simulateSettleAll({ engine: "fork" });
    expect(await statesOf(simulate)).to.be.greaterThan(20);
    expect(await statesOf(simulate)).to.be.greaterThan(20);
  });

  it("a fork that cannot be made leaves nothing in use", async () => {
    const { vault } = await open();
    await expectVaultError(
      vault.fork({ hardfork: "tomorrow" }),
      "VAULT_INVALID_ENUM",
    );
    for (let time = 0; time < 2; time += 1) {
      const asked = await statesOf(async () => {
        await settle(vault);
      });
      expect(asked).to.be.greaterThan(20);
    }
  });

  it("simulateSettleAll keeps the state of a past block on disk, not that of the newest, and the next process asks for none", async () => {
    const number = await provider.getBlockNumber();
    await provider.send("anvil_mine", []);
    const folder = path.join(root, "cache", "vault-forks");
    const simulate = async (blockNumber: number): Promise<void> => {
      const { vault } = await open();
      const { status } = await vault.simulateSettleAll({
        ...{ engine: "fork", blockNumber },
      });
      expect(status).to.equal("settled");
    };
    await simulate(number);
    expect(await readdir(folder)).to.have.length(1);
    expect(
      await statesOf(async () => {
        await simulate(number);
      }),
    ).to.equal(0);
    await simulate(number + 1);
    expect(await readdir(folder)).to.have.length(1);
  });

  /** Lets the node never answer what only a fork asks. */
  const holdFork = (onHeld: () => void = () => undefined): void => {
    node.handler = async ({ request }) => {
      if (request.method === "net_version") {
        onHeld();
        await new Promise(() => undefined);
      }
      return undefined;
    };
  };

  it("simulateSettleAll ends when its signal is aborted while its fork waits for the node", async () => {
    const { vault } = await open({ timeout: 1_000 });
    const controller = new AbortController();
    holdFork(() => {
      controller.abort(new Error("enough"));
    });
    const { signal } = controller;
    const error: unknown = await vault
      .simulateSettleAll({ engine: "fork", signal })
      .catch((thrown: unknown) => thrown);
    expect(error).to.equal(signal.reason);
  });

  it("vault.fork() throws VAULT_RPC_TIMEOUT if the node does not answer in the network's timeout", async () => {
    const { vault } = await open({ timeout: 300 });
    holdFork();
    await expectVaultError(vault.fork(), "VAULT_RPC_TIMEOUT");
  });

  it("vault.fork() throws VAULT_NETWORK_UNREACHABLE if the node closes the connection while the fork is made, and a read of a fork says the same", async () => {
    const { vault } = await open();
    const fork = await vault.fork();
    node.handler = ({ request, response }) => {
      if (request.method !== "eth_getTransactionCount") {
        return undefined;
      }
      response.destroy();
      return "handled";
    };
    const error: unknown = await fork.provider
      .request({ method: "eth_getTransactionCount", params: [FROM, "latest"] })
      .catch((thrown: unknown) => thrown);
    expect(String(error)).to.contain("Network live cannot be reached");
    await fork.close();
    await expectVaultError(vault.fork(), "VAULT_NETWORK_UNREACHABLE");
  });

  it("a fork that nobody closes does not keep the process running", async () => {
    const { vault } = await open();
    const servers = (): number =>
      process
        .getActiveResourcesInfo()
        .filter((name) => name === "TCPServerWrap").length;
    const before = servers();
    const fork = await vault.fork();
    expect(servers()).to.equal(before);
    await fork.close();
  });

  it("a fork that is closed twice leaves another of its block in use", async () => {
    const { vault } = await open();
    const [one, other] = [await vault.fork(), await vault.fork()];
    await one.close();
    await one.close();
    // Nothing has read it before.
    const asked = { method: "eth_getBalance", params: [FROM, "latest"] };
    expect(await other.provider.request(asked)).to.equal("0x0");
    await other.close();
  });

  it("two forks at once are made one after the other, and leave Hardhat's description of the chain as it was", async () => {
    const { hre, vault } = await open();
    const create = hre.network.create.bind(hre.network);
    const described: boolean[] = [];
    let making = 0;
    let most = 0;
    hre.network.create = async (...asked) => {
      making += 1;
      most = Math.max(most, making);
      try {
        return await create(...asked);
      } finally {
        described.push(hre.config.chainDescriptors.has(BigInt(CHAIN_ID)));
        making -= 1;
      }
    };
    const [one, other] = await Promise.all([vault.fork(), vault.fork()]);
    expect({ most, described }).to.deep.equal({
      ...{ most: 1, described: [true, true] },
    });
    expect(hre.config.chainDescriptors.has(BigInt(CHAIN_ID))).to.equal(false);
    for (const fork of [one, other]) {
      expect((await fork.vault.getLatestRoundInfo()).settled).to.equal(false);
      await fork.close();
    }
  });

  it("vault.fork() forks an OP chain by the newest hardfork of such chains", async () => {
    const { vault } = await open({ chainType: "op" });
    const fork = await vault.fork();
    expect(fork.chainType).to.equal("op");
    expect((await fork.vault.getLatestRoundInfo()).settled).to.equal(false);
    await fork.close();
  });

  it("vault.fork() warms for a call as the account that it names, else as the sender of reads, and for the settlement as the network's from", async () => {
    const { vault } = await open({ from: FROM });
    const call = { to: protocol.contracts.vault, data: "0x12345678" };
    const fork = await vault.fork({ warm: [call, { ...call, from: OTHER }] });
    await fork.vault.snapshot();
    await fork.close();
    const senders = (data: string): ReadonlyArray<string | undefined> =>
      node.bodies
        .flat()
        .filter(({ method }) => method === "eth_createAccessList")
        .map(({ params }) => fieldsOf(params[0]))
        .filter((asked) => asked["data"] === data)
        .map(({ from }) => String(from));
    expect(senders(call.data)).to.deep.equal([
      vault.readContext({}).from,
      OTHER,
    ]);
    expect(
      senders("0xa015aefe").map((from) => from?.toLowerCase()),
    ).to.deep.equal([FROM]);
  });

  it("a simulation on a fork asks for the accounts of Hardhat's coinbase, of the sender of reads and of ArbSys together with the others, and once", async () => {
    const { vault } = await open();
    await vault.simulateSettleAll({ engine: "fork" });
    for (const address of [
      `0x${"c014ba5e".repeat(5)}`,
      `0x${"0".repeat(40)}`,
      `0x${"64".padStart(40, "0")}`,
    ]) {
      const asked = node.bodies.filter((calls) =>
        calls.some(
          ({ method, params }) =>
            method === "eth_getTransactionCount" && params[0] === address,
        ),
      );
      expect(asked, address).to.have.length(1);
      expect(asked[0]?.length, address).to.be.greaterThan(15);
    }
  });

  it("the fork of a network with a guard has it, and none for an instance that has none", async () => {
    const { vault } = await open({
      vault: {
        contracts: protocol.contracts,
        guard: OTHER,
        instances: { dai: { guard: false }, eth: {} },
      },
    });
    const fork = await vault.fork();
    const guardOf = async (each: HardhatVault): Promise<unknown> =>
      (await each.guardAddress())?.address;
    for (const name of ["dai", "eth"]) {
      expect(await guardOf(fork.vault.instance(name)), name).to.equal(
        await guardOf(vault.instance(name)),
      );
    }
    expect(await guardOf(fork.vault)).to.equal(OTHER);
    expect(await guardOf(fork.vault.instance("dai"))).to.equal(undefined);
    await fork.close();
  });

  describe("the proxy of the environment", () => {
    const names = [
      ...["HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"],
      ...["NO_PROXY", "no_proxy"],
    ];
    let saved: ReadonlyArray<readonly [string, string | undefined]>;
    beforeEach(() => {
      saved = names.map((name) => [name, process.env[name]]);
      names.forEach(unset);
    });
    afterEach(() => {
      for (const [name, value] of saved) {
        unset(name);
        if (value !== undefined) {
          process.env[name] = value;
        }
      }
    });
    const proxy = "http://127.0.0.1:1";
    for (const [set, seen] of [
      [{}, undefined],
      [{ HTTP_PROXY: "" }, undefined],
      [{ HTTP_PROXY: proxy }, "127.0.0.1"],
      [{ http_proxy: proxy, NO_PROXY: "a.org" }, "a.org,127.0.0.1"],
      [{ ALL_PROXY: proxy, no_proxy: "b.org" }, "b.org,127.0.0.1"],
      [
        { all_proxy: proxy, NO_PROXY: "a.org", no_proxy: "b.org" },
        "a.org,127.0.0.1",
      ],
    ] as const) {
      it(`vault.fork() is made with NO_PROXY ${String(seen)} if the environment has ${JSON.stringify(set)}, and leaves that`, async () => {
        const { hre, vault } = await open();
        const create = hre.network.create.bind(hre.network);
        let made: string | undefined = "nothing";
        hre.network.create = async (...asked) => {
          made = process.env["NO_PROXY"];
          return await create(...asked);
        };
        Object.assign(process.env, set);
        const fork = await vault.fork();
        expect(made).to.equal(seen);
        expect(
          Object.fromEntries(
            names.flatMap((name) =>
              process.env[name] === undefined
                ? []
                : [[name, process.env[name]]],
            ),
          ),
        ).to.deep.equal(set);
        await fork.close();
      });
    }
  });
});

function unset(name: string): void {
  // eslint-disable-next-line @typescript-eslint/no-dynamic-delete -- a variable of the environment
  delete process.env[name];
}

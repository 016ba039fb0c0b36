import { inspect } from "node:util";

import { expect } from "chai";

import { operationNames } from "../../src/protocol/index.js";

import {
  documentedHandler,
  documentedContracts,
} from "../helpers/documented-node.js";
import { connectTo, createTestHre, hreOnLive } from "../helpers/hre.js";
import { startRpcServer } from "../helpers/rpc-server.js";
import type { RpcServer } from "../helpers/rpc-server.js";

describe("hre.vault", () => {
  let server: RpcServer;
  before(async () => {
    server = await startRpcServer({ handler: documentedHandler });
  });
  after(async () => {
    await server.stop();
  });
  beforeEach(() => {
    server.requests.length = 0;
  });

  it("hre.vault opens one connection for calls at the same time", async () => {
    const hre = await createTestHre();
    const [mocks, byName, addresses] = await Promise.all([
      hre.vault.deployMocks(),
      hre.vault.connect("default"),
      hre.vault.at({ vault: documentedContracts.vault }).addressOf("vault"),
    ]);
    const { vault } = await hre.network.getOrCreate();
    expect(byName).to.equal(vault);
    expect(mocks.vault.connection).to.equal(vault.connection);
    expect(addresses.address).to.equal(documentedContracts.vault);
  });

  it("hre.vault uses the network of --network, and connect() another one by its name, an open connection, or its own", async () => {
    const hre = await hreOnLive(server.url);
    expect(await hre.vault.chainId()).to.equal(1);
    expect(server.requests.map(({ method }) => method)).to.deep.equal([
      "eth_chainId",
    ]);
    const { vault } = await hre.network.getOrCreate();
    expect(await hre.vault.connect()).to.equal(vault);
    const other = await hre.network.create("default");
    expect(await hre.vault.connect(other)).to.equal(other.vault);
    const byName = await hre.vault.connect("default");
    expect(await byName.chainId()).to.equal(31_337);
    await other.close();
  });

  it("connection.vault and hre.vault are printed on one line, without their networks' settings", async () => {
    const { vault } = await connectTo(server.url, {
      vault: { instances: { usdc: {} } },
    });
    const lazy = (await createTestHre()).vault.instance("usdc");
    expect([vault, lazy].map((one) => inspect(one))).to.deep.equal([
      "HardhatVault { networkName: 'live' }",
      "HardhatVault (not yet connected)",
    ]);
  });

  it("hre.vault throws why its connection does not open, and opens it at the next call", async () => {
    const hre = await createTestHre();
    let fails = true;
    Object.assign(hre.network, {
      getOrCreate: () => {
        if (fails) {
          throw new Error("closed");
        }
        return { vault: { chainId: () => 5 } };
      },
    });
    let ended = 0;
    const { contracts, addresses } = hre.vault;
    const waits = [
      (async () => await contracts)(),
      addresses.finally(() => (ended += 1)),
    ].map(async (wait) => await wait.catch(String));
    expect(await Promise.all(waits)).to.deep.equal(
      Array(2).fill("Error: closed"),
    );
    expect(ended).to.equal(1);
    fails = false;
    expect(await hre.vault.chainId()).to.equal(5);
  });

  it("hre.vault passes every argument of a method to connection.vault, and returns its result", async () => {
    const hre = await createTestHre();
    const echo = new Proxy(
      {},
      {
        // An object with then() would be taken for a promise.
        get: (_, method) =>
          method === "then"
            ? undefined
            : (...args: readonly unknown[]) => [method, ...args],
      },
    );
    Object.assign(hre.network, { getOrCreate: () => ({ vault: echo }) });
    const called: string[] = [];
    for (const [name, method] of Object.entries<unknown>({ ...hre.vault })) {
      // Those of the lazy vault itself return no result of the connection's.
      if (
        typeof method === "function" &&
        !["at", "instance", "connect"].includes(name)
      ) {
        const result: unknown = Reflect.apply(method, undefined, [1, 2, 3]);
        const values =
          name === "orders" || name === "rounds"
            ? // these two return generators
              await Array.fromAsync(result as AsyncIterable<unknown>)
            : await result;
        expect(values).to.deep.equal([name, 1, 2, 3]);
        called.push(name);
      }
    }
    expect(called)
      .to.include.members([...operationNames, "snapshot", "orders", "rounds"])
      .and.have.lengthOf(operationNames.length + 10);
  });
});

import { expect } from "chai";
import { configVariable } from "hardhat/config";

import type { HardhatVault } from "../../src/types.js";
import { useAnvil } from "../helpers/anvil.js";
import { expectVaultError } from "../helpers/assertions.js";
import { fieldsOf, listOf } from "../helpers/fields.js";
import { connectTo, hreOnLive } from "../helpers/hre.js";
import { startRpcServer } from "../helpers/rpc-server.js";
import type { RpcServer } from "../helpers/rpc-server.js";
import { runTyped } from "../helpers/run-vault-task.js";
import { isFull } from "../helpers/sample.js";
import { deploySettlingVault } from "../helpers/settling-vaults.js";
import {
  SETTLEMENT_CHANGES,
  deployProtocol,
  directProvider,
} from "../helpers/world.js";
import type { MockProtocol } from "../helpers/world.js";

/** As a node that has no such method answers. */
const lacks =
  (...names: readonly string[]): RpcServer["answer"] =>
  ({ method }) =>
    names.includes(method)
      ? { error: { code: -32_601, message: "Method not found" } }
      : undefined;

/** Refuses a plain call of the settlement, which Hardhat's simulator accepts. */
const refusesSettlement: RpcServer["answer"] = (call) =>
  call.method === "eth_call" &&
  fieldsOf(call.params[0])["data"] === "0xa015aefe"
    ? { error: { code: 3, message: "execution reverted", data: "0x" } }
    : lacks("eth_simulateV1")(call, null);

/** A fork that reads storage only when it is needed asks for several slots of each. */
const HOLDERS = isFull ? 40 : 10;

const TRACE = "debug_traceCall";
const LIST = "eth_createAccessList";

describe("a fork on a node that answers otherwise than in one batch", () => {
  const anvil = useAnvil();
  let provider: ReturnType<typeof directProvider>;
  let protocol: MockProtocol;
  let node: RpcServer;

  before(async () => {
    provider = directProvider(anvil.url);
    protocol = await deployProtocol(await provider.getSigner(0));
  });
  after(() => {
    provider.destroy();
  });
  beforeEach(async () => {
    node = await startRpcServer({
      ...{ upstream: anvil.url, latencyMs: 20, isInStep: true },
    });
  });
  afterEach(async () => {
    await node.stop();
  });

  async function open(): Promise<HardhatVault> {
    const vault = { contracts: protocol.contracts };
    return (await connectTo(node.url, { vault })).vault;
  }

  const expectTruth = async (): Promise<void> => {
    const { engine, status, changes } = await (
      await open()
    ).simulateSettleAll({
      engine: "fork",
    });
    expect([engine, status]).to.deep.equal(["fork", "settled"]);
    expect(changes).to.deep.equal(SETTLEMENT_CHANGES);
  };

  /** HTTP requests of one method, alone or in batches. */
  const requestsFor = (name: string): number =>
    node.bodies.filter((calls) => calls.some(({ method }) => method === name))
      .length;

  const wavesFor = (name: string): number =>
    new Set(
      node.httpRequests
        .filter(({ calls }) => calls.some(({ method }) => method === name))
        .map(({ wave }) => wave),
    ).size;

  const tooLarge = { code: -32_600, message: "batch too large" };

  for (const [title, batch] of [
    ["in another order", (answers) => [...answers].reverse()],
    [
      "without every third answer",
      (answers) => answers.filter((_, i) => i % 3 > 0),
    ],
    [
      "with ids as text",
      (answers) =>
        answers.map((one) => ({
          ...fieldsOf(one),
          id: String(fieldsOf(one)["id"]),
        })),
    ],
    [
      "only up to ten calls, else with HTTP status 413",
      (answers) => (answers.length > 10 ? 413 : answers),
    ],
    [
      "only up to ten calls, else with one error",
      (answers) =>
        answers.length > 10
          ? [{ jsonrpc: "2.0", id: 0, error: tooLarge }]
          : answers,
    ],
    ["never, but with HTTP status 400", () => 400],
    [
      "never, but with an error",
      () => ({ jsonrpc: "2.0", id: null, error: tooLarge }),
    ],
    ["never, but with null", () => null],
  ] satisfies ReadonlyArray<readonly [string, RpcServer["batch"]]>) {
    // The answers that are lost, cut or refused differ most.
    if (!isFull && !/third|one error|status 400/u.test(title)) {
      continue;
    }
    it(`a fork is right, and reads storage beforehand, if the node answers batches ${title}`, async () => {
      node.batch = batch;
      await expectTruth();
      expect(wavesFor("eth_getStorageAt")).to.be.within(1, 10);
    });
  }

  for (const [title, batch, most] of [
    ["answers each batch with HTTP status 429", () => 429, 6],
    ["answers each batch with HTTP status 503", () => 503, 30],
    ["closes the connection on each batch", () => "cut", 30],
    ["answers each batch with text that is no JSON", () => "text", 30],
  ] satisfies ReadonlyArray<readonly [string, RpcServer["batch"], number]>) {
    it(`a fork is right if the node ${title}, and few batches are sent`, async () => {
      node.batch = batch;
      await expectTruth();
      expect(
        node.bodies.filter((calls) => calls.length > 1),
      ).to.have.length.within(1, most);
    });
  }

  it("a fork is right if every second answer in a batch is an error", async () => {
    node.batch = (answers) =>
      answers.map((answer, index) => {
        const { id } = fieldsOf(answer);
        const error = { code: -32_000, message: "out of luck" };
        return index % 2 === 0 ? answer : { jsonrpc: "2.0", id, error };
      });
    await expectTruth();
  });

  it("a fork reads storage beforehand by prestateTracer if the node lacks access lists", async () => {
    node.answer = (call, real) =>
      call.method === TRACE ? { result: real } : lacks(LIST)(call, real);
    await expectTruth();
    expect(requestsFor(TRACE)).to.equal(1);
    // The simulator may ask for the first slots while the node still traces.
    expect(wavesFor("eth_getStorageAt")).to.be.within(1, 3);
  });

  it("a fork reads storage when it is needed if the node has neither access lists nor traces", async () => {
    node.answer = lacks(LIST, TRACE);
    await expectTruth();
    expect(wavesFor("eth_getStorageAt")).to.be.greaterThan(10);
  });

  it("a fork reads storage when it is needed if access lists and traces have another form", async () => {
    node.answer = ({ method }) =>
      [LIST, TRACE].includes(method)
        ? {
            result: {
              accessList: "0x",
              "0x1": [7],
              [protocol.contracts.vault]: null,
            },
          }
        : undefined;
    await expectTruth();
    expect(wavesFor("eth_getStorageAt")).to.be.greaterThan(10);
  });

  it("fork() works without warming if an address cannot be read", async () => {
    const trading = configVariable("TEST_UNSET_TRADING");
    const contracts = { ...protocol.contracts, trading };
    const { vault } = await connectTo(node.url, { vault: { contracts } });
    const fork = await vault.fork();
    try {
      expect((await fork.vault.getLatestRoundInfo()).settled).to.equal(false);
      expect(requestsFor(LIST)).to.equal(0);
    } finally {
      await fork.close();
    }
  });

  it("a fork takes the access list of a call that reverts", async () => {
    node.answer = ({ method }, real) => {
      const { accessList } = fieldsOf(real);
      return method === LIST
        ? {
            result: {
              accessList: listOf(accessList),
              error: "execution reverted",
            },
          }
        : undefined;
    };
    await expectTruth();
    expect(requestsFor(TRACE)).to.equal(0);
  });

  it("a fork whose verdict a plain call contradicts is no engine: VAULT_ENGINE_UNAVAILABLE, and settle asks with a preview that is null", async () => {
    node.answer = refusesSettlement;
    const vault = await open();
    const { message } = await expectVaultError(
      vault.simulateSettleAll(),
      "VAULT_ENGINE_UNAVAILABLE",
    );
    expect(message).to.match(
      /engine simulateV1 or fork on network live: simulateV1: the node refuses eth_simulateV1: .*; fork: in block \d+ the node refuses it .* and Hardhat's simulator accepts the call/u,
    );
    const { status, preview } = await vault.settleAll();
    expect([status, preview]).to.deep.equal(["reverted", null]);
  });

  it("vault settle says that the settlement was only called, and its JSON that there is no preview, if no engine is left", async () => {
    node.answer = refusesSettlement;
    const vault = { contracts: protocol.contracts };
    const hre = await hreOnLive(node.url, { vault });
    const { stderr } = await runTyped(hre, "settle --yes");
    expect(stderr).to.contain("by a call, which shows no effect");
    const { stdout } = await runTyped(hre, "settle --yes --json");
    expect(
      fieldsOf(fieldsOf(JSON.parse(stdout))["settlement"])["preview"],
    ).to.equal(null);
  });

  it(`forks at the same time, warm, cold, and of a node whose batches are in disorder, predict what simulateV1 does for a vault that pays ${HOLDERS} holders`, async () => {
    const { contracts, token } = await deploySettlingVault(
      await provider.getSigner(0),
      "PayingVault",
      { orders: HOLDERS },
    );
    const { vault } = await connectTo(node.url, { vault: { contracts } });
    const asked = { orders: [1, HOLDERS], tokens: [await token.getAddress()] };
    const simulate = async (engine: "fork" | "simulateV1") => {
      const { changes, balances, transfers, gasUsed } =
        await vault.simulateSettleAll({ ...asked, engine });
      // Of what the gas costs, each engine knows the price of its own block.
      const [, ...others] = balances;
      return { changes, transfers, gasUsed, others };
    };
    const expected = await simulate("simulateV1");
    expect(expected.transfers).to.have.length(HOLDERS);
    expect(
      await Promise.all([simulate("fork"), simulate("fork")]),
    ).to.deep.equal([expected, expected]);
    node.batch = (answers) =>
      answers.toReversed().flatMap((answer, index) => {
        const { id } = fieldsOf(answer);
        const error = { code: -32_000, message: "out of luck" };
        return index % 5 === 0
          ? []
          : [index % 5 === 1 ? { jsonrpc: "2.0", id, error } : answer];
      });
    expect(await simulate("fork")).to.deep.equal(expected);
    node.answer = lacks(LIST, TRACE);
    expect(await simulate("fork")).to.deep.equal(expected);
  });

  it("a fork works behind a proxy of the environment, which does not get the requests for this machine", async () => {
    const proxy = await startRpcServer({
      handler: () => ({ error: { code: -1, message: "by the proxy" } }),
    });
    const { HTTP_PROXY, NO_PROXY } = process.env;
    process.env["HTTP_PROXY"] = proxy.url;
    process.env["NO_PROXY"] = "example.org";
    try {
      await expectTruth();
      expect(process.env["NO_PROXY"]).to.equal("example.org");
      expect(proxy.httpRequests).to.deep.equal([]);
    } finally {
      restore("HTTP_PROXY", HTTP_PROXY);
      restore("NO_PROXY", NO_PROXY);
      await proxy.stop();
    }
  });
});

function restore(name: string, value: string | undefined): void {
  if (value === undefined) {
    // eslint-disable-next-line @typescript-eslint/no-dynamic-delete -- a variable of the environment
    delete process.env[name];
  } else {
    process.env[name] = value;
  }
}

import { expect } from "chai";

import type { HardhatVault } from "../../src/plugin/hardhat-vault.js";
import type { Settlement } from "../../src/types.js";
import { startAnvil } from "../helpers/anvil.js";
import type { ServerProcess } from "../helpers/child-process.js";
import { keysOf, startFaultyRpcServer } from "../helpers/faulty-rpc-server.js";
import type {
  FaultyRpcServer,
  RequestKey,
} from "../helpers/faulty-rpc-server.js";
import { fieldsOf } from "../helpers/fields.js";
import { useFixtureProject } from "../helpers/fixture-project.js";
import type { FixtureProject } from "../helpers/fixture-project.js";
import { deployTestGuard } from "../helpers/guard.js";
import { hreOnLive } from "../helpers/hre.js";
import { SENDS } from "../helpers/keeper.js";
import { openChain, devKey } from "../helpers/world.js";
import type { SettlementChain } from "../helpers/world.js";

const [SEND, SEND_BY_NODE] = SENDS.map((method) => ({ method, occurrence: 0 }));

/** What a node that is stuck answers from its newest block. */
const READS = [
  "eth_blockNumber",
  "eth_call",
  "eth_getBlockByNumber",
  "eth_getTransactionCount",
  "eth_simulateV1",
];

/** A machine with its own project and way to the node. */
interface Machine {
  readonly project: FixtureProject;
  readonly server: FaultyRpcServer;
  readonly vault: HardhatVault;
}

describe("two machines with a guard", () => {
  let node: ServerProcess;
  let chain: SettlementChain;
  let guard: string;
  let machines: readonly [Machine, Machine];
  /** Its last look at the round before it sends. */
  let recheck: RequestKey;
  const closing: Array<() => Promise<void>> = [];

  before(async () => {
    node = await startAnvil();
    chain = await openChain(node.url);
    const [deployer] = await chain.provider.listAccounts();
    if (deployer === undefined) {
      throw new Error("the node has no account");
    }
    guard = await deployTestGuard(deployer);
    machines = [await startMachine(0), await startMachine(1)];
    const [{ vault, server }] = machines;
    expect((await vault.settleAll()).status).to.equal("settled");
    const keys = keysOf(server);
    const sent = keys.findIndex(({ method }) => method === SEND?.method);
    const last = keys
      .slice(0, sent)
      .findLast(({ method }) => method === "eth_call");
    if (last === undefined) {
      throw new Error("nothing was read before it was sent");
    }
    recheck = last;
  });
  after(async () => {
    chain.close();
    for (const close of closing.reverse()) {
      await close();
    }
    await node.stop();
  });

  const connect = async (
    url: string,
    accounts: "remote" | readonly string[],
    projectRoot: string,
  ): Promise<HardhatVault> => {
    const { contracts } = chain;
    const hre = await hreOnLive(
      url,
      {
        accounts: accounts === "remote" ? accounts : [...accounts],
        vault: { contracts, guard },
      },
      projectRoot,
    );
    const connection = await hre.network.create();
    closing.push(async () => {
      await connection.close();
    });
    return connection.vault;
  };
  const startMachine = async (index: number): Promise<Machine> => {
    const project = await useFixtureProject("plain");
    const server = await startFaultyRpcServer(node.url, 0);
    closing.push(async () => {
      await server.stop();
      await project.remove();
    });
    const keys = [devKey(index)];
    const vault = await connect(server.url, keys, project.path);
    return { project, server, vault };
  };
  /** What nobody meant to settle is open from here on. */
  const moveOn = async (): Promise<void> => {
    await chain.settleByOther();
    await chain.openNextRound();
  };
  const settle = async (vault: HardhatVault): Promise<Settlement> =>
    await vault.settleAll({ pollingInterval: 20 });

  /** Of a round that others had settled, and followed by another. */
  const expectTooLate = (outcome: object): void => {
    expect(outcome).to.include({ status: "nothing-to-do", code: null });
    expect(outcome).to.have.property("blockNumber").that.is.a("number");
    expect(outcome)
      .to.have.property("reason")
      .that.matches(/refused by the guard: .* had settled the round/u);
  };

  const scenarios: Readonly<
    Record<string, (one: Machine, other: Machine) => Promise<void>>
  > = {
    "both send at the same time, with two keys": async (one, other) => {
      const both = [one, other];
      let waiting = 0;
      let go = (): void => undefined;
      const ready = new Promise<void>((resolve) => {
        go = resolve;
      });
      for (const { server } of both) {
        server.before(SEND ?? recheck, async () => {
          waiting += 1;
          if (waiting === both.length) {
            go();
          }
          await ready;
        });
      }
      const outcomes = await Promise.all(
        both.map(async ({ vault }) => await settle(vault)),
      );
      await chain.openNextRound();
      expect(outcomes.map(({ status }) => status)).to.have.members([
        "settled",
        "nothing-to-do",
      ]);
    },
    "the answer of the last look is late": async ({ vault, server }) => {
      server.afterwards(recheck, moveOn);
      expectTooLate(await settle(vault));
    },
    "the node is stuck in the past, and forwards": async ({
      vault,
      server,
    }) => {
      const head = await chain.provider.getBlockNumber();
      await moveOn();
      server.fallBehind(head, READS);
      server.before(SEND ?? recheck, async () => {
        server.reset();
        await Promise.resolve();
      });
      expectTooLate(await settle(vault));
    },
    "a gateway turns one request into two transactions": async ({
      server,
      project,
    }) => {
      server.hide("eth_signTransaction");
      let second: unknown;
      server.afterwards(SEND_BY_NODE ?? recheck, async () => {
        const { params } = server.requests.at(-1) ?? { params: [] };
        const { nonce: _, ...transaction } = fieldsOf(params[0]);
        await chain.openNextRound();
        second = await chain.provider.send("eth_sendTransaction", [
          transaction,
        ]);
      });
      const vault = await connect(server.url, "remote", project.path);
      expect((await settle(vault)).status).to.equal("settled");
      server.show();
      const receipt = await chain.provider.getTransactionReceipt(
        String(second),
      );
      expect(receipt?.status).to.equal(0);
    },
  };

  for (const [name, play] of Object.entries(scenarios)) {
    it(`settle at most the round that was meant if ${name}`, async () => {
      const [one, other] = machines;
      await chain.openNextRound();
      const count = await chain.settlementCount();
      for (const { server } of machines) {
        await server.idle();
        server.reset();
      }

      await play(one, other);

      expect([...one.server.unused, ...other.server.unused]).to.eql([]);
      expect(await chain.settlementCount()).to.equal(count + 1);
      expect(await chain.round()).to.include({ settled: false });
    });
  }
});

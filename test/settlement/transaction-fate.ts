import { expect } from "chai";

import type {
  SettleAllOptions,
  Settlement,
  SettlementEvent,
} from "../../src/settlement/types.js";
import { startAnvil } from "../helpers/anvil.js";
import type { ServerProcess } from "../helpers/child-process.js";
import { endDeadlines } from "../helpers/deadlines.js";
import { openLaneWithNode } from "../helpers/settlement-lane.js";
import type { LaneWithNode } from "../helpers/settlement-lane.js";

/** None waits for the end of the time, which comes by {@link endDeadlines}. */
const POLLING = { pollingInterval: 20, timeout: 60_000 };

describe("what can become of a settlement's transaction", () => {
  let lane: LaneWithNode;
  let restore: () => Promise<void>;

  before(async () => {
    lane = await openLaneWithNode();
    restore = await lane.world.checkpoint();
  });
  beforeEach(async () => {
    lane.server.reset();
    await lane.removeJournals();
    await setMining(false);
  });
  afterEach(async () => {
    await send("anvil_dropAllTransactions");
    await setMining(true);
    await restore();
  });
  after(async () => {
    await lane.close();
  });

  const send = async (
    method: string,
    ...params: readonly unknown[]
  ): Promise<unknown> => {
    const result: unknown = await lane.world.provider.send(method, [...params]);
    return result;
  };
  const setMining = async (enabled: boolean): Promise<void> => {
    await send("evm_setAutomine", enabled);
  };
  const resume = async (): Promise<Settlement> =>
    await lane.vault.settleAll({ ...POLLING, resume: true });

  /** The time is over when the transaction is looked for so often. */
  const endAtLook = (number: number): void => {
    lane.server.before(
      { method: "eth_getTransactionReceipt", occurrence: number - 1 },
      async () => {
        endDeadlines();
        await Promise.resolve();
      },
    );
  };

  /** Settles, and acts as soon as the node has the transaction. */
  const settleAnd = async (
    act: (hash: string) => Promise<void>,
    options: SettleAllOptions = {},
  ): Promise<{ settlement: Settlement; troubles: string[] }> => {
    const events: SettlementEvent[] = [];
    let acted = false;
    lane.server.before(
      { method: "eth_getTransactionReceipt", occurrence: 0 },
      async () => {
        const sending = events.find(({ type }) => type === "sending");
        acted = true;
        await act(sending?.type === "sending" ? (sending.hash ?? "") : "");
      },
    );
    const settlement = await lane.vault.settleAll({
      ...POLLING,
      onEvent: (event) => events.push(event),
      ...options,
    });
    expect(acted).to.equal(true);
    return {
      settlement,
      troubles: events.flatMap((event) =>
        event.type === "trouble" ? [event.message] : [],
      ),
    };
  };

  it("should stay unconfirmed until somebody mines, then be found by --resume", async () => {
    const { settlement } = await settleAnd(async () => {
      await setMining(false);
      endAtLook(2);
    });

    expect(settlement).to.include({
      status: "unconfirmed",
      blockNumber: null,
      after: null,
    });
    expect(settlement.reason).to.match(
      /^The time is over for transaction 0x[0-9a-f]{64} of 0x\S+ with nonce \d+: it waits in the node's pool\. settleAll\(\{ resume: true \}\)/u,
    );

    const second = await lane.vault.settleAll(POLLING);
    expect(second).to.include({ status: "refused", hash: settlement.hash });
    expect(second.reason)
      .to.include("the option `resume`")
      .and.include(settlement.hash);

    await lane.world.mine();
    const resumed = await resume();
    expect(resumed, resumed.reason ?? "").to.include({
      status: "settled",
      hash: settlement.hash,
    });
    expect(resumed.before).to.deep.equal(settlement.before);
    expect(await resume(), "resuming is idempotent").to.include({
      status: "nothing-to-do",
      hash: resumed.hash,
      blockNumber: resumed.blockNumber,
    });
    expect(await lane.world.settlers()).to.deep.equal([lane.settler]);
  });

  it("should send a dropped transaction again, the same bytes", async () => {
    const { settlement, troubles } = await settleAnd(async (hash) => {
      await setMining(false);
      lane.server.before(
        { method: "eth_getTransactionReceipt", occurrence: 2 },
        async () => {
          await send("anvil_dropTransaction", hash);
        },
      );
      lane.server.before(
        { method: "eth_sendRawTransaction", occurrence: 1 },
        async () => {
          await setMining(true);
        },
      );
    });

    expect(settlement, settlement.reason ?? "").to.include({
      status: "settled",
    });
    expect(troubles.join()).to.include("dropped the transaction");
    const sent = lane.server.requests
      .filter(({ method }) => method === "eth_sendRawTransaction")
      .map(({ params }) => params[0]);
    expect(new Set(sent).size).to.equal(1);
    expect(sent.length).to.be.greaterThan(1);
    expect(await lane.world.settlers()).to.deep.equal([lane.settler]);
  });

  it("should name the transaction that took its place", async () => {
    let rival: unknown;
    const { settlement } = await settleAnd(async (hash) => {
      const ours = await lane.world.provider.getTransaction(hash);
      rival = await send("eth_sendTransaction", {
        from: lane.settler,
        to: lane.settler,
        nonce: `0x${(ours?.nonce ?? 0).toString(16)}`,
        gas: "0x5208",
        gasPrice: "0x2540be400",
      });
      await lane.world.mine();
    });

    expect(settlement).to.include({ status: "unconfirmed", blockNumber: null });
    expect(settlement.hash).to.be.a("string").and.not.equal(rival);
    expect(settlement.reason).to.include("replaced").and.include(rival);
    expect(await lane.world.settlers()).to.deep.equal([]);
    // That outcome is final: the next settlement is not held up by it.
    await setMining(true);
    expect(await lane.vault.settleAll(POLLING)).to.include({
      status: "settled",
    });
  });

  it("settle follows its own settlement under another hash if a wallet sped it up, on a node without old state", async () => {
    let faster: unknown;
    const { settlement, troubles } = await settleAnd(async (hash) => {
      lane.server.forgetOldState();
      const ours = await lane.world.provider.getTransaction(hash);
      faster = await send("eth_sendTransaction", {
        from: lane.settler,
        to: ours?.to,
        data: ours?.data,
        nonce: `0x${(ours?.nonce ?? 0).toString(16)}`,
        gas: "0x4c4b40",
        gasPrice: "0x2540be400",
      });
      await send("anvil_mine", "0x5");
    });

    expect(settlement, settlement.reason ?? "").to.include({
      status: "settled",
      hash: faster,
    });
    expect(troubles.join()).to.include("replaced by");
    expect(await lane.world.settlers()).to.deep.equal([lane.settler]);
  });

  it("should see a re-org that takes the transaction out of its block", async () => {
    const snapshot = await send("evm_snapshot");
    const { settlement, troubles } = await settleAnd(
      async () => {
        await lane.world.mine();
        lane.server.before(
          { method: "eth_getTransactionReceipt", occurrence: 2 },
          async () => {
            await send("evm_revert", snapshot);
            await send("anvil_dropAllTransactions");
          },
        );
        lane.server.before(
          { method: "eth_sendRawTransaction", occurrence: 1 },
          async () => {
            await setMining(true);
          },
        );
        lane.server.before(
          { method: "eth_getTransactionReceipt", occurrence: 6 },
          async () => {
            await send("anvil_mine", "0x3");
          },
        );
      },
      { confirmations: 2 },
    );

    expect(settlement, settlement.reason ?? "").to.include({
      status: "settled",
    });
    expect(troubles.join()).to.include("re-org took the transaction out");
    expect(await lane.world.settlers()).to.deep.equal([lane.settler]);
  });

  it("should ask a signer elsewhere once, and again only for a new settlement with its nonce", async () => {
    const vault = await lane.connect({ accounts: "remote" });
    lane.server.hide("eth_signTransaction");
    lane.server.before(
      { method: "eth_getTransactionReceipt", occurrence: 0 },
      async () => {
        await send("anvil_dropAllTransactions");
      },
    );
    endAtLook(4);
    const asked = (): readonly unknown[] =>
      lane.server.requests
        .filter(({ method }) => method === "eth_sendTransaction")
        .map(({ params }) => params[0]);

    const settlement = await vault.settleAll(POLLING);

    expect(settlement).to.include({ status: "unconfirmed" });
    expect(settlement.hash).to.match(/^0x[0-9a-f]{64}$/u);
    expect(asked()).to.have.length(1);

    await setMining(true);
    const resumed = await vault.settleAll({ ...POLLING, resume: true });
    expect(resumed).to.include({
      status: "refused",
      code: "VAULT_SETTLEMENT_LOST",
      hash: settlement.hash,
    });
    expect(asked()).to.have.length(1);
    expect(await vault.settleAll(POLLING)).to.include({ status: "settled" });

    lane.server.show();
    const [first, again] = asked().map((params) =>
      typeof params === "object" && params !== null && "nonce" in params
        ? params.nonce
        : undefined,
    );
    expect(again).to.be.a("string").and.to.equal(first);
    expect(await lane.world.settlers()).to.deep.equal([lane.settler]);
  });
});

describe("a node that restarts between broadcast and receipt", () => {
  let lane: LaneWithNode;
  let restarted: ServerProcess | undefined;

  beforeEach(async () => {
    lane = await openLaneWithNode();
    await lane.world.provider.send("evm_setAutomine", [false]);
  });
  afterEach(async () => {
    await lane.close();
    await restarted?.stop();
  });

  const restart = async (): Promise<void> => {
    await lane.node.stop();
    restarted = await startAnvil({ port: lane.node.port });
  };

  it("should send it again where the node kept its blocks", async () => {
    lane.server.before(
      { method: "eth_getTransactionReceipt", occurrence: 0 },
      async () => {
        const state: unknown = await lane.world.provider.send(
          "anvil_dumpState",
          [],
        );
        await restart();
        await lane.world.provider.send("anvil_loadState", [state]);
      },
    );

    const settlement = await lane.vault.settleAll(POLLING);

    expect(settlement, settlement.reason ?? "").to.include({
      status: "settled",
    });
    expect(await lane.world.settlers()).to.deep.equal([lane.settler]);
  });

  it("should not lose the hash where the node lost everything", async () => {
    lane.server.before(
      { method: "eth_getTransactionReceipt", occurrence: 0 },
      restart,
    );

    const settlement = await lane.vault.settleAll({
      ...POLLING,
      onEvent: (event) => {
        if (event.type === "trouble" && event.message.includes("no contract")) {
          endDeadlines();
        }
      },
    });

    expect(settlement).to.include({ status: "unconfirmed" });
    expect(settlement.hash).to.match(/^0x[0-9a-f]{64}$/u);
    expect(settlement.reason).to.include("There is no contract code at");
    expect(
      lane.server.requests.filter(
        ({ method }) => method === "eth_sendRawTransaction",
      ),
    ).to.have.length(1);
  });
});

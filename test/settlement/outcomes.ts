import { existsSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { setImmediate as nextTick } from "node:timers/promises";

import { expect } from "chai";
import { Interface } from "ethers";

import { VaultError } from "../../src/client/index.js";
import type { Settlement, VaultRound } from "../../src/types.js";
import { fieldsOf, listOf } from "../helpers/fields.js";
import {
  FACTORY,
  OPEN_ROUND,
  SETTLE,
  SETTLER,
  VAULT,
  settledRound,
} from "../helpers/scripted-contracts.js";
import { itSettlesAsEverywhere, notSent } from "../helpers/settlement-cases.js";
import {
  OTHER_HASH,
  connectionLost,
  itSettles,
  remote,
  useKeeper,
} from "../helpers/keeper.js";

const notConfirmed = new VaultError("VAULT_NOT_CONFIRMED", {});

describe("settleAll: outcomes", () => {
  const keeper = useKeeper();

  for (const overrides of [true, false]) {
    describe(`on a node with state overrides: ${overrides}`, () => {
      beforeEach(() => {
        keeper.chain.overrides = overrides;
      });

      itSettlesAsEverywhere(() => keeper);
    });
  }

  itSettles(keeper, [
    {
      title:
        "settleAll refuses with VAULT_WRONG_CHAIN on another chain than the configured one",
      network: { chainId: 1 },
      is: { status: "refused", code: "VAULT_WRONG_CHAIN", before: null },
      says: ["31337", "1"],
    },
    {
      title:
        "settleAll throws VAULT_NETWORK_UNREACHABLE, and writes nothing, if it is not known whether the node can sign",
      given: ({ chain }) => {
        chain.on("eth_signTransaction", () => {
          throw connectionLost();
        });
      },
      network: remote,
      throws: "VAULT_NETWORK_UNREACHABLE",
      then: async ({ projectRoot }) => {
        expect(await readdir(projectRoot)).to.deep.equal([]);
      },
    },
  ]);

  describe("that differ from the preview", () => {
    const settlingAs =
      (effect: (round: VaultRound) => VaultRound) => (): void => {
        keeper.beforeSending(async () => {
          await Promise.resolve();
          keeper.chain.effect = effect;
        });
      };
    const differ = (
      ...fields: ReadonlyArray<readonly [string, ...unknown[]]>
    ) =>
      fields.map(([field, previewed, happened]) => ({
        ...{ reading: "round", field, previewed, happened },
      }));
    const price = OPEN_ROUND.strikePrice + 1n;
    const cases: ReadonlyArray<
      readonly [
        title: string,
        effect: (round: VaultRound) => VaultRound,
        status: Settlement["status"],
        differences: readonly unknown[],
      ]
    > = [
      [
        "another price and another value of the round",
        (round) => ({
          ...settledRound(round),
          settledPrice: 5n,
          minDeposit: 9n,
        }),
        "settled",
        differ(["settledPrice", price, 5n], ["minDeposit", 10n, 9n]),
      ],
      [
        "a round that stays open",
        (round) => round,
        "not-settled",
        differ(
          ["settledPrice", price, 0n],
          ["settledAmount", 400n, 0n],
          ["settled", true, false],
        ),
      ],
    ];
    for (const [title, effect, status, differences] of cases) {
      itSettles(keeper, [
        {
          title: `settleAll lists what was previewed and what happened: ${title}`,
          given: settlingAs(effect),
          is: { status },
          sends: 1,
          then: (_, settlement) => {
            expect(settlement?.differences).to.deep.equal(differences);
            expect(settlement?.preview?.differences).to.deep.equal(differences);
          },
        },
      ]);
    }

    itSettles(keeper, [
      {
        title: "settleAll lists a transfer that was made twice",
        given: ({ chain }) => {
          chain.on("eth_getTransactionReceipt", async (_, answer) => {
            const found = fieldsOf(await answer());
            const logs = listOf(found["logs"]);
            return { ...found, logs: [...logs, ...logs] };
          });
        },
        is: { status: "settled" },
        sends: 1,
        then: (_, settlement) => {
          expect(settlement?.differences).to.have.length(1);
          expect(settlement?.differences?.[0]).to.include({
            ...{ reading: "transfers", previewed: 5n, happened: 10n },
          });
        },
      },
    ]);
  });

  describe("of another transaction with its nonce", () => {
    /** Mined before ours arrives. */
    const overtake = (to: string, data: string) => (): void => {
      keeper.beforeSending(async () => {
        await Promise.resolve();
        const other = { hash: OTHER_HASH, from: SETTLER, nonce: 0 };
        keeper.chain.pool.push({ ...other, to, data });
        keeper.chain.mine();
      });
    };
    itSettles(keeper, [
      {
        title: "settleAll is settled by the same call, and has its hash",
        given: overtake(VAULT, SETTLE),
        is: { status: "settled", hash: OTHER_HASH, blockNumber: 6 },
        events: "preflight sending trouble trouble hash mined",
        sends: 1,
      },
      {
        title:
          "settleAll is unconfirmed, as replaced for ever, by another call",
        given: overtake(FACTORY, "0x"),
        is: { status: "unconfirmed", blockNumber: null },
        says: ["It was replaced", "can never be mined"],
        sends: 1,
        then: async (on) => {
          expect(await on.journal(".finished")).to.not.have.property(
            "mayStillArrive",
          );
        },
      },
    ]);
  });

  itSettles(keeper, [
    {
      title: "settleAll reads the outcome also if its time is over",
      given: (on) => {
        on.endAtLook(1);
        on.chain.on("eth_sendRawTransaction", async (_, answer) => {
          on.chain.on("eth_call", async (_call, answerCall) => {
            await nextTick();
            return await answerCall();
          });
          return await answer();
        });
      },
      is: { status: "settled" },
      events: "preflight sending mined",
      sends: 1,
    },
    {
      title:
        "settleAll warns of a look without an answer, which only the next look repeats",
      given: ({ chain }) => {
        chain.on("eth_getTransactionReceipt", async (_, answer, before) => {
          if (before === 0) {
            throw connectionLost();
          }
          return await answer();
        });
      },
      is: { status: "settled" },
      events: "preflight sending trouble mined",
      sends: 1,
    },
    {
      title:
        "settleAll leaves nothing to resume if the node refuses its last look at the round",
      given: ({ chain }) => {
        chain.on("eth_call", async (_, answer) => {
          if (chain.count("eth_getTransactionCount") > 0) {
            throw Object.assign(new Error("nope"), { code: -32_000 });
          }
          return await answer();
        });
      },
      is: { status: "refused", code: "VAULT_RPC_ERROR", hash: null },
      then: async (on) => {
        expect(existsSync(on.journalFile())).to.equal(false);
        on.chain.on("eth_call", async (_, answer) => await answer());
        expect((await on.settle()).status).to.equal("settled");
      },
    },
    {
      title: "settleAll is reverted with the contract's text as it is",
      given: async (on) => {
        const error = new Interface(["error Error(string)"]);
        await on.refuseWith(error.encodeErrorResult("Error", ["\u001b[2J"]));
      },
      is: { status: "reverted", reason: "\u001b[2J" },
    },
    {
      title:
        "settleAll emits each confirmation once if three blocks come at once",
      options: {
        confirmations: 2,
        onEvent: (event) => {
          if (event.type === "mined") {
            [1, 2, 3].forEach(() => keeper.chain.mine());
          }
        },
      },
      is: { status: "settled" },
      events: "preflight sending mined confirmed confirmed",
      sends: 1,
      then: ({ events }) => {
        expect(events.at(-1)).to.include({ confirmations: 2, wanted: 2 });
      },
    },
  ]);

  it("settleAll asks for nothing twice, and reads the vault with one call each time", async () => {
    await keeper.settle();
    expect(keeper.chain.asked.map(({ method }) => method)).to.deep.equal([
      // The kind of chain, the genesis block, the newest block and the next one.
      ...["hardhat_metadata", "anvil_nodeInfo", "eth_getBlockByNumber"],
      ...["eth_getBlockByNumber", "eth_getBlockByNumber"],
      // The vault beside its block's header.
      ...["eth_getBlockByNumber", "eth_call"],
      // Its nonce, and whether it is still that kind of chain.
      ...["eth_getTransactionCount", "eth_getTransactionCount"],
      ...["hardhat_metadata", "anvil_nodeInfo"],
      // The price and recent ones, whether data has a fee of its own, the preview, and a
      // call with gas and price.
      ...["eth_maxPriorityFeePerGas", "eth_feeHistory", "eth_getCode"],
      ...["eth_simulateV1", "eth_call"],
      // Symbol and decimals of the token that moves.
      ...["eth_call", "eth_call"],
      // The round again, right before the transaction leaves.
      ...["eth_getBlockByNumber", "eth_call"],
      ...["eth_sendRawTransaction", "eth_getTransactionReceipt"],
      // Its block once more; whether another transaction of it touched the vault; and the
      // readings after and before it.
      "eth_getBlockByNumber",
      ...["eth_getBlockByNumber", "eth_getLogs"],
      ...["eth_call", "eth_call"],
    ]);
  });

  it("settleAll goes on looking while the node has another block in the place of the receipt's", async () => {
    let isReorged = false;
    keeper.chain.on("eth_getTransactionReceipt", async (_, answer, seen) => {
      isReorged = seen < 3;
      return await answer();
    });
    keeper.chain.on("eth_getBlockByNumber", async ([tag], answer) => {
      const block = fieldsOf(await answer());
      return isReorged && tag === "0x6"
        ? { ...block, hash: OTHER_HASH }
        : block;
    });
    expect(await keeper.settle()).to.include({ status: "settled" });
    expect(keeper.chain.count("eth_getTransactionReceipt")).to.equal(4);
    expect(keeper.types).to.equal("preflight sending mined");
  });

  for (const [problem, reason] of [
    [new Error("a bug"), "Error: a bug"],
    [notConfirmed, notConfirmed.message],
  ] as const) {
    it(`settleAll keeps its hash if it fails after sending: ${reason}`, async () => {
      const host = keeper.host();
      const withOptions = host.withOptions.bind(host);
      host.withOptions = (given) => {
        if (given.timeout !== undefined && keeper.sends > 0) {
          throw problem;
        }
        return withOptions(given);
      };
      const { settlement } = await keeper.end({}, host);
      expect(settlement).to.deep.include({
        ...notSent,
        status: "unconfirmed",
        code: null,
        reason,
        hash: keeper.chain.mined[0]?.hash,
        before: OPEN_ROUND,
      });
      expect(settlement.preview?.differences).to.equal(null);
      expect(keeper.sends).to.equal(1);
    });
  }
});

import { inspect } from "node:util";
import { expect } from "chai";
import { toQuantity, concat, zeroPadValue } from "ethers";
import type { TransactionResponse } from "ethers";

import {
  changesReadings,
  settlesRound,
  callsVault,
} from "../../src/assert/index.js";
import "../../src/chai/index.js";
import { VaultClient } from "../../src/client/index.js";
import { expectVaultError } from "../helpers/assertions.js";
import { createTestHre } from "../helpers/hre.js";
import {
  AMOUNT,
  failureOf,
  useOpenRound,
  whileTimePasses,
} from "../helpers/open-round.js";
import type { OpenRound } from "../helpers/open-round.js";
import {
  FACTORY,
  SETTLE,
  SETTLER,
  VAULT,
} from "../helpers/scripted-contracts.js";
import { ScriptedNode } from "../helpers/scripted-node.js";
import { encodeCall } from "../../src/client/codec.js";
import type { EncodedCall } from "../../src/client/codec.js";

/** What can be neither asserted nor denied of a vault and what was sent to it. */
const undecidable: ReadonlyArray<
  readonly [
    what: string,
    arrange: (round: OpenRound) => Promise<{ vault?: unknown; sent: unknown }>,
    message: RegExp,
  ]
> = [
  [
    "a vault that is none",
    async ({ setVolume }) => ({
      ...{ vault: { address: "0x12" }, sent: await setVolume(1n) },
    }),
    /^a vault is needed \(connection\.vault, .*\), got \{ address: '0x12' \}$/u,
  ],
  [
    "a vault of another copy of the package",
    async ({ setVolume }) => ({
      vault: { queryVolume: async () => await Promise.resolve(1n) },
      sent: await setVolume(1n),
    }),
    /^a vault is needed \(.*, of the only hardhat-vault that npm ls shows\), got \{/u,
  ],
  [
    "an object with much in it",
    async () =>
      await Promise.resolve({
        sent: Object.fromEntries(
          Array.from({ length: 99 }, (_, n) => [`key${n}`, n]),
        ),
      }),
    /^expected a transaction, its hash or a settlement, got \{ key0: 0, .{100,120}…$/u,
  ],
  [
    "a settlement that was refused",
    async ({ vault }) => ({
      sent: await vault.settleAll({
        confirm: async () => "not\u001b[2J today",
      }),
    }),
    /^expected a transaction that settles, but the settlement is refused: .*not\\u\{1b\}\[2J today$/u,
  ],
  [
    "a transaction that reverted",
    async ({ mocks, settle, request }) => {
      await mocks.fail("settleAll");
      await request("evm_setAutomine", false);
      const sent = await settle();
      await request("evm_mine");
      return { sent };
    },
    /^transaction 0x\w+ reverted, so it changed nothing: assert the revert itself, with \.revertedWith\(\) and the like$/u,
  ],
  [
    "a transaction of another chain",
    async () => {
      const other = await (await createTestHre()).network.create();
      const signer = await other.ethers.provider.getSigner(1);
      const sent = await signer.sendTransaction({ to: signer });
      await other.close();
      return { sent };
    },
    /^transaction 0x\w+ is not known on the vault's network\. Was it sent over another connection\? /u,
  ],
  [
    "a transaction that is not mined within 30 s",
    async ({ settle, request }) => {
      await request("evm_setAutomine", false);
      return { sent: await settle() };
    },
    /^transaction 0x\w+ was not mined within 30 s$/u,
  ],
  [
    "one of two transactions in a block",
    async ({ settle, setVolume, request }) => {
      await request("evm_setAutomine", false);
      await setVolume(1n);
      const sent = await settle();
      await request("evm_mine");
      return { sent };
    },
    /^block \d+ of transaction 0x\w+ holds 2 transactions, so its own changes cannot be separated: mine it alone$/u,
  ],
  ...(
    [
      ["0x12", "got '0x12'"],
      [{ status: "settled", hash: null }, "hash: null }"],
      [{ status: "reverted", reason: 5 }, "the settlement is reverted"],
    ] as const
  ).map(
    ([sent, problem]) =>
      [
        inspect(sent, { breakLength: Infinity }),
        async () => await Promise.resolve({ sent }),
        new RegExp(
          `^expected a (?:transaction, its hash or a settlement|transaction that settles).*${problem.replaceAll(/[{}]/gu, "\\$&")}$`,
          "u",
        ),
      ] as const,
  ),
];

describe("the transaction of an assertion", () => {
  const round = useOpenRound();

  for (const [what, arrange, wanted] of undecidable) {
    it(`settlesRound(), changesReadings() and their negations refuse ${what}`, async () => {
      const { vault = round().vault, sent } = await arrange(round());
      const checks = [
        // @ts-expect-error -- a vault is asserted
        () => settlesRound(vault, sent),
        // @ts-expect-error -- a vault is asserted
        () => changesReadings(vault, sent),
        // @ts-expect-error -- a vault is asserted
        () => expect(sent).to.not.settleRound(vault),
        // @ts-expect-error -- a vault is asserted
        () => expect(sent).to.not.changeReadings(vault),
      ];
      const failures = await whileTimePasses(
        wanted.source.includes("30 s") ? 60_000 : 0,
        async () =>
          await Promise.all(checks.map((check) => failureOf(check()))),
      );
      for (const { name, message } of failures) {
        expect(name).to.equal("AssertionError");
        expect(message).to.match(wanted);
      }
    });
  }

  it("settlesRound() takes the receipt of viem, which has a status of its own", async () => {
    const { vault, settle } = round();
    const { hash: transactionHash } = await settle();
    const receipt = { transactionHash, status: "success", blockNumber: 5n };
    await settlesRound(vault, receipt, { amount: AMOUNT });
    const reverted = { ...receipt, status: "reverted" };
    await settlesRound(vault, reverted, { amount: AMOUNT });
  });

  it("settlesRound() escapes why a settlement that was sent settled nothing", async () => {
    const sent = {
      ...{ status: "nothing-to-do", hash: "0x12", hashes: ["0x12"] },
      reason: "late\u001b[2J",
    };
    const { message } = await failureOf(settlesRound(round().vault, sent));
    expect(message).to.match(/but the settlement is nothing-to-do: late\\u/u);
  });

  it("settlesRound() and changesReadings() look at the block of the transaction, not at what came later", async () => {
    const { vault, mocks, settle, setVolume, startNextRound, request } =
      round();
    const sent = await settle();
    await startNextRound();
    await setVolume(9n);
    await request("evm_mine");
    await mocks.fail("queryVolume");
    await settlesRound(vault, sent, { amount: AMOUNT });
    await changesReadings(vault, sent, { round: { settled: true } });
  });

  it("settlesRound() waits for a transaction that is mined later", async () => {
    const { vault, settle, request } = round();
    await request("evm_setAutomine", false);
    const { hash } = await settle();
    const { provider } = vault.connection;
    const send = provider.request.bind(provider);
    // It is asked for when a node may have forgotten the transaction.
    provider.request = async (call) => {
      const answer: unknown = await send(call);
      if (call.method === "eth_getTransactionByHash") {
        await send({ method: "evm_mine" });
      }
      return answer;
    };
    await whileTimePasses(1_100, async () => {
      await settlesRound(vault, hash, { amount: AMOUNT });
    });
    provider.request = send;
  });

  it("settlesRound() throws VAULT_REORGED if a node that takes no hashes replaces the transaction's block after the last reading", async () => {
    const node = new ScriptedNode({ hashes: false });
    const hash = await node.request({
      method: "eth_sendTransaction",
      params: [{ from: SETTLER, to: VAULT, data: SETTLE }],
    });
    const at = toQuantity(node.head);
    node.on("eth_call", async ([, block], answer) => {
      const found = await answer();
      if (block === at) {
        node.reorganise(node.head);
      }
      return found;
    });
    const contracts = { vault: VAULT, vaultFactory: FACTORY };
    await expectVaultError(
      settlesRound(new VaultClient(node, contracts), hash),
      "VAULT_REORGED",
    );
  });

  it("settlesRound() waits for a transaction that the node does not have yet", async () => {
    const { vault, setVolume } = round();
    const { provider } = vault.connection;
    const request = provider.request.bind(provider);
    const { hash } = await setVolume(1n);
    let looks = 0;
    provider.request = async (call) => {
      looks += call.method === "eth_getTransactionReceipt" ? 1 : 0;
      const isMissing = looks < 2 && call.method.startsWith("eth_getTrans");
      const answer: unknown = isMissing ? null : await request(call);
      return answer;
    };
    const { message } = await failureOf(settlesRound(vault, hash));
    provider.request = request;
    expect(message).to.include("still not settled");
    expect(looks).to.equal(2);
  });
});

const FORWARDER = "0x00000000000000000000000000000000000f0f0f";
/** Calls the address in the first word with the bytes after it. */
const FORWARDER_CODE = "0x602036038060206000376000600082600060006000355af100";
const TERMS = { maxVolume: 5n, APY: 6n, endTime: 7n };

describe("callsVault() and .calledVault()", () => {
  const round = useOpenRound();

  /** A call that another contract makes. */
  const callFromContract = async ({
    role,
    data,
  }: Pick<EncodedCall, "role" | "data">): Promise<TransactionResponse> => {
    const { request, connection, mocks } = round();
    await request("hardhat_setCode", FORWARDER, FORWARDER_CODE);
    const signer = await connection.ethers.provider.getSigner(0);
    const to = zeroPadValue(mocks.addresses[role], 32);
    return await signer.sendTransaction({
      ...{ to: FORWARDER, data: concat([to, data]) },
    });
  };

  /** A client whose node cannot trace. */
  const clientWithout = (problem: Error): VaultClient => {
    const { provider } = round().connection;
    return new VaultClient(
      {
        request: async (call): Promise<unknown> =>
          call.method.startsWith("debug_")
            ? await Promise.reject(problem)
            : await provider.request(call),
      },
      { vault: FORWARDER },
    );
  };

  it(".calledVault() finds the call that another contract made, by its arguments, to this vault", async () => {
    const sent = await callFromContract(encodeCall("calMargins", [TERMS]));
    const { vault } = round();
    await expect(sent).to.have.calledVault(vault, "calMargins", [TERMS]);
    await callsVault(vault, sent.hash, "calMargins");
    await expect(sent).to.not.have.calledVault(vault, "settleAll");
    const other = vault.at({ vault: FORWARDER });
    await expect(sent).to.not.have.calledVault(other, "calMargins");
  });

  it(".calledVault() fails with the operations that were called, and with .not, too", async () => {
    const sent = await callFromContract(encodeCall("calMargins", [TERMS]));
    const { vault } = round();
    const address = (await vault.addressOf("vault")).address.toLowerCase();
    const begins = `expected transaction ${sent.hash}`;
    for (const [assertion, message] of [
      [
        () => expect(sent).to.have.calledVault(vault, "settleAll"),
        `${begins} to call settleAll of ${address}, but it called calMargins of ${address}`,
      ],
      [
        () => expect(sent).to.not.have.calledVault(vault, "calMargins"),
        `${begins} not to call calMargins, but it did`,
      ],
      [
        () =>
          expect(sent).to.have.calledVault(vault, "calMargins", [
            { ...TERMS, endTime: 8n },
          ]),
        `${begins} to call calMargins with [ { maxVolume: 5n, APY: 6n, endTime: 8n } ] of ${address}, but it called calMargins of ${address}`,
      ],
    ] as const) {
      expect((await failureOf(assertion())).message).to.equal(message);
    }
  });

  it(".calledVault() tells the pools apart", async () => {
    const operation = "getLPAmountInfo";
    const sent = await callFromContract(encodeCall(operation, ["private"]));
    const { vault } = round();
    // Without arguments, that of any pool counts.
    await expect(sent).to.have.calledVault(vault, operation);
    await expect(sent).to.have.calledVault(vault, operation, ["private"]);
    await expect(sent).to.not.have.calledVault(vault, operation, ["public"]);
  });

  it(".calledVault() fails for a settlement that had nothing to do", async () => {
    const { message } = await failureOf(
      expect({ status: "nothing-to-do" }).to.have.calledVault(
        round().vault,
        "settleAll",
      ),
    );
    expect(message).to.match(/but the settlement is nothing-to-do/u);
  });

  for (const [what, check, message] of [
    [
      "an unknown operation",
      (sent: TransactionResponse) =>
        // @ts-expect-error -- the wire's name
        expect(sent).to.not.have.calledVault(round().vault, "minSLDMargin"),
      /^there is no operation 'minSLDMargin'; there are /u,
    ],
    [
      "arguments that are no list",
      (sent: TransactionResponse) =>
        expect(sent).to.not.have.calledVault(
          ...([round().vault, "calMargins"] as const),
          // @ts-expect-error -- a list of one object
          { APY: 1n },
        ),
      /^a list of the arguments of calMargins is needed, got/u,
    ],
  ] as const) {
    it(`.not.calledVault() refuses ${what}`, async () => {
      const sent = await callFromContract(encodeCall("queryVolume", []));
      expect((await failureOf(check(sent))).message).to.match(message);
    });
  }

  it("callsVault() waits until the transaction is mined, and takes the code of a deployment for no call", async () => {
    const node = new ScriptedNode();
    node.mines = false;
    const hash = await node.request({
      method: "eth_sendTransaction",
      params: [{ from: SETTLER, to: VAULT, data: SETTLE }],
    });
    node.on("eth_getTransactionReceipt", async (_, answer, occurrence) => {
      if (occurrence === 1) {
        node.mine();
      }
      return await answer();
    });
    node.on("debug_traceTransaction", () => ({
      ...{ type: "CREATE2", from: SETTLER, to: VAULT, input: SETTLE },
    }));
    const client = new VaultClient(node, { vault: VAULT });
    const { message } = await failureOf(callsVault(client, hash, "settleAll"));
    expect(message).to.contain("but it called no operation of a vault");
    expect(node.pool).to.deep.equal([]);
  });

  it("callsVault() throws VAULT_RPC_ERROR with the words of a node that cannot trace, escaped", async () => {
    const { hash } = await round().setVolume(1n);
    const problem = new Error("no such method\u001b[2J");
    const blind = clientWithout(Object.assign(problem, { code: -32_601 }));
    const called = callsVault(blind, hash, "settleAll");
    expect((await expectVaultError(called, "VAULT_RPC_ERROR")).message)
      .to.contain("debug_traceTransaction")
      .and.contain("no such method\\u{1b}[2J");
  });

  it("callsVault() throws VAULT_NETWORK_UNREACHABLE if the node cannot be reached", async () => {
    const { hash } = await round().setVolume(1n);
    const problem = Object.assign(new Error("lost"), { code: "ECONNREFUSED" });
    await expectVaultError(
      callsVault(clientWithout(problem), hash, "settleAll"),
      "VAULT_NETWORK_UNREACHABLE",
    );
  });
});

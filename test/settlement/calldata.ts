import { expect } from "chai";
import { ZeroAddress, getAddress } from "ethers";

import { parseGuarded } from "../../src/guard/round-guard.js";
import { buildSettlement } from "../../src/settlement/calldata.js";
import { safeChecksum, toSafeBatch } from "../../src/settlement/safe.js";
import { expectVaultError } from "../helpers/assertions.js";
import { BareHost } from "../helpers/bare-host.js";
import { fieldsOf } from "../helpers/fields.js";
import { guardCode } from "../helpers/guard.js";
import {
  FACTORY,
  OPEN_ROUND,
  SETTLE,
  SETTLER,
  VAULT,
  nextRound,
} from "../helpers/scripted-contracts.js";
import { ScriptedNode } from "../helpers/scripted-node.js";
import { NOT_YET } from "../helpers/settlement-cases.js";
import { useKeeper } from "../helpers/keeper.js";

const GUARD = "0x00000000000000000000000000000000000000A7";

const revert = Object.assign(new Error("execution reverted"), {
  code: 3,
  data: NOT_YET,
});

describe("buildSettlement", () => {
  const keeper = useKeeper();
  const senders = (method: string): readonly unknown[] =>
    keeper.chain.asked.flatMap(({ method: one, params: [call] }) =>
      one === method && fieldsOf(call)["data"] === SETTLE
        ? [fieldsOf(call)["from"]]
        : [],
    );

  it("returns the transaction, without an estimate, from no sender and no address but the vault's", async () => {
    const { header, ...built } = await buildSettlement(
      new BareHost(keeper.chain, { vault: VAULT }, SETTLER),
    );
    expect(built).to.deep.equal({
      chainId: 31_337,
      to: VAULT,
      data: SETTLE,
      sender: ZeroAddress,
      estimatedGas: null,
      isContract: false,
      refusal: null,
      settles: "the round that is current when it is executed",
    });
    expect(header).to.include({ number: 5, timestamp: 1_700_000_005 });
    expect(senders("eth_call")).to.deep.equal([ZeroAddress]);
    expect(senders("eth_estimateGas")).to.deep.equal([]);
  });

  for (const [title, code, isContract] of [
    ["a contract", "0x60", true],
    ["an account that delegates", `0xef0100${"11".repeat(20)}`, false],
    ["an account without code", "0x", false],
    ["an account whose code is an object", { toString: 1 }, false],
  ] as const) {
    it(`says of ${title} as the sender if another account is the origin: ${isContract}`, async () => {
      keeper.chain.on("eth_getCode", async (params, answer) =>
        params[0] === SETTLER ? code : await answer(),
      );
      expect(await buildSettlement(keeper.host(), SETTLER)).to.include({
        isContract,
      });
    });
  }

  it("estimates the gas of a sender", async () => {
    expect(await buildSettlement(keeper.host(), SETTLER)).to.include({
      estimatedGas: 60_000n,
      refusal: null,
    });
    expect(senders("eth_call")[0]).to.equal(SETTLER);
    expect(senders("eth_estimateGas")).to.deep.equal([SETTLER]);
    const { params } =
      keeper.chain.asked.find(({ method }) => method === "eth_estimateGas") ??
      {};
    expect(params?.[1], "the block of the header").to.equal("0x5");
  });

  it("names the round of the guard at the block of the header, though the chain goes on", async () => {
    const { chain } = keeper;
    chain.on("eth_getCode", async ([address, tag], answer) =>
      address === GUARD
        ? tag === "0x5"
          ? guardCode()
          : "0x60"
        : await answer(),
    );
    chain.on("eth_chainId", async (_, answer) => {
      chain.mine(nextRound);
      return await answer();
    });
    const host = keeper.host();
    host.guard = GUARD;
    // The scripted guard reverts, so no simulation shows its tokens.
    const { to, data } = await buildSettlement(host, undefined, []);
    const { startTime, strikePrice } = OPEN_ROUND;
    expect(to).to.equal(GUARD);
    expect(parseGuarded(GUARD, data)).to.eql({
      vault: VAULT,
      guard: {
        ...{ address: GUARD, factory: FACTORY },
        round: { startTime, strikePrice },
        mustHaveEnded: false,
        mustSettle: true,
        tokens: [],
      },
    });
  });

  for (const method of ["eth_call", "eth_estimateGas"]) {
    it(`returns the reason of a revert, and no estimate, if ${method} reverts`, async () => {
      keeper.chain.on(method, async ([call], answer) => {
        if (fieldsOf(call)["data"] === SETTLE) {
          throw revert;
        }
        return await answer();
      });
      const built = await buildSettlement(keeper.host(), SETTLER);
      expect(built.estimatedGas).to.equal(null);
      expect(built.refusal).to.include("not yet");
      const estimates = method === "eth_call" ? 0 : 1;
      expect(keeper.chain.count("eth_estimateGas")).to.equal(estimates);
    });
  }

  it("throws VAULT_RPC_ERROR if the node refuses to estimate", async () => {
    keeper.chain.on("eth_estimateGas", () => {
      throw Object.assign(new Error("no"), { code: -32_000 });
    });
    await expectVaultError(
      buildSettlement(keeper.host(), SETTLER),
      "VAULT_RPC_ERROR",
    );
  });

  it("throws VAULT_WRONG_CHAIN on another chain than the configured one", async () => {
    const { details } = await expectVaultError(
      buildSettlement(keeper.host({ chainId: 1 })),
      "VAULT_WRONG_CHAIN",
    );
    expect(details).to.include({ expected: 1, actual: 31_337 });
  });

  for (const overrides of [true, false]) {
    it(`throws VAULT_NO_CODE, as settleAll does, for an address without code (overrides: ${overrides})`, async () => {
      keeper.chain = new ScriptedNode({
        overrides,
        codeOf: (address) => (getAddress(address) === VAULT ? "0x" : "0x60"),
      });
      for (const work of [
        async () => await buildSettlement(keeper.host()),
        async () => await keeper.settle(),
      ]) {
        const { message } = await expectVaultError(work(), "VAULT_NO_CODE");
        expect(message).to.include(VAULT);
      }
      expect(keeper.sends).to.equal(0);
    });
  }
});

describe("a batch for Safe's Transaction Builder", () => {
  it("has the checksum that another implementation computes", () => {
    // The file that the tests of @morpho-labs/gnosis-tx-builder expect.
    expect(
      safeChecksum({
        version: "1.0",
        chainId: "1",
        createdAt: 1_665_177_409_513,
        meta: {
          name: "Transactions Batch",
          description: "Created from @morpho-labs/gnosis-tx-builder",
          txBuilderVersion: "1.8.0",
          createdFromSafeAddress: ZeroAddress,
          createdFromOwnerAddress: "",
        },
        transactions: [
          {
            to: ZeroAddress,
            operation: 1,
            value: "1000000000000000000",
            data: "0x",
          },
        ],
      }),
    ).to.equal(
      "0xcc15ad0f6efe4476b91fdb28019f8006198056434b8746f177b37f07bb3e86f8",
    );
  });

  it("holds one transaction, its chain and its own checksum", () => {
    const header = { number: 1, timestamp: 1_700_000_000, gasLimit: 1n };
    const batch = toSafeBatch({
      to: ZeroAddress,
      data: SETTLE,
      chainId: 56,
      header: { ...header, baseFeePerGas: undefined, hash: "0x" },
      sender: ZeroAddress,
      isContract: false,
      estimatedGas: null,
      refusal: null,
      settles: "the round that is current when it is executed",
    });

    const { checksum, ...meta } = batch.meta;
    expect(checksum).to.equal(safeChecksum({ ...batch, meta }));
    expect({ ...batch, meta }).to.deep.equal({
      version: "1.0",
      chainId: "56",
      createdAt: 1_700_000_000_000,
      meta: {
        name: "settleAll",
        description: "Settles the round that is current when it is executed",
        txBuilderVersion: "1.18.0",
        createdFromSafeAddress: "",
        createdFromOwnerAddress: "",
      },
      transactions: [
        {
          to: ZeroAddress,
          value: "0",
          data: SETTLE,
          contractMethod: null,
          contractInputsValues: null,
        },
      ],
    });
  });
});

import { expect } from "chai";
import { Interface, ZeroAddress, getAddress } from "ethers";

import { parseGuarded } from "../../src/guard/round-guard.js";
import {
  buildSettlement,
  safeChecksum,
  toSafeBatch,
} from "../../src/settlement/calldata.js";
import { expectVaultError } from "../helpers/assertions.js";
import { fieldsOf } from "../helpers/fields.js";
import { guardCode } from "../helpers/guard.js";
import { GUARD, useKeeper } from "../helpers/keeper.js";
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

describe("buildSettlement()", () => {
  const keeper = useKeeper();
  const refuse = (): never => {
    throw Object.assign(new Error("not now"), { code: -32_000 });
  };

  it("builds the call from no sender, without an estimate, and needs only the vault's address", async () => {
    const { header, ...built } = await buildSettlement(
      keeper.chain.host({ contracts: { vault: VAULT } }),
    );
    expect(built).to.deep.equal({
      ...{ chainId: 31_337, to: VAULT, data: SETTLE, sender: ZeroAddress },
      ...{ estimatedGas: null, isContract: false, refusal: null },
      settles: "the round that is current when it is executed",
    });
    expect(header).to.include({ number: 5, timestamp: 1_700_000_005 });
    expect(keeper.chain.count("eth_estimateGas")).to.equal(0);
  });

  it("has the gas limit that a settlement of the sender would get", async () => {
    expect(await buildSettlement(keeper.host(), SETTLER)).to.include({
      ...{ estimatedGas: 93_750n, refusal: null },
    });
  });

  it("without an engine calls as the sender with the gas of a block, at the block of the header", async () => {
    keeper.chain.overrides = false;
    expect(await buildSettlement(keeper.host(), SETTLER)).to.include({
      ...{ estimatedGas: 75_000n, refusal: null },
    });
    const tries = keeper.chain.asked.filter(
      ({ params: [call] }) => fieldsOf(call)["data"] === SETTLE,
    );
    const call = { from: SETTLER, to: VAULT, data: SETTLE };
    expect(tries[0]).to.deep.equal({
      ...{ method: "eth_call", params: [{ ...call, gas: "0x1c9c380" }, "0x5"] },
    });
  });

  for (const [title, code, isContract] of [
    ["a contract", "0x60", true],
    ["an account that delegates", `0xef0100${"11".repeat(20)}`, false],
    ["an account whose code the node does not return", undefined, false],
  ] as const) {
    it(`takes ${title} for one that another account sends for: ${isContract}`, async () => {
      keeper.chain.on("eth_getCode", async ([address], answer) =>
        address === SETTLER ? (code ?? refuse()) : await answer(),
      );
      expect(await buildSettlement(keeper.host(), SETTLER)).to.include({
        isContract,
      });
    });
  }

  it("names the round of the guard at the block of the header, though the chain goes on", async () => {
    const { chain } = keeper;
    chain.on("eth_getCode", async ([address, tag], answer) =>
      address !== GUARD
        ? await answer()
        : chain.blockOf({ method: "eth_getCode", params: [address, tag] }) === 5
          ? guardCode()
          : "0x60",
    );
    chain.on("eth_chainId", async (_, answer) => {
      chain.mine(nextRound);
      return await answer();
    });
    const host = keeper.host();
    host.guard = GUARD;
    // RoundAlreadySettled(). No simulation shows the tokens then.
    chain.overrides = false;
    chain.on("eth_call", async ([call], answer) => {
      if (fieldsOf(call)["to"] === GUARD) {
        const reverted = { code: 3, data: "0x11a92ea6" };
        throw Object.assign(new Error("execution reverted"), reverted);
      }
      return await answer();
    });
    const { to, data, refusal } = await buildSettlement(host);
    expect(refusal).to.equal("The round is settled already.");
    const { startTime, strikePrice } = OPEN_ROUND;
    expect(to).to.equal(GUARD);
    expect(parseGuarded(GUARD, data)).to.eql({
      vaultAddress: VAULT,
      guard: {
        ...{ address: GUARD, factory: FACTORY, tokens: [] },
        ...{ round: { startTime, strikePrice } },
        ...{ mustHaveEnded: false, mustSettle: true },
      },
    });
  });

  it("demands the end of the round, and looks at what the guard does after it, if it is asked to", async () => {
    const { chain } = keeper;
    chain.on("eth_getCode", async ([address], answer) =>
      address === GUARD ? guardCode() : await answer(),
    );
    chain.overrides = false;
    const notEnded = new Interface([
      "error RoundNotEnded(uint256 endTime)",
    ]).encodeErrorResult("RoundNotEnded", [1_800_000_000n]);
    chain.on("eth_estimateGas", () => "0xea60");
    const demands: unknown[] = [];
    chain.on("eth_call", async ([call], answer) => {
      const { to, data } = fieldsOf(call);
      if (to !== GUARD) {
        return await answer();
      }
      const { guard } = parseGuarded(GUARD, String(data)) ?? {};
      demands.push(guard?.mustHaveEnded);
      if (guard?.mustHaveEnded === true) {
        throw Object.assign(new Error("execution reverted"), {
          ...{ code: 3, data: notEnded },
        });
      }
      return "0x";
    });
    const host = keeper.host();
    host.guard = GUARD;
    const built = await buildSettlement(host, SETTLER, [], true);
    expect(parseGuarded(GUARD, built.data)?.guard).to.include({
      mustHaveEnded: true,
    });
    expect(new Set(demands)).to.deep.equal(new Set([false, true]));
    expect(built.refusal).to.match(/^The round has not ended yet/u);
    expect(built.estimatedGas).to.equal(null);
  });

  it("cannot demand the end of the round without a guard: VAULT_INVALID_ARGUMENT", async () => {
    const building = buildSettlement(keeper.host(), SETTLER, undefined, true);
    const { message } = await expectVaultError(
      building,
      "VAULT_INVALID_ARGUMENT",
    );
    expect(message).to.include("--if-expired").and.include("guard");
  });

  for (const [method, estimates] of [
    ["eth_call", 0],
    ["eth_estimateGas", 1],
  ] as const) {
    it(`has the reason of a revert of ${method}, and no estimate`, async () => {
      keeper.chain.overrides = false;
      keeper.chain.on(method, async ([call], answer) => {
        if (fieldsOf(call)["data"] === SETTLE) {
          throw Object.assign(new Error("execution reverted"), {
            ...{ code: 3, data: NOT_YET },
          });
        }
        return await answer();
      });
      const built = await buildSettlement(keeper.host(), SETTLER);
      expect(built.estimatedGas).to.equal(null);
      expect(built.refusal).to.include("not yet");
      expect(keeper.chain.count("eth_estimateGas")).to.equal(estimates);
    });
  }

  it("throws VAULT_WRONG_CHAIN on another chain than the configured one", async () => {
    const { details } = await expectVaultError(
      buildSettlement(keeper.host({ chainId: 1 })),
      "VAULT_WRONG_CHAIN",
    );
    expect(details).to.include({ expected: 1, actual: 31_337 });
  });

  for (const overrides of [true, false]) {
    it(`throws VAULT_NO_CODE, as settleAll does, for a vault without code (overrides: ${overrides})`, async () => {
      keeper.chain = new ScriptedNode({
        overrides,
        codeOf: (address) => (getAddress(address) === VAULT ? "0x" : "0x60"),
      });
      await expectVaultError(buildSettlement(keeper.host()), "VAULT_NO_CODE");
      const { message } = await expectVaultError(
        keeper.settle(),
        "VAULT_NO_CODE",
      );
      expect(message).to.include(VAULT);
    });
  }
});

describe("a batch for Safe's Transaction Builder", () => {
  it("has the checksum that another implementation computes", () => {
    // The file that the tests of @morpho-labs/gnosis-tx-builder expect.
    expect(
      safeChecksum({
        ...{ version: "1.0", chainId: "1", createdAt: 1_665_177_409_513 },
        meta: {
          name: "Transactions Batch",
          description: "Created from @morpho-labs/gnosis-tx-builder",
          txBuilderVersion: "1.8.0",
          createdFromSafeAddress: ZeroAddress,
          createdFromOwnerAddress: "",
        },
        transactions: [
          {
            ...{ to: ZeroAddress, operation: 1 },
            ...{ value: "1000000000000000000", data: "0x" },
          },
        ],
      }),
    ).to.equal(
      "0xcc15ad0f6efe4476b91fdb28019f8006198056434b8746f177b37f07bb3e86f8",
    );
  });

  it("holds one transaction, its chain and its own checksum", () => {
    const header = {
      ...{ number: 1, timestamp: 1_700_000_000, gasLimit: 1n },
      ...{ baseFeePerGas: undefined, hash: "0x", parentHash: undefined },
    };
    const settles = "the round that is current when it is executed";
    const batch = toSafeBatch({
      ...{ to: ZeroAddress, data: SETTLE, chainId: 56, settles },
      header,
      ...{ sender: ZeroAddress, isContract: false },
      ...{ estimatedGas: null, refusal: null },
    });

    const { checksum, ...meta } = batch.meta;
    expect(checksum).to.equal(safeChecksum({ ...batch, meta }));
    expect({ ...batch, meta }).to.deep.equal({
      ...{ version: "1.0", chainId: "56", createdAt: 1_700_000_000_000 },
      meta: {
        name: "settleAll",
        description: `Settles ${settles}`,
        txBuilderVersion: "1.18.0",
        createdFromSafeAddress: "",
        createdFromOwnerAddress: "",
      },
      transactions: [
        {
          ...{ to: ZeroAddress, value: "0", data: SETTLE },
          ...{ contractMethod: null, contractInputsValues: null },
        },
      ],
    });
  });
});

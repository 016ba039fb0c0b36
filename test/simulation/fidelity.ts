import { expect } from "chai";
import type { TransactionReceipt } from "ethers";
import fc from "fast-check";

import { explainRefusal } from "../../src/simulation/refusal.js";
import { decodeRevertReason } from "../../src/rpc/revert-reason.js";
import { encodeRevertData } from "../../src/mocks/failure.js";
import type { HardhatVault, Simulation } from "../../src/types.js";
import { startAnvil } from "../helpers/anvil.js";
import type { ServerProcess } from "../helpers/child-process.js";
import { flatten } from "../helpers/flatten.js";
import { connectTo } from "../helpers/hre.js";
import { deployProtocol, directProvider } from "../helpers/world.js";
import type { MockProtocol } from "../helpers/world.js";
import { isFull, seed } from "../helpers/sample.js";

/** How many each engine has to predict; a fork takes ten times as long for one. */
const scenariosOf = { simulateV1: 40, call: 40, fork: 12 } as const;

/** In turn: a round that is already settled, and a vault that refuses. */
const turns = [
  "settled",
  "refused",
  "open",
  "refused",
  "open",
  "open",
] as const;

const uint256 = fc.oneof(
  fc.bigInt({ min: 0n, max: 2n ** 256n - 1n }),
  fc.bigInt({ min: 0n, max: 10n ** 24n }),
  fc.constantFrom(0n, 1n, 2n ** 256n - 1n),
);
/** A round may end long ago, about now, in ages, or never. */
const time = fc.oneof(
  fc.bigInt({ min: 1_700_000_000n, max: 2_100_000_000n }),
  uint256,
);
const bytes = fc
  .uint8Array({ maxLength: 100 })
  .map((data) => `0x${Buffer.from(data).toString("hex")}`);

/** What a scripted settlement reverts with, 0x hex. */
const revertData = fc.oneof(
  fc.string({ unit: "binary" }).map((reason) => encodeRevertData(reason)),
  fc
    .oneof(
      // A larger code aborts the whole process: EDR's own defect.
      fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }),
      fc.constantFrom(0x01n, 0x11n, 0x12n, 0x32n),
    )
    .map((panic) => encodeRevertData({ panic })),
  uint256.map((id) =>
    encodeRevertData({ customError: "OrderNotFound", args: [id] }),
  ),
  fc
    .tuple(uint256, uint256, uint256)
    .map((args) =>
      encodeRevertData({ customError: "RoundAlreadySettled", args }),
    ),
  bytes,
);

const scenario = fc.record({
  round: fc.record({
    strikePrice: uint256,
    APY: uint256,
    maxVolume: uint256,
    filledVolume: uint256,
    minDeposit: uint256,
    startTime: time,
    endTime: time,
  }),
  price: uint256,
  amount: uint256,
  pools: fc.tuple(uint256, uint256, uint256),
  rate: uint256,
  volume: uint256,
  margins: fc.tuple(uint256, uint256),
  minMargin: uint256,
  refusal: fc.record({
    data: revertData,
    // By the vault itself, or by a contract that it calls.
    by: fc.constantFrom("vault", "vaultFactory"),
  }),
  sender: fc.nat({ max: 9 }),
  delay: fc.option(fc.integer({ min: 1, max: 10_000_000 })),
});

type Scenario = (typeof scenario extends fc.Arbitrary<infer T> ? T : never) & {
  readonly turn: (typeof turns)[number];
};

/** What a settlement really did. */
interface Outcome {
  readonly status: Simulation["status"];
  readonly reason: string | null;
  readonly gasUsed: bigint;
  /** By path, as in `round.settled`: what differs, before and after. */
  readonly changes: ReadonlyMap<string, readonly [unknown, unknown]>;
  readonly block: { readonly number: number; readonly timestamp: number };
}

describe("simulation - fidelity", () => {
  let anvil: ServerProcess;
  let provider: ReturnType<typeof directProvider>;
  let protocol: MockProtocol;
  let vault: HardhatVault;
  let accounts: readonly string[];

  before(async () => {
    anvil = await startAnvil();
    provider = directProvider(anvil.url);
    protocol = await deployProtocol(await provider.getSigner(0));
    accounts = (await provider.listAccounts()).map(({ address }) => address);
    ({ vault } = await connectTo(anvil.url, {
      vault: { contracts: protocol.contracts },
    }));
  });

  after(async () => {
    provider.destroy();
    await anvil.stop();
  });

  for (const engine of ["simulateV1", "call", "fork"] as const) {
    const scenarios = isFull ? 5_000 : scenariosOf[engine];
    it(`should predict what happens in ${scenarios} random scenarios, with ${engine}`, async () => {
      let number = 0;
      const counts = {
        settled: 0,
        "not-settled": 0,
        reverted: 0,
        "nothing-to-do": 0,
      };
      await fc.assert(
        fc.asyncProperty(scenario, async (drawn) => {
          const turn = turns[number++ % turns.length] ?? "open";
          const chosen = { ...drawn, turn };
          await setUp(chosen);
          const as = accounts[chosen.sender];
          const predicted = await vault.simulateSettleAll({
            engine,
            as,
            orders: [1],
            ...(chosen.delay === null ? {} : { atTime: `+${chosen.delay}s` }),
          });
          counts[predicted.status] += 1;
          if (turn === "settled") {
            expect(predicted.status).to.equal("nothing-to-do");
            return;
          }
          const real = await settleReally(as ?? "", chosen.delay);
          expect({
            status: predicted.status,
            reason: predicted.reason,
          }).to.deep.equal({ status: real.status, reason: real.reason });
          expect(changesByPath(predicted)).to.deep.equal(real.changes);
          expect(predicted.block?.number).to.equal(real.block.number);
          if (chosen.delay !== null) {
            expect(predicted.block).to.deep.equal(real.block);
          }
          expect(predicted.gasUsed).to.equal(real.gasUsed);
        }),
        {
          seed,
          numRuns: scenarios,
          endOnFailure: true,
          includeErrorInReport: true,
        },
      );
      // The figures are what this test is for.
      process.stdout.write(
        `      ${engine}, ${scenarios} scenarios: ${counts.settled} settled, ${counts.reverted} reverted, ${counts["nothing-to-do"]} with nothing to do, all as predicted\n`,
      );
      for (const status of ["settled", "reverted", "nothing-to-do"] as const) {
        expect(counts[status], status).to.be.greaterThan(scenarios / 20);
      }
    });
  }

  /** Scripts all mocks in one transaction. */
  async function setUp(chosen: Scenario): Promise<void> {
    const { mocks } = protocol;
    const { vault: settler, vaultFactory } = mocks;
    const settle = settler.getFunction("settleAll").fragment.selector;
    const settleRound =
      vaultFactory.getFunction("settleLatestRound").fragment.selector;
    const { refusal, turn } = chosen;
    const isSettled = turn === "settled";
    const calls = await Promise.all([
      vaultFactory.setRound.populateTransaction({
        ...chosen.round,
        settledPrice: isSettled ? chosen.price : 0n,
        settledAmount: isSettled ? chosen.amount : 0n,
        settled: isSettled,
      }),
      vaultFactory.setMinSLDMargin.populateTransaction(chosen.minMargin),
      settler.setSettlement.populateTransaction(chosen.price, chosen.amount),
      settler.setVolume.populateTransaction(chosen.volume),
      settler.setMarginBalance.populateTransaction(...chosen.margins),
      mocks.publicPool.setLPAmountInfo.populateTransaction(...chosen.pools),
      mocks.underlyingAsset.setFundingFeeRate.populateTransaction(
        1,
        chosen.rate,
      ),
      settler.clearRevert.populateTransaction(settle),
      vaultFactory.clearRevert.populateTransaction(settleRound),
      ...(turn !== "refused"
        ? []
        : [
            refusal.by === "vault"
              ? settler.setRevert.populateTransaction(settle, refusal.data)
              : vaultFactory.setRevert.populateTransaction(
                  settleRound,
                  refusal.data,
                ),
          ]),
    ]);
    const { status } = await mined({
      from: accounts[0],
      ...(await settler.script.populateTransaction(
        calls.map(({ to, data }) => ({ target: to, data })),
      )),
    });
    expect(status).to.equal(1);
  }

  /** Settles on the node, past everything of ours that could be wrong. */
  async function settleReally(
    from: string,
    delay: number | null,
  ): Promise<Outcome> {
    const call = {
      from,
      to: protocol.contracts.vault,
      data: protocol.mocks.vault.interface.encodeFunctionData("settleAll"),
    };
    const before = await vault.snapshot();
    const revert = await revertOf(call);
    if (delay !== null) {
      await provider.send("evm_setNextBlockTimestamp", [
        before.block.timestamp + delay,
      ]);
    }
    const receipt = await mined(call);
    const after = await vault.snapshot();
    expect(receipt.status === 0).to.equal(revert !== undefined);
    return {
      status: receipt.status === 1 ? "settled" : "reverted",
      reason:
        revert === undefined
          ? null
          : (await explainRefusal(vault, decodeRevertReason(revert))).reason,
      gasUsed: receipt.gasUsed,
      changes: differences(before, after),
      block: after.block,
    };
  }

  async function mined(transaction: object): Promise<TransactionReceipt> {
    const hash: unknown = await provider.send("eth_sendTransaction", [
      { ...transaction, gas: "0xf4240" },
    ]);
    const receipt = await provider.getTransactionReceipt(String(hash));
    if (receipt === null) {
      throw new Error("a transaction that was not mined");
    }
    return receipt;
  }

  /** The revert data that the node itself answers. */
  async function revertOf(call: object): Promise<string | undefined> {
    const response = await fetch(anvil.url, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({
        jsonrpc: "2.0",
        id: 1,
        method: "eth_call",
        params: [call, "latest"],
      }),
    });
    const answer: unknown = await response.json();
    const error: unknown =
      typeof answer === "object" && answer !== null && "error" in answer
        ? answer.error
        : undefined;
    if (typeof error !== "object" || error === null) {
      return undefined;
    }
    return "data" in error ? String(error.data) : "0x";
  }
});

/** Paths of values that differ between two snapshots, but for the block. */
function differences(before: object, after: object): Outcome["changes"] {
  const [old, young] = [flatten(before), flatten(after)];
  return new Map(
    [...old.keys()]
      .filter((path) => !path.startsWith("block"))
      .filter((path) => old.get(path) !== young.get(path))
      .map((path) => [path, [old.get(path), young.get(path)]]),
  );
}

function changesByPath({ changes }: Simulation): Outcome["changes"] {
  return new Map(
    changes.map(({ reading, field, before, after }) => [
      `${reading}.${field}`,
      [before, after],
    ]),
  );
}

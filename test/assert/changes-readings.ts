import { AssertionError } from "node:assert";
import { inspect } from "node:util";

import { expect } from "chai";

import { changesReadings } from "../../src/assert/index.js";
import type { ExpectedReadings } from "../../src/assert/index.js";
import { expectVaultError } from "../helpers/assertions.js";
import { PRICE, failureOf, useOpenRound } from "../helpers/open-round.js";
import type { OpenRound } from "../helpers/open-round.js";

const lines = (message: string): readonly string[] =>
  message
    .split("\n")
    .slice(1)
    .map((line) => line.trim());

describe("changesReadings()", () => {
  const round = useOpenRound();

  const to95 = ({ setVolume }: OpenRound) => setVolume(95n);
  const settle = (on: OpenRound) => on.settle();
  const holds: ReadonlyArray<
    readonly [
      expected: ExpectedReadings | undefined,
      send: (round: OpenRound) => Promise<unknown>,
    ]
  > = [
    [undefined, to95],
    [{ volume: 95n }, to95],
    [{ volume: { by: -5 } }, to95],
    [{ volume: { from: 100n, to: 95 } }, to95],
    [{ volume: { to: 95n, from: 100 } }, to95],
    [{ round: { settled: true, settledAmount: { by: 77n } } }, settle],
    [{ round: { settled: { from: false, to: true } } }, settle],
    [{ round: { settledPrice: { from: 0, to: PRICE } } }, settle],
  ];
  for (const [expected, send] of holds) {
    it(`changesReadings() passes on ${send === to95 ? "a volume that changes 100 → 95" : "a settlement"} with ${inspect(expected, { breakLength: Infinity })}`, async () => {
      await changesReadings(round().vault, send(round()), expected);
    });
  }

  it("changesReadings() passes on a change to zero", async () => {
    const { vault, setVolume } = round();
    await changesReadings(vault, setVolume(0n), { volume: 0 });
  });

  it("changesReadings() looks at the block of the transaction, not at what came later", async () => {
    const { vault, mocks, setVolume } = round();
    const sent = await setVolume(95n);
    await setVolume(7n);
    await mocks.fail("queryVolume");
    await changesReadings(vault, sent, { volume: { from: 100n, to: 95n } });
  });

  it("changesReadings() fails if mockAt() replaced a contract in the transaction's block", async () => {
    const { vault, mocks, setVolume, request } = round();
    const address = `0x${"12".repeat(20)}`;
    // Returns ten words of zeros.
    await request("hardhat_setCode", address, "0x6101406000f3");
    await request("evm_mine");
    const real = vault.at({ ...mocks.addresses, vaultFactory: address });
    const sent = await setVolume(95n);
    await real.mockAt("vaultFactory", { overrides: { round: { APY: 5n } } });
    const { message } = await failureOf(
      changesReadings(real, sent, { round: { APY: 5n } }),
    );
    expect(message).to.match(/^the mocks were changed after transaction/u);
  });

  for (const [expected, found, wanted] of [
    [{ by: -4n }, "a change by -4, but it changed 100 → 95", "100 → 96"],
    [{ by: 5n }, "a change by +5, but it changed 100 → 95", "100 → 105"],
    [94n, "a change to 94, but it changed 100 → 95", "100 → 94"],
    [
      { from: 99n, to: 95n },
      "a change from 99 to 95, but it changed 100 → 95",
      "99 → 95",
    ],
    [
      { from: 95n, to: 100n },
      "a change from 95 to 100, but it changed 100 → 95",
      "95 → 100",
    ],
  ] as const) {
    it(`changesReadings() fails on a volume that changes 100 → 95 with ${inspect(expected)}`, async () => {
      const { vault, setVolume } = round();
      const failure = await failureOf(
        changesReadings(vault, setVolume(95n), { volume: expected }),
      );
      expect(lines(failure.message)).to.deep.equal([
        `volume: expected ${found}`,
      ]);
      expect(failure)
        .to.be.instanceOf(AssertionError)
        .and.deep.include({
          operator: "changesReadings",
          expected: { volume: wanted },
          actual: { volume: "100 → 95" },
        });
    });
  }

  it("changesReadings() fails on a value that is as before, though it is the expected one", async () => {
    const { vault, setVolume } = round();
    for (const volume of [100n, { from: 100n, to: 100n }]) {
      const { message } = await failureOf(
        changesReadings(vault, setVolume(100n), { volume }),
      );
      expect(message).to.match(/, but it is 100 as before$/u);
    }
  });

  it("changesReadings() lists every reading that changed otherwise, and none that changed as expected", async () => {
    const { vault, setVolume } = round();
    const { message } = await failureOf(
      changesReadings(vault, setVolume(95n), {
        volume: 95n,
        minXMargin: { by: 5n },
        fundingFeeRate: { put: { from: 3n, to: 4n } },
        pools: { public: { locked: { by: -1 } }, private: { locked: 50n } },
        round: { settled: false, filledVolume: 8n },
      }),
    );
    expect(lines(message)).to.deep.equal([
      "minXMargin: expected a change by +5, but it is 0 as before",
      "fundingFeeRate.put: expected a change from 3 to 4, but it is 4 as before",
      "pools.public.locked: expected a change by -1, but it is 0 as before",
      "pools.private.locked: expected a change to 50, but it is 50 as before",
      "round.settled: expected a change to false, but it is false as before",
      "round.filledVolume: expected a change to 8, but it is 7 as before",
    ]);
  });

  it("changesReadings() does without readings that fail and are not expected", async () => {
    const { vault, mocks, withoutRound, setVolume } = round();
    await mocks.fail("getLPAmountInfo", "dry", { pool: "private" });
    await changesReadings(vault, setVolume(95n), { volume: 95n });
    await changesReadings(withoutRound, setVolume(1n), { volume: 1n });
    const { message } = await failureOf(
      changesReadings(vault, setVolume(2n), {
        pools: { public: { locked: 5n } },
      }),
    );
    expect(message).to.contain("pools.public.locked: expected a change to 5");
  });

  it("changesReadings() throws the error of an expected reading that fails, and of any without expected", async () => {
    const { vault, mocks, withoutRound, setVolume } = round();
    await mocks.fail("getLPAmountInfo", "dry", { pool: "private" });
    const sent = await setVolume(95n);
    const unknown =
      "function selector was not recognized and there's no fallback function";
    for (const [of, expected, reason] of [
      [vault, { volume: 95n, pools: { private: { locked: 5n } } }, "dry"],
      [vault, undefined, "dry"],
      [withoutRound, { volume: 95n, round: { APY: 1n } }, unknown],
    ] as const) {
      const { details } = await expectVaultError(
        changesReadings(of, sent, expected),
        "VAULT_CALL_REVERTED",
      );
      expect(details["reason"]).to.equal(reason);
    }
  });

  const refusals: ReadonlyArray<readonly [expected: unknown, message: string]> =
    [
      [
        { volum: 1n },
        "there is no reading volum; there are fundingFeeRate.call",
      ],
      [{ round: { settld: true } }, "there is no reading round.settld; "],
      [
        { volume: 1n, pools: { privat: {} } },
        "there is no reading pools.privat",
      ],
      ...[{}, 5, []].map(
        (none) =>
          [none, "the expected readings must be an object that names"] as const,
      ),
      [{ volume: 1n, round: undefined }, "round must be an object that names"],
      [{ pools: { public: {} } }, "pools.public must be an object that names"],
      [{ round: { settled: { by: 1n } } }, "round.settled must be a value, "],
      ...[
        { by: 0 },
        { by: 1.5 },
        { by: 2 ** 53 },
        { by: "-99" },
        { by: -99n, to: 1n },
        { from: 100n, to: 1n, by: -99n },
        { to: 1n },
        {},
      ].map((volume) => [{ volume }, "volume must be a value, "] as const),
    ];
  for (const [expected, message] of refusals) {
    it(`changesReadings() refuses ${inspect(expected)}: ${message}`, async () => {
      const { vault, setVolume } = round();
      const failure = await failureOf(
        // @ts-expect-error -- the types refuse it, too
        changesReadings(vault, setVolume(1n), expected),
      );
      expect(failure.message.slice(0, message.length)).to.equal(message);
    });
  }

  const impossible: ReadonlyArray<
    readonly [expected: unknown, where: string, code?: "VAULT_INVALID_ENUM"]
  > = [
    ...[-1n, null, undefined, true, "one"].map(
      (volume) => [{ volume }, "volume"] as const,
    ),
    [{ volume: { from: 100n, to: -1n } }, "volume"],
    [{ volume: { from: -1n, to: 1n } }, "volume"],
    [{ round: { settled: 1n } }, "round.settled", "VAULT_INVALID_ENUM"],
  ];
  for (const [expected, where, code = "VAULT_INVALID_INTEGER"] of impossible) {
    it(`changesReadings() throws ${code} for ${inspect(expected)}`, async () => {
      const { vault, setVolume } = round();
      const { details } = await expectVaultError(
        // @ts-expect-error -- the types refuse it, too
        changesReadings(vault, setVolume(1n), expected),
        code,
      );
      expect(details["where"]).to.equal(where);
    });
  }

  it("changesReadings() waits for the transaction before it refuses what is expected", async () => {
    const failed = Promise.reject(new RangeError("not the keeper"));
    const failure = await failureOf(
      // @ts-expect-error -- no such reading
      changesReadings(round().vault, failed, { volum: 1n }),
    );
    expect(failure).to.be.instanceOf(RangeError);
  });
});

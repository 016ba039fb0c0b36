import { expect, util } from "chai";

import "../../src/chai/index.js";
import {
  AMOUNT,
  PRICE,
  failureOf,
  untyped,
  useOpenRound,
} from "../helpers/open-round.js";
import type { OpenRound } from "../helpers/open-round.js";

describe("settleRound, settledRound and changeReadings of Chai", () => {
  const round = useOpenRound();

  it("settleRound and settledRound pass with the price and the amount, in any order", async () => {
    const { vault, settle } = round();
    await expect(settle())
      .to.settleRound(vault)
      .withPrice(PRICE)
      .withAmount(77);
    await expect(vault)
      .to.have.settledRound()
      .withAmount(AMOUNT)
      .withPrice(PRICE);
  });

  for (const [title, check, message] of [
    [
      "withAmount",
      ({ vault, settle }: OpenRound) =>
        expect(settle()).to.settleRound(vault).withPrice(PRICE).withAmount(0),
      /settledAmount 0, but it is 77$/u,
    ],
    [
      "withPrice before a right amount",
      ({ vault, settle }: OpenRound) =>
        expect(settle()).to.settleRound(vault).withPrice(1n).withAmount(77n),
      /settledPrice 1 .*, but it is 2000000000000000000000/u,
    ],
    [
      "the round before its amount",
      ({ vault }: OpenRound) =>
        expect(vault).to.have.settledRound().withAmount(77n),
      /round to be settled, but it is not/u,
    ],
  ] as const) {
    it(`a chain fails by ${title}`, async () => {
      const { message: actual } = await failureOf(check(round()));
      expect(actual).to.match(message);
    });
  }

  for (const [title, check, message] of [
    [
      "withPrice",
      ({ vault, setVolume }: OpenRound) =>
        expect(setVolume(1n)).to.not.settleRound(vault).withPrice(1n),
      ".withPrice() cannot follow .not",
    ],
    [
      "withAmount of a latest round",
      ({ vault }: OpenRound) =>
        expect(vault).to.not.have.settledRound().withAmount(0n),
      ".withAmount() cannot follow .not",
    ],
    [
      "withAmount with a .not of its own",
      ({ vault, settle }: OpenRound) =>
        untyped(
          expect(settle()).to.settleRound(vault).and.not,
          "withAmount",
          5n,
        ),
      ".withAmount() cannot follow .not",
    ],
  ] as const) {
    it(`${title} cannot follow .not`, async () => {
      const failure = await failureOf(check(round()));
      expect(failure.message.slice(0, message.length)).to.equal(message);
    });
  }

  it("withPrice after .not fails by the round first", async () => {
    const { vault, settle } = round();
    const { message } = await failureOf(
      expect(settle()).to.not.settleRound(vault).withPrice(PRICE),
    );
    expect(message).to.contain("not to settle the vault's round, but it did");
  });

  it("a matcher does not follow another one, nor one of Hardhat's", async () => {
    const { vault, settle } = round();
    const sent = await settle();
    const emits = expect(sent);
    util.flag(emits, "previousMatcherName", "emit");
    const settled = expect(sent).to.settleRound(vault).withAmount(AMOUNT);
    for (const [chained, previous] of [
      [emits.changeReadings(vault), "emit"],
      [settled.and.changeReadings(vault), "withAmount"],
    ] as const) {
      const { message } = await failureOf(chained);
      expect(message).to.match(
        new RegExp(`^changeReadings .* after ${previous}:`, "u"),
      );
    }
  });

  it("a message of the test comes first in every failure", async () => {
    const { vault, settle } = round();
    const sent = await settle();
    for (const check of [
      () => expect(vault, "round 2").to.not.have.settledRound(),
      () => expect(sent, "round 2").to.settleRound(vault).withAmount(78n),
      () => expect(sent, "round 2").to.settleRound(vault).withPrice(0n),
      () => expect(undefined, "round 2").to.changeReadings(vault),
    ]) {
      const { message } = await failureOf(check());
      expect(message).to.match(/^round 2: expected /u);
    }
  });

  it("a matcher has the methods of a promise", async () => {
    const { vault, settle } = round();
    const sent = await settle();
    let ended = 0;
    const end = (): void => {
      ended += 1;
    };
    await expect(sent).to.settleRound(vault).finally(end);
    const { message } = await failureOf(
      expect(sent).to.not.settleRound(vault).finally(end),
    );
    expect(message).to.contain("not to settle the vault's round, but it did");
    expect(ended).to.equal(2);
    const caught: unknown = await expect(sent)
      .to.not.settleRound(vault)
      .catch(() => "caught");
    expect(caught).to.equal("caught");
  });

  it("settleRound passes with .not for what settled nothing, and a round that was settled before", async () => {
    const { vault, settle, setVolume } = round();
    await expect(setVolume(1n)).to.not.settleRound(vault);
    await expect(vault).to.not.have.settledRound();
    await settle();
    await expect(setVolume(2n)).to.not.settleRound(vault);
    await expect(vault.settleAll()).to.not.settleRound(vault);
    await expect(vault.settleAll()).to.not.changeReadings(vault);
  });

  it("settleRound and its negation fail if another round took the round's place", async () => {
    const { vault, startNextRound } = round();
    const sent = await startNextRound();
    for (const check of [
      () => expect(sent).to.settleRound(vault),
      () => expect(sent).to.not.settleRound(vault),
    ]) {
      const { message } = await failureOf(check());
      expect(message).to.contain("another round took its place");
    }
  });

  it("settleRound throws what the transaction's promise is rejected with, also with .not", async () => {
    const { vault } = round();
    for (const isNegated of [false, true]) {
      const failed = Promise.reject(new RangeError("not the keeper"));
      const subject = expect(failed);
      const failure = await failureOf(
        (isNegated ? subject.to.not : subject.to).settleRound(vault),
      );
      expect(failure).to.be.instanceOf(RangeError);
    }
  });

  it("changeReadings passes with .not if none of the stated changes happened, and lists those that did", async () => {
    const { vault, setVolume } = round();
    const sent = await setVolume(95n);
    await expect(sent).to.changeReadings(vault, { volume: { by: -5 } });
    for (const [volume, minXMargin] of [
      [94n, 0n],
      [{ from: 1n, to: 95n }, { by: 5n }],
    ] as const) {
      await expect(sent).to.not.changeReadings(vault, { volume, minXMargin });
    }
    const { message } = await failureOf(
      expect(sent).to.not.changeReadings(vault, {
        volume: 95n,
        minXMargin: 1n,
      }),
    );
    expect(message).to.equal(
      `expected transaction ${sent.hash} not to change readings so, but it did:\n  volume: 100 → 95`,
    );
  });

  it("changeReadings without readings passes on any change, and with .not on none", async () => {
    const { vault, settle, setVolume } = round();
    await expect(setVolume(100n)).to.not.changeReadings(vault);
    const sent = await settle();
    await expect(sent).to.changeReadings(vault);
    const { message } = await failureOf(
      expect(sent).to.not.changeReadings(vault),
    );
    expect(message.split("\n  ").slice(1)).to.deep.equal([
      `round.settledPrice: 0 → ${PRICE}`,
      "round.settledAmount: 0 → 77",
      "round.settled: false → true",
    ]);
  });
});

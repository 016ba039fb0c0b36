import { setImmediate } from "node:timers/promises";

import hardhatChaiMatchers from "@nomicfoundation/hardhat-ethers-chai-matchers";
import { expect } from "chai";

import "../../src/chai/index.js";
import { expectVaultError } from "../helpers/assertions.js";
import { callMethod } from "../helpers/call-method.js";
import { createTestHre } from "../helpers/hre.js";
import {
  AMOUNT,
  PRICE,
  failureOf,
  useOpenRound,
} from "../helpers/open-round.js";
import type { OpenRound } from "../helpers/open-round.js";

describe("matchers of hardhat-vault/chai", () => {
  const round = useOpenRound();

  it("settleRound and roundSettled pass with the price and the amount, in any order", async () => {
    const { vault, settle } = round();
    await expect(settle())
      .to.settleRound(vault)
      .withPrice(PRICE)
      .withAmount(77);
    await expect(vault)
      .to.have.roundSettled()
      .withAmount(AMOUNT)
      .withPrice(PRICE);
  });

  for (const [title, check, message] of [
    [
      "a wrong amount",
      ({ vault, settle }: OpenRound) =>
        expect(settle()).to.settleRound(vault).withPrice(PRICE).withAmount(0),
      /settledAmount 0, but it is 77$/u,
    ],
    [
      "a wrong price before a right amount",
      ({ vault, settle }: OpenRound) =>
        expect(settle()).to.settleRound(vault).withPrice(1n).withAmount(77n),
      /settledPrice 1, but it is 2000000000000000000000/u,
    ],
    [
      "the round before its amount",
      ({ vault }: OpenRound) =>
        expect(vault).to.have.roundSettled().withAmount(77n),
      /round to be settled, but it is not/u,
    ],
    [
      "withPrice after .not",
      ({ vault, setVolume }: OpenRound) =>
        expect(setVolume(1n)).to.not.settleRound(vault).withPrice(1n),
      /^\.withPrice\(\) cannot follow \.not: it would not be clear which part is denied$/u,
    ],
    [
      "withAmount after a .not of its own",
      ({ vault, settle }: OpenRound) =>
        callMethod(
          ...([
            expect(settle()).to.settleRound(vault).and.not,
            ...(["withAmount", 5n] as const),
          ] as const),
        ),
      /^\.withAmount\(\) cannot follow \.not/u,
    ],
    [
      "withAmount of changed readings",
      ({ vault, setVolume }: OpenRound) =>
        callMethod(
          expect(setVolume(1n)).to.changeReadings(vault),
          ...(["withAmount", 1n] as const),
        ),
      /^\.withAmount\(\) must follow \.settleRound\(\) or \.roundSettled\(\)$/u,
    ],
  ] as const) {
    it(`a chain fails by ${title}`, async () => {
      const { message: actual } = await failureOf(check(round()));
      expect(actual).to.match(message);
    });
  }

  it("matchers of a chain must all pass", async () => {
    const { vault, settle } = round();
    const sent = await settle();
    await expect(sent)
      .to.settleRound(vault)
      .withAmount(AMOUNT)
      .and.to.changeReadings(vault, { round: { settled: true } });
    for (const [chain, wanted] of [
      [
        () =>
          expect(sent)
            .to.settleRound(vault)
            .withAmount(1n)
            .and.to.changeReadings(vault),
        /settledAmount 1, but it is 77$/u,
      ],
      [
        () =>
          expect(sent)
            .to.settleRound(vault)
            .and.to.changeReadings(vault, { volume: 5n }),
        /volume: expected 100 → 5, but it is 100 as before$/u,
      ],
    ] as const) {
      expect((await failureOf(chain())).message).to.match(wanted);
    }
  });

  it("a message of the test comes first in a failure", async () => {
    const { vault } = round();
    const { message } = await failureOf(
      expect(vault, "round 2").to.have.roundSettled(),
    );
    expect(message).to.match(/^round 2: expected /u);
  });

  it("a matcher has the methods of a promise", async () => {
    const { vault, settle } = round();
    const sent = await settle();
    let ended = 0;
    const end = (): void => {
      ended += 1;
    };
    await expect(sent).to.settleRound(vault).finally(end);
    const caught: unknown = await expect(sent)
      .to.not.settleRound(vault)
      .finally(end)
      .catch(() => "caught");
    expect([caught, ended]).to.deep.equal(["caught", 2]);
  });

  it("Hardhat's matchers work beside settleRound, and leave a reading's VaultError to the test", async () => {
    const hre = await createTestHre({ plugins: [hardhatChaiMatchers] });
    const connection = await hre.network.create();
    const { vault, ethers } = connection;
    const mocks = await vault.deployMocks();
    const contract = mocks.contracts.vault.connect(
      await ethers.provider.getSigner(0),
    );
    const sent = await contract.settleAll();
    await expect(sent).to.settleRound(vault);
    await expect(sent).to.not.be.revert(ethers);
    await expect(contract.settleAll()).to.be.revertedWithCustomError(
      contract,
      "RoundAlreadySettled",
    );
    // Neither follows one of the other package.
    const quiet = expect(sent).to.not.be.revert(ethers);
    const { message } = await failureOf(quiet.and.to.settleRound(vault));
    expect(message).to.contain("settleRound cannot be chained after revert");
    const first = expect(sent).to.settleRound(vault);
    expect(() => first.and.to.emit(contract, "Settled")).to.throw(
      'cannot be chained after "settleRound"',
    );
    await first;
    await mocks.fail("queryVolume", "closed");
    await expect(contract.queryVolume()).to.be.revertedWith("closed");
    // Hardhat's matchers recognise errors of ethers only.
    await expectVaultError(async () => {
      await expect(vault.queryVolume()).to.be.revertedWith("closed");
    }, "VAULT_CALL_REVERTED");
    await connection.close();
  });

  it("a matcher that fails and is not awaited throws where no test can miss it", async () => {
    const event = "uncaughtException";
    const listeners = process.listeners(event);
    process.removeAllListeners(event);
    const thrown = new Promise((resolve) => {
      process.once(event, resolve);
    });
    const none = Promise.reject(new Error("never sent"));
    // oxlint-disable-next-line typescript/no-floating-promises -- as a careless test does
    expect(none).to.settleRound(round().vault);
    expect(String(await thrown)).to.contain("never sent");
    for (const listener of listeners) {
      process.on(event, listener);
    }
  });

  it("a matcher that follows one that fails leaves no rejected promise", async () => {
    const { message } = await failureOf(
      // @ts-expect-error -- a vault is asserted
      expect(1).to.settleRound(undefined).and.to.changeReadings(undefined),
    );
    expect(message).to.contain("a vault is needed");
    // Node.js reports a rejection without a handler at the end of a turn.
    await setImmediate();
  });

  it("roundSettled and settleRound take hre.vault", async () => {
    const hre = await createTestHre();
    await hre.vault.deployMocks();
    const sent = hre.vault.settleAll();
    await expect(sent).to.settleRound(hre.vault);
    await expect(hre.vault).to.have.roundSettled();
    await (await hre.vault.connect()).connection.close();
  });
});

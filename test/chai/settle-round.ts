import { expect } from "chai";

import "../../src/chai/index.js";
import { VaultError } from "../../src/errors.js";
import type { HardhatVault } from "../../src/plugin/hardhat-vault.js";
import { expectVaultError, failureOf } from "../helpers/assertions.js";
import {
  SETTLED_AMOUNT,
  SETTLED_PRICE,
  createMatcherWorld,
  openRound,
} from "../helpers/world.js";
import type { MatcherWorld } from "../helpers/world.js";

/** What an assertion throws that is no failed assertion. */
async function errorOf(assertion: PromiseLike<unknown>): Promise<unknown> {
  const error = await assertion.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  expect(error).to.be.instanceOf(Error);
  expect(error).to.not.have.property("name", "AssertionError");
  return error;
}

/** A matcher takes none of these for an answer: it fails with .not, too. */
async function expectNoAnswer(
  subject: unknown,
  vault: HardhatVault,
  message: RegExp,
): Promise<void> {
  for (const assertion of [
    () => expect(subject).to.settleRound(vault),
    () => expect(subject).to.not.settleRound(vault),
  ]) {
    expect(await failureOf(assertion)).to.match(message);
  }
}

describe("chai - settleRound", () => {
  let world: MatcherWorld;
  beforeEach(async () => {
    world = await createMatcherWorld();
  });
  afterEach(async () => {
    await world.connection.close();
  });

  it("should pass on each thing that stands for the transaction", async () => {
    const { vault, mockVault, mockFactory } = world;
    await expect(mockVault.settleAll()).to.settleRound(vault);

    await mockFactory.setRound(openRound);
    const tx = await mockVault.settleAll();
    await expect(tx).to.settleRound(vault);
    await expect(tx.hash).to.settleRound(vault);
    await expect(await tx.wait()).to.settleRound(vault);

    await mockFactory.setRound(openRound);
    await expect(vault.settleAll()).to.settleRound(vault);
  });

  it("should compare the price and the amount", async () => {
    const { vault, mockVault } = world;
    const tx = await mockVault.settleAll();
    await expect(tx)
      .to.settleRound(vault)
      .withPrice(SETTLED_PRICE)
      .withAmount(Number(SETTLED_AMOUNT));
    await expect(tx).to.settleRound(vault).withAmount(SETTLED_AMOUNT);

    // The first of two details must not be forgotten for the second.
    expect(
      await failureOf(() =>
        expect(tx)
          .to.settleRound(vault)
          .withPrice(5n)
          .withAmount(SETTLED_AMOUNT),
      ),
    ).to.equal(
      `expected the round to be settled with settledPrice 5 (real value 0.000000000000000005), but it is ${SETTLED_PRICE} (real value 2000.0)`,
    );
    expect(
      await failureOf(() =>
        expect(tx)
          .to.settleRound(vault)
          .withPrice(SETTLED_PRICE)
          .withAmount(78n),
      ),
    ).to.equal(
      "expected the round to be settled with settledAmount 78, but it is 77",
    );
  });

  it("should fail on a transaction that did not settle", async () => {
    const { vault, mockVault } = world;
    const tx = await mockVault.setVolume(1n);
    await expect(tx).to.not.settleRound(vault);
    expect(await failureOf(() => expect(tx).to.settleRound(vault))).to.match(
      /^expected transaction 0x[0-9a-f]{64} to settle the vault's round, but it is still not settled \(the round from 2033-05-11T03:33:20Z to 2033-05-18T03:33:20Z with strike price 1900\)$/u,
    );
    expect(
      await failureOf(() => expect(tx).to.settleRound(vault).withPrice(0n)),
    ).to.match(/still not settled/u);
  });

  it("should begin the stack of a failure in the line of the test", async () => {
    const { vault, mockVault } = world;
    const tx = await mockVault.settleAll();
    for (const assertion of [
      () => expect(vault).to.not.have.settledRound(),
      () => expect(tx).to.settleRound(vault).withPrice(1n),
      () => expect(tx).to.changeReadings(vault, { volume: 3n }),
    ]) {
      const error: unknown = await assertion().then(
        () => undefined,
        (reason: unknown) => reason,
      );
      const { stack = "", message } =
        error instanceof Error ? error : new Error("the assertion passed");
      const title = `AssertionError: ${message}\n`;
      expect(stack.slice(0, title.length)).to.equal(title);
      expect(stack.slice(title.length).split("\n")[0]).to.match(
        /test\/chai\/settle-round\.ts:\d+:\d+/u,
      );
    }
  });

  it("should fail on a later transaction, the round being settled", async () => {
    const { vault, mockVault } = world;
    expect(
      await failureOf(() =>
        expect(mockVault.settleAll()).to.not.settleRound(vault),
      ),
    ).to.match(
      /but it did .*settledPrice 2000000000000000000000, settledAmount 77/u,
    );
    const later = await mockVault.setVolume(1n);
    expect(await failureOf(() => expect(later).to.settleRound(vault))).to.match(
      /it was settled before/u,
    );
    await expect(later).to.not.settleRound(vault);
  });

  it("should fail where another round took its place", async () => {
    const { vault, mockFactory } = world;
    const tx = await mockFactory.setRound({
      ...openRound,
      startTime: openRound.endTime,
      endTime: openRound.endTime + 1n,
      settledPrice: 1n,
      settled: true,
    });
    expect(await failureOf(() => expect(tx).to.settleRound(vault))).to.match(
      /another round took its place\n {2}before: .*\n {3}after: /u,
    );
  });

  it("should pass on a revert neither with nor without .not", async () => {
    const { vault, mockVault } = world;
    await mockVault.settleAll();
    for (const assertion of [
      expect(mockVault.settleAll()).to.settleRound(vault),
      expect(mockVault.settleAll()).to.not.settleRound(vault),
    ]) {
      // The rejection itself comes through.
      expect(String(await errorOf(assertion))).to.match(/RoundAlreadySettled/u);
    }
  });

  it("should fail on a mined revert, with and without .not", async () => {
    const { connection, vault, mockVault } = world;
    const { provider } = connection;
    await mockVault.settleAll();
    await provider.request({ method: "evm_setAutomine", params: [false] });
    const tx = await mockVault.settleAll({ gasLimit: 500_000n });
    await provider.request({ method: "evm_mine", params: [] });
    await expectNoAnswer(
      tx,
      vault,
      /^transaction 0x[0-9a-f]{64} reverted, so it changed nothing/u,
    );
  });

  it("should wait for a settlement that was sent and is not mined yet", async () => {
    const { vault, connection } = world;
    await connection.provider.request({
      method: "evm_setAutomine",
      params: [false],
    });
    const settlement = await vault.settleAll({ timeout: 300 });
    expect(settlement).to.include({ status: "unconfirmed", blockNumber: null });
    const assertion = expect(settlement)
      .to.settleRound(vault)
      .withPrice(SETTLED_PRICE);
    await connection.provider.request({ method: "evm_mine" });
    await assertion;
  });

  it("should fail where the block holds other transactions too", async () => {
    const { connection, vault, mockVault } = world;
    const { provider } = connection;
    await provider.request({ method: "evm_setAutomine", params: [false] });
    const settling = await mockVault.settleAll({ gasLimit: 500_000n });
    const other = await mockVault.setVolume(1n, { gasLimit: 500_000n });
    await provider.request({ method: "evm_mine", params: [] });
    await expectNoAnswer(settling, vault, /holds 2 transactions/u);
    await expectNoAnswer(other, vault, /holds 2 transactions/u);
  });

  it("should tell a settlement that sent nothing by its reason", async () => {
    const { vault } = world;
    const refused = await vault.settleAll({
      confirm: async () => await Promise.resolve("because"),
    });
    expect(refused.status).to.equal("refused");
    await expectNoAnswer(
      refused,
      vault,
      /^expected a settlement that was sent, but it was refused: .*because/u,
    );
  });

  it("should fail on a settlement with nothing to do, and pass .not", async () => {
    const { vault } = world;
    await vault.settleAll();
    const second = await vault.settleAll();
    await expect(second).to.not.settleRound(vault);
    expect(
      await failureOf(() => expect(second).to.settleRound(vault)),
    ).to.match(/nothing was sent: the settlement had nothing to do/u);
  });

  it("should fail on a transaction of another network, also with .not", async () => {
    const { vault } = world;
    const elsewhere = await createMatcherWorld();
    try {
      const tx = await elsewhere.mockVault.settleAll();
      // Another nonce than any transaction of this world has.
      const second = await elsewhere.mockVault.setVolume(123_456n);
      await tx.wait();
      await expectNoAnswer(
        second,
        vault,
        /is not known on the vault's network.*hre\.vault and network\.create\(\) are different chains/u,
      );
    } finally {
      await elsewhere.connection.close();
    }
  });

  it("should pass on an unreadable round neither with nor without .not", async () => {
    const { connection, mockVault, vault } = world;
    const tx = await mockVault.settleAll();
    const wrong = vault.at({ vaultFactory: await mockVault.getAddress() });
    for (const assertion of [
      expect(tx).to.settleRound(wrong),
      expect(tx).to.not.settleRound(wrong),
    ]) {
      expect(VaultError.isVaultError(await errorOf(assertion))).to.equal(true);
    }
    await expectVaultError(
      expect(tx).to.settleRound(connection.vault),
      "VAULT_CONTRACT_NOT_CONFIGURED",
    );
  });

  it("should refuse what is not a transaction or not a vault", async () => {
    const { vault, mockVault } = world;
    for (const subject of [undefined, 1, "0x12", {}, { hash: 5 }]) {
      await expectNoAnswer(
        subject,
        vault,
        /^expected a transaction, its hash or a settlement, got/u,
      );
    }
    const tx = await mockVault.settleAll();
    expect(
      await failureOf(() =>
        // @ts-expect-error -- a contract is not a vault that can be read
        // eslint-disable-next-line @typescript-eslint/no-unsafe-class-instance-assignment -- wrong on purpose
        expect(tx).to.settleRound(mockVault),
      ),
    ).to.contain(
      "a vault is needed (connection.vault, mocks.vault or await hre.vault.connect())",
    );
  });

  it("should refuse details after .not and without a round, and a second matcher", async () => {
    const { vault, mockVault } = world;
    const tx = await mockVault.setVolume(1n);
    const unsettled = expect(tx).to.not.settleRound(vault);
    await unsettled;
    const bare: unknown = expect(tx);
    const changed: unknown = expect(tx).to.changeReadings(vault);
    for (const [assertion, message] of [
      [
        () => unsettled.and.to.changeReadings(vault),
        "changeReadings cannot be chained after settleRound",
      ],
      [
        () => expect(tx).to.not.settleRound(vault).withPrice(1n),
        ".withPrice() cannot follow .not",
      ],
      [
        () =>
          // eslint-disable-next-line @typescript-eslint/consistent-type-assertions -- the types have it only after a round
          (bare as Chai.SettledRoundAssertion).withAmount(1n),
        ".withAmount() must follow",
      ],
      [
        () =>
          // eslint-disable-next-line @typescript-eslint/consistent-type-assertions -- the types have it only after a round
          (changed as Chai.SettledRoundAssertion).withPrice(1n),
        ".withPrice() must follow",
      ],
    ] as const) {
      expect(await failureOf(assertion)).to.contain(message);
    }
    const settling = await mockVault.settleAll();
    for (const [assertion, message] of [
      [
        expect(settling).to.settleRound(vault).withPrice(-1n),
        "settledPrice is not a whole number",
      ],
      [
        expect(settling).to.settleRound(vault).withAmount(1.5),
        "settledAmount is not a whole number",
      ],
    ] as const) {
      expect(String(await errorOf(assertion))).to.contain(message);
    }
  });
});

describe("chai - settledRound", () => {
  let world: MatcherWorld;
  before(async () => {
    world = await createMatcherWorld();
  });
  after(async () => {
    await world.connection.close();
  });

  it("should tell an open round from a settled one, and its result", async () => {
    const { vault, mockVault } = world;
    await expect(vault).to.not.have.settledRound();
    expect(
      await failureOf(() => expect(vault).to.have.settledRound()),
    ).to.match(/to be settled, but it is not .*with strike price 1900/u);
    await mockVault.settleAll();
    await expect(vault)
      .to.have.settledRound()
      .withPrice(SETTLED_PRICE)
      .withAmount(SETTLED_AMOUNT);
    expect(
      await failureOf(() => expect(vault).to.not.have.settledRound()),
    ).to.match(/not to be settled, but it is .*settledAmount 77/u);
    expect(
      await failureOf(() =>
        expect(vault).to.have.settledRound().withAmount(1n),
      ),
    ).to.include("settledAmount 1, but it is 77");
  });

  it("should not take a failed read for an unsettled round", async () => {
    await expectVaultError(
      expect(world.connection.vault).to.not.have.settledRound(),
      "VAULT_CONTRACT_NOT_CONFIGURED",
    );
    expect(
      await failureOf(() => expect({}).to.not.have.settledRound()),
    ).to.match(/a vault is needed/u);
  });
});

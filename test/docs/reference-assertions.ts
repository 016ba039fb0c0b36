import { expect } from "chai";
import { network } from "hardhat";

import * as assertions from "../../src/assert/index.js";
import "../../src/chai/index.js";
import { failureOf } from "../helpers/assertions.js";
import { codeIn, readSections } from "../helpers/reference-page.js";
import type { Section } from "../helpers/reference-page.js";

/** It takes half a minute. */
const NOT_TRIED = "transaction … was not mined within 30 s";

describe("docs/reference-assertions.md", () => {
  let sections: readonly Section[];

  before(async () => {
    sections = await readSections("reference-assertions");
  });

  it("has a heading for every function of hardhat-vault/assert", () => {
    const headings = sections.flatMap(({ heading }) => heading.split(", "));
    expect(headings).to.include.members(Object.keys(assertions));
  });

  it("has every message with which a check fails", async () => {
    const documented = sections
      .filter(({ text }) => text.includes("| message "))
      .flatMap(({ rows }) => rows.map(([cell]) => String(codeIn(cell)[0])))
      .filter((message) => /^[^{].* /u.test(message));
    const failures = await failEachCheck();
    const isOf = (failure: string, message: string): boolean =>
      new RegExp(
        `^${message
          .split("…")
          .map((part) => part.trim().replaceAll(/[.*+?^${}()|[\]\\]/gu, "\\$&"))
          .join("[^]*")}$`,
        "u",
      ).test(failure);
    for (const failure of failures) {
      expect(
        documented.filter((message) => isOf(failure, message)),
        failure,
      ).to.have.lengthOf(1);
    }
    expect(
      documented.filter(
        (message) => !failures.some((failure) => isOf(failure, message)),
      ),
    ).to.deep.equal([NOT_TRIED]);
  });
});

/** The messages of all checks, each made to fail. */
async function failEachCheck(): Promise<readonly string[]> {
  const { vault, ethers, provider } = await network.create();
  const mocks = await vault.deployMocks();
  const [signer] = await ethers.getSigners();
  if (signer === undefined) {
    throw new Error("an in-process network has accounts");
  }
  const failures: string[] = [];
  const fail = async (check: () => PromiseLike<unknown>): Promise<void> => {
    failures.push(await failureOf(check));
  };

  const plain = async (): Promise<string> =>
    (await signer.sendTransaction({ to: signer.address, gasLimit: 21_000 }))
      .hash;
  const { vault: mockVault } = mocks.contracts;

  const before = await plain();
  await fail(() => expect(before).to.settleRound(vault));
  await fail(() => expect(before).to.changeReadings(vault));
  await fail(() =>
    expect(before).to.changeReadings(vault, { volume: { by: 5n } }),
  );
  await fail(() => expect(vault).to.have.settledRound());
  await fail(() => expect(before).to.not.settleRound(vault).withPrice(1n));
  await fail(() =>
    // eslint-disable-next-line @typescript-eslint/consistent-type-assertions -- what types refuse, JavaScript does not
    expect(before).to.changeReadings(vault, { volumes: 1n } as never),
  );
  await fail(() =>
    expect(before).to.changeReadings(vault, { volume: { by: 0n } }),
  );
  // eslint-disable-next-line @typescript-eslint/consistent-type-assertions -- as above
  await fail(() => expect(before).to.settleRound(7 as never));
  await fail(() => expect({}).to.settleRound(vault));
  // eslint-disable-next-line @typescript-eslint/consistent-type-assertions -- as above
  const unchecked = expect(before) as unknown as Chai.SettledRoundAssertion;
  await fail(() => unchecked.withAmount(1n));
  await fail(() => expect(`0x${"11".repeat(32)}`).to.settleRound(vault));

  await mocks.fail("settleAll", "closed");
  const reverted = await mockVault
    .connect(signer)
    .settleAll({ gasLimit: 500_000 })
    .catch(async () => (await newestTransactions())[0]);
  await fail(() => expect(reverted).to.settleRound(vault));
  await fail(() => expect(vault.settleAll()).to.settleRound(vault));
  await mocks.succeed("settleAll");

  const settled = await vault.settleAll();
  await fail(() => expect(settled).to.not.settleRound(vault));
  await fail(() => expect(settled).to.settleRound(vault).withPrice(1n));
  await fail(() => expect(settled).to.settleRound(vault).withAmount(1n));
  await fail(() => expect(settled).to.settleRound(vault).settledRound());
  await fail(() => expect(vault).to.not.have.settledRound());
  await fail(() =>
    expect(settled).to.not.changeReadings(vault, { round: { settled: true } }),
  );
  await fail(() => expect(vault.settleAll()).to.settleRound(vault));
  const late = await plain();
  await fail(() => expect(late).to.settleRound(vault));
  await mocks.startNextRound();
  const [opened] = await newestTransactions();
  await mocks.set({ round: { strikePrice: 1n } });
  const [other] = await newestTransactions();
  await fail(() => expect(opened).to.settleRound(vault));
  await fail(() => expect(other).to.settleRound(vault));

  await provider.request({ method: "evm_setAutomine", params: [false] });
  const one = await plain();
  await plain();
  await provider.request({ method: "evm_mine" });
  await fail(() => expect(one).to.settleRound(vault));
  return failures;

  async function newestTransactions(): Promise<readonly string[]> {
    return (await ethers.provider.getBlock("latest"))?.transactions ?? [];
  }
}

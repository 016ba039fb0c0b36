import { expect } from "chai";

import * as functions from "../../src/assert/index.js";
import "../../src/chai/index.js";
import {
  AMOUNT,
  PRICE,
  failureOf,
  untyped,
  useOpenRound,
  whileTimePasses,
} from "../helpers/open-round.js";
import type { OpenRound } from "../helpers/open-round.js";
import { createTestHre } from "../helpers/hre.js";
import { codeIn, readSections } from "../helpers/reference-page.js";

const { settlesRound, roundSettled, changesReadings } = functions;

type Act = (round: OpenRound) => Promise<unknown>;

/** What fails with each message of docs/reference-assertions.md; "…" is any text. */
const failing: Readonly<Record<string, Act>> = {
  "an object with … is needed, got …": async ({ vault, setVolume }) => {
    // @ts-expect-error -- an object
    await settlesRound(vault, setVolume(1n), 1n);
  },
  "expected the vault's latest round to be settled by a transaction, but nothing was sent: the settlement had nothing to do":
    async ({ vault, settle }) => {
      await settle();
      await settlesRound(vault, vault.settleAll());
    },
  "expected transaction … to settle the vault's round, but it is still not settled (…)":
    async ({ vault, setVolume }) => {
      await settlesRound(vault, setVolume(1n));
    },
  "expected transaction … to settle the vault's round, but it was settled before (…)":
    async ({ vault, settle, setVolume }) => {
      await settle();
      await settlesRound(vault, setVolume(1n));
    },
  "expected transaction … to settle the vault's round, but another round took its place …":
    async ({ vault, startNextRound }) => {
      await settlesRound(vault, startNextRound());
    },
  "expected transaction … not to settle the vault's round, but it did (…)":
    async ({ vault, settle }) => {
      await expect(settle()).to.not.settleRound(vault);
    },
  "expected the vault's latest round to be settled, but it is not (…)": async ({
    vault,
  }) => {
    await roundSettled(vault);
  },
  "expected the vault's latest round not to be settled, but it is (…)": async ({
    vault,
    settle,
  }) => {
    await settle();
    await expect(vault).to.not.have.settledRound();
  },
  "expected the round to be settled with settledPrice … (real value …), but it is … (real value …)":
    async ({ vault, settle }) => {
      await settlesRound(vault, settle(), { price: PRICE + 1n });
    },
  "expected the round to be settled with settledAmount …, but it is …": async ({
    vault,
    settle,
  }) => {
    await settlesRound(vault, settle(), { amount: AMOUNT + 1n });
  },
  "there is no … of a settlement to expect; there are price, amount": async ({
    vault,
    settle,
  }) => {
    // @ts-expect-error -- no such value
    await settlesRound(vault, settle(), { settledAmount: AMOUNT });
  },
  ".withPrice() cannot follow .not: it would not be clear which part is denied":
    async ({ vault, setVolume }) => {
      await expect(setVolume(1n)).to.not.settleRound(vault).withPrice(1n);
    },
  ".withAmount() must follow .settleRound() or .settledRound()": async ({
    vault,
    setVolume,
  }) => {
    const changes = expect(await setVolume(1n)).to.changeReadings(vault);
    await untyped(changes, "withAmount", 1n);
  },
  "expected transaction … to change readings otherwise: …": async ({
    vault,
    setVolume,
  }) => {
    await changesReadings(vault, setVolume(95n), { volume: 94n });
  },
  "expected transaction … not to change readings so, but it did: …": async ({
    vault,
    setVolume,
  }) => {
    await expect(setVolume(95n)).to.not.changeReadings(vault, { volume: 95n });
  },
  "expected transaction … to change a reading of the vault, but all … values are as before":
    async ({ vault, setVolume }) => {
      await changesReadings(vault, setVolume(100n));
    },
  "expected transaction … to change no reading of the vault, but it did: …":
    async ({ vault, setVolume }) => {
      await expect(setVolume(95n)).to.not.changeReadings(vault);
    },
  "expected readings to change, but no transaction was sent: the settlement had nothing to do":
    async ({ vault, settle }) => {
      await settle();
      await changesReadings(vault, vault.settleAll());
    },
  "there is no reading …; there are …": async ({ vault, setVolume }) => {
    // @ts-expect-error -- no such reading
    await changesReadings(vault, setVolume(1n), { volum: 1n });
  },
  "… must be an object that names a reading": async ({ vault, setVolume }) => {
    // @ts-expect-error -- no object
    await changesReadings(vault, setVolume(1n), { round: true });
  },
  "… must be a value, { from, to }, or { by } with an integer that is not 0":
    async ({ vault, setVolume }) => {
      await changesReadings(vault, setVolume(1n), { volume: { by: 0n } });
    },
};

/** What can be neither asserted nor denied: a vault, and what was sent to it. */
const undecidable: Readonly<
  Record<
    string,
    (round: OpenRound) => Promise<{ vault?: unknown; sent: unknown }>
  >
> = {
  "a vault is needed (connection.vault, mocks.vault or await hre.vault.connect()), got …":
    async ({ setVolume }) => ({
      vault: { address: "0x12" },
      sent: await setVolume(1n),
    }),
  "expected a transaction, its hash or a settlement, got …": async () =>
    await Promise.resolve({ sent: "0x12" }),
  "expected a settlement that was sent, but it was …: …": async ({
    vault,
  }) => ({
    sent: await vault.settleAll({ confirm: async () => "not today" }),
  }),
  "transaction … reverted, so it changed nothing: assert the revert itself, with .revertedWith() and the like":
    async ({ mocks, settle, request }) => {
      await mocks.fail("settleAll");
      await request("evm_setAutomine", false);
      const sent = await settle();
      await request("evm_mine");
      return { sent };
    },
  "transaction … is not known on the vault's network. Was it sent over another connection? …":
    async () => {
      const other = await (await createTestHre()).network.create();
      const signer = await other.ethers.provider.getSigner(1);
      const sent = await signer.sendTransaction({ to: signer });
      await other.close();
      return { sent };
    },
  "transaction … was not mined within 30 s": async ({ settle, request }) => {
    await request("evm_setAutomine", false);
    return { sent: await settle() };
  },
  "block … of transaction … holds … transactions, so its own changes cannot be separated: mine it alone":
    async ({ settle, setVolume, request }) => {
      await request("evm_setAutomine", false);
      await setVolume(1n);
      const sent = await settle();
      await request("evm_mine");
      return { sent };
    },
};

const CHAINED = "… cannot be chained after …: write a second expect()";

/** Tested in calls-and-errors.ts. */
const UNCALLED = ".… is a function: write .…(), else nothing is checked";

describe("messages of hardhat-vault/assert and hardhat-vault/chai", () => {
  const round = useOpenRound();

  for (const [message, act] of Object.entries(failing)) {
    it(`an assertion fails with "${message}"`, async () => {
      const failure = await failureOf(act(round()));
      expect(failure.name).to.equal("AssertionError");
      expect(failure.message).to.match(patternOf(message));
    });
  }

  for (const [message, arrange] of Object.entries(undecidable)) {
    it(`an assertion and its negation fail with "${message}"`, async () => {
      const { vault = round().vault, sent } = await arrange(round());
      const checks = [
        // @ts-expect-error -- a vault is asserted
        () => settlesRound(vault, sent),
        // @ts-expect-error -- a vault is asserted
        () => changesReadings(vault, sent),
        // @ts-expect-error -- a vault is asserted
        () => expect(sent).to.settleRound(vault),
        // @ts-expect-error -- a vault is asserted
        () => expect(sent).to.not.settleRound(vault),
        // @ts-expect-error -- a vault is asserted
        () => expect(sent).to.not.changeReadings(vault),
      ];
      const failAll = async (): Promise<readonly Error[]> =>
        await Promise.all(checks.map((check) => failureOf(check())));
      for (const failure of message.includes("30 s")
        ? await whileTimePasses(60_000, failAll)
        : await failAll()) {
        expect(failure.name).to.equal("AssertionError");
        expect(failure.message).to.match(patternOf(message));
      }
    });
  }

  it(`an assertion fails with "${CHAINED}"`, async () => {
    const { vault, setVolume } = round();
    const first = expect(await setVolume(1n)).to.not.settleRound(vault);
    await first;
    const { message } = await failureOf(first.and.to.changeReadings(vault));
    expect(message).to.match(patternOf(CHAINED));
  });

  it("docs/reference-assertions.md has these messages, no other, and a heading for every function", async () => {
    const sections = await readSections("reference-assertions");
    expect(
      sections.flatMap(({ heading }) => heading.split(", ")),
    ).to.include.members(Object.keys(functions));
    const documented = sections
      .filter(({ text }) => text.includes("| message "))
      // Their messages are tested in calls-and-errors.ts.
      .filter(({ heading }) => !/^(called|rejectedWith)Vault/u.test(heading))
      .flatMap(({ rows }) => rows.map(([cell]) => codeIn(cell)[0]))
      .filter((message = "") => /^[^{].* /u.test(message));
    const tested = [...Object.keys(failing), ...Object.keys(undecidable)];
    expect(documented).to.have.members([...tested, CHAINED, UNCALLED]);
  });
});

function patternOf(message: string): RegExp {
  const parts = message
    .split("…")
    .map((part) => part.trim().replaceAll(/[.*+?^${}()|[\]\\]/gu, "\\$&"));
  return new RegExp(`^${parts.join("[^]*")}$`, "u");
}

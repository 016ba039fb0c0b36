import { expect } from "chai";

import {
  changesReadings,
  roundSettled,
  settlesRound,
} from "../../src/assert/index.js";
import * as functions from "../../src/assert/index.js";
import "../../src/chai/index.js";
import { connectTo } from "../helpers/hre.js";
import { codeIn, readSections } from "../helpers/reference-page.js";
import { readScreen } from "../helpers/screens.js";

/** Mocks in process, with a round that is not settled. */
async function createWorld() {
  const { vault, ethers } = await connectTo(undefined);
  const round = { startTime: 1_700_000_000n, endTime: 1_800_000_000n };
  const { contracts } = await vault.deployMocks({ overrides: { round } });
  const contract = contracts.vault.connect(await ethers.provider.getSigner(0));
  return { vault, contract };
}

// What passes, fails and is said is in the recorded session.
describe("assertions of hardhat-vault/assert and hardhat-vault/chai", () => {
  let world: Awaited<ReturnType<typeof createWorld>>;
  before(async () => {
    world = await createWorld();
  });
  after(async () => {
    await world.vault.connection.close();
  });

  for (const [name, check] of [
    [
      "settlesRound",
      async ({ vault }, sent) => {
        // @ts-expect-error -- price or amount
        await settlesRound(vault, sent, { strike: 1n });
      },
    ],
    [
      "roundSettled",
      async ({ vault }) => {
        await roundSettled(vault);
      },
    ],
    [
      "changesReadings",
      async ({ vault }, sent) => {
        await changesReadings(vault, sent, { round: { settled: true } });
      },
    ],
    [
      "settleRound",
      async ({ vault }, sent) => {
        await expect(sent).to.settleRound(vault);
      },
    ],
    [
      "settledRound",
      async ({ vault }) => {
        await expect(vault).to.have.settledRound();
      },
    ],
    [
      "changeReadings",
      async ({ vault }, sent) => {
        await expect(sent).to.changeReadings(vault, {});
      },
    ],
  ] satisfies ReadonlyArray<
    [string, (of: typeof world, sent: Promise<unknown>) => Promise<void>]
  >) {
    it(`${name} begins the stack of a failure in the line of the test`, async () => {
      const sent = world.contract.setVolume(1n);
      const { message, stack = "" } = await failureOf(check(world, sent));
      // Not every check waits for it.
      await sent;
      const title = `AssertionError: ${message}\n`;
      expect(stack.slice(0, title.length)).to.equal(title);
      expect(stack.slice(title.length).split("\n")[0]).to.match(
        /test\/assert\/assertions\.ts:\d+:\d+/u,
      );
    });
  }

  it("settlesRound waits for a transaction that the node does not have yet", async () => {
    const { vault, contract } = world;
    const { provider } = vault.connection;
    const request = provider.request.bind(provider);
    const { hash } = await contract.settleAll();
    let looks = 0;
    provider.request = async (call) => {
      looks += call.method === "eth_getTransactionReceipt" ? 1 : 0;
      const isMissing = looks < 2 && call.method.startsWith("eth_getTrans");
      const answer: unknown = isMissing ? null : await request(call);
      return answer;
    };
    await settlesRound(vault, hash).finally(() => {
      provider.request = request;
    });
    expect(looks).to.equal(2);
  });

  it("docs/reference-assertions.md has every recorded message, no other, and a heading for every function", async () => {
    const sections = await readSections("reference-assertions");
    expect(
      sections.flatMap(({ heading }) => heading.split(", ")),
    ).to.include.members(Object.keys(functions));
    const documented = sections
      .filter(({ text }) => text.includes("| message "))
      .flatMap(({ rows }) => rows.map(([cell]) => String(codeIn(cell)[0])))
      .filter((message) => /^[^{].* /u.test(message))
      .map((message) => message.split("…").map((part) => part.trim()));
    const recorded = await readScreen("calls-assertions");
    const messages = [
      ...recorded.matchAll(
        /"(?:message": "|AssertionError: )(?:round 2: )?(.*)"/gu,
      ),
    ].map(([, message]) => String(JSON.parse(`"${message}"`)));
    for (const message of messages) {
      expect(
        documented.filter((parts) => hasInOrder(message, parts)),
        message,
      ).to.have.length(1);
    }
    const others = documented.filter(
      (parts) => !messages.some((message) => hasInOrder(message, parts)),
    );
    expect(others, "it would take half a minute").to.deep.equal([
      ["transaction", "was not mined within 30 s"],
    ]);
  });
});

/** Whether a text begins and ends with these parts, with the others between. */
function hasInOrder(text: string, parts: readonly string[]): boolean {
  const escaped = parts.map((part) =>
    part.replaceAll(/[.*+?^${}()|[\]\\]/gu, "\\$&"),
  );
  return new RegExp(`^${escaped.join("[^]*")}$`, "u").test(text);
}

/** What an assertion throws. */
async function failureOf(assertion: Promise<unknown>): Promise<Error> {
  try {
    await assertion;
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error));
  }
  throw new Error("it passes");
}

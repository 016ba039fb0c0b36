import { Buffer } from "node:buffer";

import { expect } from "chai";
import { configVariable } from "hardhat/config";

import { everyTaskRun } from "../helpers/every-vault-task.js";
import type { TaskRun } from "../helpers/every-vault-task.js";
import {
  ESCAPED,
  behaviours,
  echoed,
  notSent,
  planted,
  refusingContracts,
  sent,
  sentToUpstream,
  tell,
  wrongIn,
} from "../helpers/hostile-node.js";
import type { Behaviour } from "../helpers/hostile-node.js";
import { key, mnemonic, useHostileStage } from "../helpers/hostile-stage.js";
import type { Settings } from "../helpers/hostile-stage.js";
import { runOnTerminal, runVaultTask } from "../helpers/run-vault-task.js";
import { sample } from "../helpers/sample.js";

const bad = configVariable("TEST_CANARY_BAD");
const everything = "a refusal of everything";
const cases: ReadonlyArray<
  readonly [network: string, Settings | "a fork", behaviour: Behaviour]
> = [
  ["a private key", key, "success"],
  ...Object.keys(behaviours)
    .filter((name): name is Behaviour => name !== "success")
    .map((name) => ["a private key", key, name] as const),
  ["a mnemonic", mnemonic, "success"],
  ["a mnemonic", mnemonic, notSent],
  ["a mnemonic", mnemonic, everything],
  ["a bad key", { accounts: [bad] }, "success"],
  ["a bad mnemonic", { accounts: { mnemonic: bad } }, "success"],
  ["a bad URL", { url: bad }, "success"],
  ["a bad address", { vault: { contracts: { vault: bad } } }, "success"],
  ["a fork", "a fork", "success"],
  ["a fork", "a fork", everything],
  ["a fork", "a fork", "a refusal of all but the block"],
  ["a fork", "a fork", "HTTP 403"],
];

describe("secrets and hostile text", () => {
  const stage = useHostileStage();

  /** A fork takes as long as ten other tasks. */
  const runsOf = (index: number, isFork: boolean, behaviour: Behaviour) => {
    const block = stage.open.blockOfMocks;
    const pastFork: TaskRun = { task: "simulate", args: { fork: true, block } };
    const possible = [pastFork, ...everyTaskRun()].filter(
      ({ task, args }) =>
        (args["fork"] !== true &&
          !(isFork && (task === "simulate" || "simulate" in args))) ||
        index === 0 ||
        (behaviour === "HTTP 403" && !isFork),
    );
    return index === 0 || behaviour === refusingContracts
      ? possible
      : [
          ...sample(possible, 3, index),
          ...possible.filter(
            ({ task, args }) =>
              args["yes"] === true ||
              /^(?:volume|status|simulate)$/u.test(task),
          ),
        ];
  };
  /** A transaction that was refused never appears. */
  const argsOf = (run: TaskRun, behaviour: Behaviour): TaskRun["args"] =>
    stage.open.argsOf(run, behaviour.includes("refus") ? "1" : undefined);

  for (const [index, [network, settings, behaviour]] of cases.entries()) {
    it(`no task writes a secret or a hostile text raw with ${network} and ${behaviour}`, async () => {
      const { server, hreWith, onFork, andBack } = stage.open;
      const isFork = settings === "a fork";
      tell(isFork ? sentToUpstream : sent);
      server.handler = behaviours[behaviour];
      const hre = await (isFork ? onFork() : hreWith(settings));
      const [wrong, failed]: [string[], string[]] = [[], []];
      let said = "";
      await andBack(async () => {
        if (behaviour === refusingContracts) {
          await stage.open.refuseWithWords();
        }
        const runs = runsOf(index, isFork, behaviour);
        for (const [place, run] of runs.entries()) {
          const json = place % 2 === 0 && run.args["format"] === undefined;
          server.requests.length = 0;
          const args = { ...argsOf(run, behaviour), json };
          const result = await runVaultTask(hre, run.task, args);
          const text = result.stdout + result.stderr;
          said += text;
          wrong.push(...wrongIn(text, `${run.task} ${JSON.stringify(args)}`));
          // A development chain has nothing to resume once a settlement is finished.
          const mayFail = run.args["assert"] ?? run.args["resume"];
          if (result.exitCode !== 0 && mayFail !== true) {
            failed.push(run.task);
          }
        }
        wrong.push(...(await stage.open.wrongInFiles()));
      });
      expect(wrong.join("\n")).to.equal("");
      if (/refus|revert/u.test(behaviour)) {
        expect(said)
          .to.match(/(?:denied|reverted|Odd).*<hidden>/u)
          .and.match(ESCAPED);
      }
      if (settings === key && behaviour === "success") {
        expect(failed).to.deep.equal([]);
      }
    });
  }

  it("the node received every secret of the URL and the headers but its fragment, and repeated each first in an error", () => {
    const received = stage.open.server.httpRequests
      .flatMap(({ url, headers }) => [
        url,
        ...Object.values(headers),
        // The user and the password of the URL.
        Buffer.from(headers.authorization?.slice(6) ?? "", "base64"),
      ])
      .join("\n");
    const unseen = sent.filter((secret) =>
      [secret, encodeURIComponent(secret)].every(
        (text) => !received.includes(text),
      ),
    );
    expect(unseen).to.deep.equal([planted.fragment]);
    expect([...echoed]).to.include.members([...sent, ...sentToUpstream]);
  });

  for (const task of [
    ...["order 1", "volume", "status", "orders --ids 1-4", "doctor"],
    ...["settle --yes --timeout 1", "simulate", "watch --until expired"],
  ]) {
    it(`vault ${task} sends no secret and no hostile text raw to a terminal`, async () => {
      const { server, hreWith, andBack, refuseWithWords } = stage.open;
      tell(sent);
      server.requests.length = 0;
      server.handler = (exchange) =>
        behaviours[notSent](exchange) ??
        behaviours["a name that repeats it"](exchange) ??
        behaviours["too many requests, the first of each kind"](exchange);
      let output = "";
      await andBack(async () => {
        await refuseWithWords();
        output = await runOnTerminal(await hreWith(key), task, 1_000);
      });
      for (const raw of ["\u001b[31;45;7m", "\u001b]", "\u009b"]) {
        expect(output).to.not.include(raw);
      }
      const shown = output
        // eslint-disable-next-line no-control-regex -- they are controls
        .replaceAll(/\u001b(?:\[[\d;?]*[a-z]|[78])/giu, "")
        .replaceAll("\r", "");
      expect(wrongIn(shown, "a terminal")).to.deep.equal([]);
      expect(shown).to.match(ESCAPED);
    });
  }
});

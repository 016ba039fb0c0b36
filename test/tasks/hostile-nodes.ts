import { Buffer } from "node:buffer";

import { expect } from "chai";
import { configVariable } from "hardhat/config";
import type { HttpNetworkUserConfig } from "hardhat/types/config";
import type { HardhatRuntimeEnvironment } from "hardhat/types/hre";

import { everyTaskRun } from "../helpers/every-vault-task.js";
import type { TaskRun } from "../helpers/every-vault-task.js";
import {
  ESCAPED,
  behaviours,
  echoed,
  httpHeaders,
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
import { runVaultTask } from "../helpers/run-vault-task.js";
import { isFull, sample } from "../helpers/sample.js";
import { runInTerminal } from "../helpers/terminal.js";

/** Those that show what a node or a contract said, each in a way of its own. */
const repeatingTasks = [
  ...["order", "volume", "status", "orders"],
  ...["settle", "simulate", "watch", "doctor"],
];

const bad = configVariable("TEST_CANARY_BAD");

describe("secrets and hostile text", () => {
  const stage = useHostileStage();

  const cases: ReadonlyArray<
    readonly [network: string, Settings | "a fork", behaviour: Behaviour]
  > = [
    ["a private key", key, "success"],
    ...Object.keys(behaviours)
      .filter((name): name is Behaviour => name !== "success")
      .map((name) => ["a private key", key, name] as const),
    ["a mnemonic", mnemonic, "success"],
    ["a mnemonic", mnemonic, notSent],
    ["a mnemonic", mnemonic, "a refusal of everything"],
    ["a bad key", { accounts: [bad] }, "success"],
    ["a bad mnemonic", { accounts: { mnemonic: bad } }, "success"],
    ["a bad URL", { url: bad }, "success"],
    ["a bad address", { vault: { contracts: { vault: bad } } }, "success"],
    ["a fork", "a fork", "success"],
    ["a fork", "a fork", "a refusal of everything"],
    ["a fork", "a fork", "a refusal of all but the block"],
    ["a fork", "a fork", "HTTP 403"],
  ];

  for (const [index, [network, settings, behaviour]] of cases.entries()) {
    it(`no task writes a secret or a hostile text raw with ${network} and ${behaviour}`, async () => {
      const isFork = settings === "a fork";
      tell(isFork ? sentToUpstream : sent);
      stage.server.handler = behaviours[behaviour];
      const hre = await (isFork ? stage.onFork() : stage.hreWith(settings));
      const pastFork: TaskRun = {
        task: "simulate",
        args: { fork: true, block: stage.blockOfMocks },
      };
      const possible = [pastFork, ...everyTaskRun()].filter(
        // A fork takes as long as ten other tasks.
        ({ task, args }) =>
          (args["fork"] !== true &&
            !(isFork && (task === "simulate" || "simulate" in args))) ||
          index === 0 ||
          (behaviour === "HTTP 403" && !isFork),
      );
      const runs =
        index === 0 || behaviour === refusingContracts
          ? possible
          : [
              ...sample(possible, 3, index),
              ...possible.filter(
                ({ task, args }) =>
                  args["yes"] === true ||
                  /^(?:volume|status|simulate)$/u.test(task),
              ),
            ];
      await stage.andBack(async () => {
        if (behaviour === refusingContracts) {
          await stage.refuseWithWords();
        }
        const { wrong, said, failed } = await runAll(hre, behaviour, runs);
        expect(wrong.join("\n")).to.equal("");
        if (/refus|revert/u.test(behaviour)) {
          expect(said)
            .to.match(/(?:denied|reverted|Odd).*<hidden>/u)
            .and.match(ESCAPED);
        }
        if (settings === key && behaviour === "success") {
          expect(failed).to.deep.equal(
            runs
              .filter(({ args }) => args["assert"] === true)
              .map(({ task }) => task),
          );
        }
      });
      tell(sent);
    });
  }

  it("the node received every secret of the URL and the headers but its fragment, and repeated each first in an error", () => {
    const received = stage.server.httpRequests
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

  it("a key, a mnemonic and a passphrase that stand in the configuration are hidden before they are used", async () => {
    const literal = `0x${"1e7e4a1".repeat(9)}7`;
    const phrase = "zoo zoo zoo zoo zoo zoo zoo zoo zoo zoo zoo wrong";
    const passphrase = "a word of its own";
    stage.server.handler = () => ({
      error: {
        code: -32000,
        message: `no <${literal}>, <${literal.slice(2)}>, <${phrase}>, <${passphrase}>`,
      },
    });
    const inText: ReadonlyArray<
      readonly [accounts: HttpNetworkUserConfig["accounts"], shown: string]
    > = [
      [[literal], `no <<hidden>>, <<hidden>>, <${phrase}>`],
      [{ mnemonic: phrase, passphrase }, "<<hidden>>, <<hidden>>"],
    ];
    for (const [accounts, shown] of inText) {
      const hre = await stage.hreWith(
        accounts === undefined ? {} : { accounts },
      );
      const { stderr } = await runVaultTask(hre, "volume");
      expect(stderr).to.contain(shown);
    }
  });

  it("no task sends a secret or a hostile text to a terminal raw, also with --show-stack-traces", async () => {
    stage.server.requests.length = 0;
    stage.server.handler = (exchange) =>
      behaviours[notSent](exchange) ??
      behaviours["a name that repeats it"](exchange) ??
      behaviours["too many requests, the first of each kind"](exchange);
    const runs = everyTaskRun()
      .filter(({ args }) => args["fork"] !== true)
      .filter(
        ({ task }, index, all) =>
          isFull ||
          ([...repeatingTasks, "deploy-guard"].includes(task) &&
            (task === "settle" ||
              all.findIndex((other) => other.task === task) === index)),
      )
      .map(({ task, args }) => [task, stage.argsOf(task, args, "1")]);
    await stage.andBack(async () => {
      await stage.refuseWithWords();
      const { output } = await runInTerminal(
        ["run", "--no-compile", "every-task.ts"].concat(
          ...["--network", "test", "--show-stack-traces"],
        ),
        {
          cwd: stage.project.path,
          columns: 1_000,
          env: {
            TEST_URL: process.env["TEST_CANARY_URL"] ?? "",
            TEST_VAULT: JSON.stringify({
              contracts: stage.mocks.addresses,
              tokenDecimals: 18,
            }),
            TEST_NETWORK: JSON.stringify({
              accounts: [stage.environment.TEST_CANARY_KEY],
              httpHeaders,
            }),
            TEST_RUNS: JSON.stringify(runs),
          },
        },
      );
      const raws = ["\u001b[31;45;7m", "\u001b]", "\u009b"];
      const rawLines = output.split("$ vault ").flatMap((ofTask) => {
        const [typed = "", ...lines] = ofTask.split(/\r?\n/u);
        return lines
          .filter((line) => raws.some((raw) => line.includes(raw)))
          .map((line) => `${typed}: ${JSON.stringify(line)}`);
      });
      expect(rawLines, "raw on the terminal").to.deep.equal([]);
      const shown = output
        // eslint-disable-next-line no-control-regex -- they are controls
        .replaceAll(/\u001b(?:\[[\d;?]*[a-z]|[78])/giu, "")
        .replaceAll("\r", "");
      expect(wrongIn(shown, "a terminal")).to.deep.equal([]);
      expect(shown).to.match(/(?:denied|Odd).*<hidden>/u);
      expect(await stage.wrongInFiles()).to.deep.equal([]);
      const ofTasks = shown.split(/^\$ vault /mu).slice(1);
      expect(ofTasks).to.have.lengthOf(runs.length);
      const repeating = ofTasks
        .filter((text) => ESCAPED.test(text))
        .map((text) => text.split("\n")[0]);
      expect(repeating).to.include.members(repeatingTasks);
    });
  });

  /** Runs tasks, every other one with `--json`, and searches all that they write. */
  async function runAll(
    hre: HardhatRuntimeEnvironment,
    behaviour: Behaviour,
    runs: readonly TaskRun[],
  ): Promise<{
    readonly wrong: readonly string[];
    readonly said: string;
    readonly failed: readonly string[];
  }> {
    const [wrong, failed]: [string[], string[]] = [[], []];
    let said = "";
    for (const [place, { task, args }] of runs.entries()) {
      const json = place % 2 === 0 && args["format"] === undefined;
      stage.server.requests.length = 0;
      stage.server.handler = behaviours[behaviour];
      const result = await runVaultTask(hre, task, {
        // A transaction that was refused never appears.
        ...stage.argsOf(
          task,
          args,
          behaviour.includes("refus") ? "1" : undefined,
        ),
        json,
      });
      const text = result.stdout + result.stderr;
      said += text;
      if (result.exitCode !== 0) {
        failed.push(task);
      }
      const name = `vault ${task} ${JSON.stringify({ ...args, json })}`;
      wrong.push(...wrongIn(text, name));
    }
    wrong.push(...(await stage.wrongInFiles()));
    return { wrong, said, failed };
  }
});

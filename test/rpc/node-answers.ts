import { readFileSync, readdirSync } from "node:fs";
import { rm } from "node:fs/promises";
import path from "node:path";
import { isDeepStrictEqual } from "node:util";

import { expect } from "chai";
import { Interface, Wallet } from "ethers";
import pLimit from "p-limit";

import { VaultError } from "../../src/errors.js";
import { asRecord, toJsonValue } from "../../src/json.js";
import type { Settlement } from "../../src/settlement/options.js";
import type { Simulation } from "../../src/simulation/types.js";
import { fetchProvider } from "../helpers/fetch-provider.js";
import type { NodeAnswerCase } from "../helpers/node-answer.js";
import { KEY, openLane, runCase, settles } from "../helpers/run-node-answer.js";
import type { Lane, Outcome } from "../helpers/run-node-answer.js";
import { isFull } from "../helpers/sample.js";

/** Chains side by side on which cases settle. */
const LANES = isFull ? 5 : 3;
/** Cases at the same time that only read. */
const READERS = 12;

/** Cases of one file, stage and outcome; `CASES` and `FULL=1` run all of them. */
const ALIKE = isFull || process.env["CASES"] !== undefined ? Infinity : 2;

/** Revert data with the reason "round is closed", without 0x. */
const CLOSED = new Interface(["error Error(string)"])
  .encodeErrorResult("Error", ["round is closed"])
  .slice(2);

const casesFolder = path.join(import.meta.dirname, "node-answers");
const kinds = new Map<string, number>();
/** `CASES=<start of an id>` runs only some. */
const chosen = readdirSync(casesFolder)
  .filter((name) => name.endsWith(".json"))
  .flatMap((name) => {
    const text = readFileSync(path.join(casesFolder, name), "utf8");
    const found: unknown = JSON.parse(text.replaceAll("$closed", CLOSED));
    // the files have this form
    return found as readonly NodeAnswerCase[];
  })
  .filter(({ id }) => id.startsWith(process.env["CASES"] ?? ""))
  .filter(({ id, right, when }) => {
    const kind = [id.split("-")[0], right, when.stage].join(" ");
    const count = (kinds.get(kind) ?? 0) + 1;
    kinds.set(kind, count);
    return count <= ALIKE;
  });

/** What is wrong with an outcome, by the word in `right`; undefined if nothing is. */
async function problemOf(
  one: NodeAnswerCase,
  outcome: Outcome,
  lane: Lane,
): Promise<string | undefined> {
  const { right, code, reason = "", says = "", sends } = one;
  const { values, errors, settlement, asked } = outcome;
  const told = [
    ...errors.map((error) => String(asRecord(error)["message"])),
    settlement?.reason ?? "",
  ].join(" ");
  const codes = [...errors.map(codeOf), settlement?.code];
  const isError = errors.length > 0 && values.length === 0;
  const isShown =
    told.includes(says) && (reason === "" || told.includes(reason));
  const isRightCode =
    code === undefined || codes.every((each) => (each ?? code) === code);
  const isOurs = errors.every((error) => codeOf(error) !== undefined);
  const isFailure = isError && isShown && isRightCode;
  const isValue = async (): Promise<boolean> =>
    settlement === undefined
      ? errors.length === 0 &&
        isDeepStrictEqual(values, await honestValues(one, lane))
      : settlement.status === "settled";
  const isRight = async (): Promise<boolean> => {
    switch (right) {
      case "value":
        return await isValue();
      case "retry-then-value":
        return asked.answered >= 1 && (await isValue());
      case "error":
        return isFailure;
      case "error-at-once":
        return isFailure && asked.answered === 1;
      case "reverted-with-reason":
        return isError && isShown && codes[0] === "VAULT_CALL_REVERTED";
      case "archive-node-needed":
        return (
          isError &&
          codes.join() ===
            "VAULT_ARCHIVE_NODE_NEEDED,VAULT_ARCHIVE_NODE_NEEDED," &&
          errors.every((error) => inWords(error).includes(says))
        );
      case "other-engine":
      case "settled": {
        if (settlement === undefined) {
          // the result of a simulation
          const simulation = values[0] as Simulation | undefined;
          return (
            simulation?.status === "settled" &&
            (simulation.engine === "simulateV1") === (right === "settled")
          );
        }
        return (
          settlement.status === "settled" &&
          (await isOnChain(settlement, lane)) &&
          (sends === undefined || asked.sends === sends)
        );
      }
      case "refused":
        // Another node may have the bytes, so that settlement stays unfinished.
        return (
          settlement?.status === "unconfirmed" &&
          isShown &&
          (await noncesOf(lane)) === 0
        );
      case "skip":
        return (
          settlement?.status === "unconfirmed" && told.includes("replaced")
        );
      case "no-signer-error":
        return codes.some((each) => each === code);
      default:
        throw new Error(`right: ${right}`);
    }
  };
  if (isOurs && (await isRight())) {
    return undefined;
  }
  const found = settlement ?? values[0];
  const got = { errors: errors.map(inWords), found, asked };
  return `${right}${says === "" ? "" : ` (${says})`}: got ${JSON.stringify(toJsonValue(got)).slice(0, 1_500)}`;
}

function codeOf(error: unknown): string | undefined {
  return VaultError.isVaultError(error) ? error.code : undefined;
}

function inWords(error: unknown): string {
  return `${String(codeOf(error))}: ${String(asRecord(error)["message"])}`;
}

const account = new Wallet(KEY).address;

/** How many transactions of the account are mined. */
async function noncesOf({ node }: Lane): Promise<number> {
  return Number(
    await fetchProvider(node.url).request({
      method: "eth_getTransactionCount",
      params: [account, "latest"],
    }),
  );
}

async function isOnChain(
  { hash, blockNumber }: Settlement,
  lane: Lane,
): Promise<boolean> {
  const receipt = asRecord(
    await fetchProvider(lane.node.url).request({
      method: "eth_getTransactionReceipt",
      params: [hash],
    }),
  );
  return (
    Number(receipt["blockNumber"]) === blockNumber &&
    (await noncesOf(lane)) === 1
  );
}

const honest = new Map<string, Promise<readonly unknown[]>>();

/** What the user gets of a node that answers everything honestly. */
async function honestValues(
  one: NodeAnswerCase,
  lane: Lane,
): Promise<readonly unknown[]> {
  const { stage, do: what = stage } = one.when;
  const key = `${stage} ${what}`;
  const found =
    honest.get(key) ??
    runCase({ ...one, when: { stage, do: what, method: "none" } }, lane).then(
      ({ values }) => values,
    );
  honest.set(key, found);
  return await found;
}

/** True if the case changes the chain, so that it needs one of its own. */
function changesChain({ when }: NodeAnswerCase) {
  const { stage, do: what = "settle" } = when;
  return (
    (settles.has(stage) && what === "settle") ||
    (stage === "number" && /settle/u.test(what))
  );
}

describe("what nodes answer", () => {
  const problems = new Map<NodeAnswerCase, string | undefined>();
  let lanes: readonly Lane[] = [];

  const judge = async (one: NodeAnswerCase, lane: Lane): Promise<void> => {
    const outcome = await runCase(one, lane).catch((error: unknown) => error);
    problems.set(
      one,
      isOutcome(outcome)
        ? await problemOf(one, outcome, lane)
        : `the case did not run: ${String(asRecord(outcome)["stack"])}`,
    );
  };

  before(async () => {
    lanes = await Promise.all(
      Array.from({ length: LANES + 1 }, async () => await openLane()),
    );
    const [reading, ...settling] = lanes;
    if (reading === undefined) {
      throw new Error("there is no lane");
    }
    const limit = pLimit(READERS);
    const queue = chosen.filter(changesChain);
    await Promise.all([
      ...chosen
        .filter((one) => !changesChain(one))
        .map(async (one) => {
          await limit(async () => {
            await judge(one, reading);
          });
        }),
      ...settling.map(async (lane) => {
        const ask = async (method: string, ...params: unknown[]) =>
          await fetchProvider(lane.node.url).request({ method, params });
        for (let one = queue.shift(); one !== undefined; one = queue.shift()) {
          const before = await ask("evm_snapshot");
          await judge(one, lane);
          await ask("evm_setAutomine", true);
          await ask("anvil_dropAllTransactions");
          await ask("evm_revert", before);
          await rm(path.join(lane.project, "vault-deployments"), {
            recursive: true,
            force: true,
          });
        }
      }),
    ]);
  });
  after(async () => {
    await Promise.all(
      lanes.map(async ({ close }) => {
        await close();
      }),
    );
  });

  for (const one of chosen) {
    const { id, client, right, when } = one;
    it(`${id}: ${right} at stage ${when.stage} as ${client} answers`, () => {
      const problem = problems.has(one) ? problems.get(one) : "it was not run";
      expect(problem).to.equal(undefined);
    });
  }
});

function isOutcome(value: unknown): value is Outcome {
  return "asked" in asRecord(value);
}

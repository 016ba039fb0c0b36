import { failed } from "../src/plugin/check.js";
import type { Check } from "../src/plugin/check.js";
import {
  examineJournal,
  examineSigner,
} from "../src/plugin/examine-settlement.js";
import {
  examineContracts,
  examineInstances,
  examineNode,
} from "../src/plugin/examine.js";
import type { HardhatVault } from "../src/plugin/hardhat-vault.js";
import { settingsOf } from "../src/plugin/addresses.js";
import { doctorTask } from "./definitions/tasks.js";
import type { TaskValues } from "./definitions/shared.js";
import { withVault } from "./open-vault.js";
import { labelledValues, notes, title } from "./output/blocks.js";
import type { Envelope } from "./output/blocks.js";
import { describeCount } from "./output/format-value.js";
import { selectedNetwork } from "./parse-options.js";
import { taskAction } from "./run-task.js";
import type { TaskReport, TaskSurroundings } from "./run-task.js";

export default taskAction(doctorTask, examine);

/** The checks; without an envelope if the node did not answer. */
interface Examination {
  readonly envelope?: Envelope | undefined;
  readonly checks: readonly Check[];
}

/** The name of the check that fails without a connection. */
const passes = { read: "network", write: "signer" } as const;

async function examine(
  args: TaskValues<typeof doctorTask>,
  surroundings: TaskSurroundings,
): Promise<TaskReport> {
  // A mistake on the command line is an error, not a failed check.
  const { name: network, config } = selectedNetwork(surroundings.hre);
  settingsOf(network, config, args.instance);
  const end = performance.now() + (args.timeout ?? Infinity);
  const runPass = async (
    access: keyof typeof passes,
    work: (vault: HardhatVault) => Promise<Examination>,
  ): Promise<Examination> => {
    const left = Math.max(1, Math.ceil(end - performance.now()));
    const timeout = left === Infinity ? undefined : left;
    try {
      return await withVault(
        surroundings,
        access,
        { ...args, timeout },
        async (vault) => await work(vault.withOptions({ timeout })),
      );
    } catch (error) {
      return { checks: [failed(passes[access], error)] };
    }
  };
  const { envelope, checks } = await runPass("read", examineVault);
  // Separate, because only this pass needs the keys.
  const signer =
    envelope === undefined
      ? { checks: [] }
      : await runPass("write", async (vault) => ({
          checks: await examineSigner(vault, args.from),
        }));
  return reportExamination(
    { envelope, checks: [...checks, ...signer.checks] },
    args.strict,
  );
}

async function examineVault(vault: HardhatVault): Promise<Examination> {
  const [chainId, block] = await Promise.all([vault.chainId(), vault.block()]);
  const [ofNode, ofContracts, ofJournal] = await Promise.all([
    examineNode(vault, { chainId, block }),
    examineContracts(vault, block.number),
    examineJournal(vault),
  ]);
  // A contract's failure also fails the engine's check: it is shown once.
  const known = new Set(ofContracts.map(({ detail }) => detail));
  const own = ofNode.filter(({ detail }) => !known.has(detail));
  return {
    envelope: { network: vault.networkName, chainId, block },
    checks: [...own, ...ofContracts, ...examineInstances(vault), ...ofJournal],
  };
}

function reportExamination(
  { envelope, checks }: Examination,
  isStrict: boolean,
): TaskReport {
  const count = (status: Check["status"]): number =>
    checks.filter((check) => check.status === status).length;
  return {
    json: { ...envelope, checks },
    ok: count("fail") === 0 && !(isStrict && count("warn") > 0),
    blocks: [
      title("Examination", envelope),
      labelledValues(
        checks.map(({ name, status, detail, fix }) => [
          { text: `${status.padEnd(4)}  ${name}`, tone: tones[status] },
          { text: detail, note: fix ?? "" },
        ]),
      ),
      notes(
        `${describeCount(count("ok"), "check")} passed, ${describeCount(count("warn"), "warning")}, ${describeCount(count("fail"), "failure")}.`,
      ),
    ],
  };
}

const tones = { ok: "good", warn: "warn", fail: "bad" } as const;

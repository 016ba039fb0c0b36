import { examineSigner, examineVault, failed } from "../src/plugin/doctor.js";
import type { Check } from "../src/plugin/doctor.js";
import type { HardhatVault } from "../src/plugin/hardhat-vault.js";
import { settingsOf } from "../src/plugin/addresses.js";
import { doctorTask } from "./definitions.js";
import type { TaskValues } from "./definitions.js";
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
  const { envelope, checks } = await runPass("read", async (vault) => {
    const [chainId, block] = [await vault.chainId(), await vault.block()];
    return {
      envelope: { network: vault.networkName, chainId, block },
      checks: await examineVault(vault, { chainId, block }),
    };
  });
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

function reportExamination(
  { envelope, checks }: Examination,
  isStrict: boolean,
): TaskReport {
  // A remedy for several checks, as after the restart of a node, is printed once.
  const isFirst = ({ fix }: Check, index: number): boolean =>
    checks.findIndex((check) => check.fix === fix) === index;
  const count = (status: Check["status"]): number =>
    checks.filter((check) => check.status === status).length;
  return {
    json: { ...envelope, checks },
    ok: count("fail") === 0 && !(isStrict && count("warn") > 0),
    blocks: [
      title("Examination", envelope),
      labelledValues(
        checks.map((check, index) => [
          {
            text: `${check.status.padEnd(4)}  ${check.name}`,
            tone: tones[check.status],
          },
          {
            text: check.detail,
            note: isFirst(check, index) ? (check.fix ?? "") : "",
          },
        ]),
      ),
      notes(
        `${describeCount(count("ok"), "check")} passed, ${describeCount(count("warn"), "warning")}, ${describeCount(count("fail"), "failure")}.`,
      ),
    ],
  };
}

const tones = { ok: "good", warn: "warn", fail: "bad" } as const;

import { examineSigner, examineVault, failed } from "../src/plugin/doctor.js";
import type { Check } from "../src/plugin/doctor.js";
import type { HardhatVault } from "../src/plugin/hardhat-vault.js";
import { requireInstance } from "../src/plugin/addresses.js";
import { listUnfinished } from "../src/settlement/next-run.js";
import { tasks } from "./definitions.js";
import { labelledValues, notes, title, toned } from "./output/screen.js";
import type { Envelope, LabelledValue } from "./output/screen.js";
import { describeCount } from "./output/values.js";
import { selectedNetwork, taskAction, withVault } from "./run-task.js";
import type { TaskSurroundings } from "./run-task.js";

export default taskAction(tasks.doctor, async (args, surroundings) => {
  // A mistake on the command line is an error, not a failed check.
  const { name: network, config } = selectedNetwork(surroundings.hre);
  requireInstance(network, config, args.instance);
  const examine = async (
    name: string,
    access: "read" | "write",
    work: (vault: HardhatVault) => Promise<readonly Check[]>,
  ): Promise<readonly Check[]> =>
    await withVault(surroundings, { ...args, access }, work).catch(
      (error: unknown) => [failed(name, error)],
    );
  let envelope: Envelope | undefined;
  const found = await examine("network", "read", async (vault) => {
    const [chainId, block] = [await vault.chainId(), await vault.block()];
    envelope = { network, chainId, block };
    return await examineVault(vault, { chainId, block });
  });
  // Where the node answers, the check of the head is among them.
  const isRead = found.some(({ name }) => name === "head");
  const ofFiles = isRead
    ? []
    : await findOpenFiles(surroundings, args.instance);
  // Separate, because only this needs the keys.
  const ofSigner =
    envelope === undefined
      ? []
      : await examine(
          "signer",
          "write",
          async (vault) => await examineSigner(vault, args.from),
        );
  const checks = [...found, ...ofFiles, ...ofSigner];
  const count = (status: Check["status"]): number =>
    checks.filter((check) => check.status === status).length;
  return {
    json: { ...envelope, checks },
    ok: count("fail") === 0 && !(args.strict && count("warn") > 0),
    screen: [
      title("Examination", envelope),
      labelledValues(
        checks.map(({ name, status, detail, fix }, index): LabelledValue => {
          // A remedy for several checks, as after the restart of a node, is printed once.
          const isFirst = checks.findIndex((one) => one.fix === fix) === index;
          const note = isFirst && fix !== null ? fix : "";
          const label = `${status.padEnd(4)}  ${name}`;
          return [toned(tones[status], label), { text: detail, note }];
        }),
      ),
      notes(
        `${describeCount(count("ok"), "check")} passed, ${describeCount(count("warn"), "warning")}, ${describeCount(count("fail"), "failure")}.`,
      ),
    ],
  };
});

/** Without the node, the names of files are all that is known of a settlement. */
async function findOpenFiles(
  { hre }: TaskSurroundings,
  instance: string | undefined,
): Promise<readonly Check[]> {
  const { name: network, config } = selectedNetwork(hre);
  const files = await listUnfinished(hre.config.paths.root, config.chainId);
  if (files.length === 0) {
    return [];
  }
  const flag = instance === undefined ? "" : ` --instance ${instance}`;
  const detail = `a settlement may be under way: ${files.join(", ")}`;
  const fix = `The files name chain and vault. If they are of this network, once the check \`network\` passes: \`npx hardhat vault settle --resume --network ${network}${flag}\`.`;
  return [{ name: "journal", status: "warn", detail, fix }];
}

const tones = { ok: "good", warn: "warn", fail: "bad" } as const;

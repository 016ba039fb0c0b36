import { examineSigner, examineVault, failed } from "../src/plugin/doctor.js";
import type { Check } from "../src/plugin/doctor.js";
import type { HardhatVault } from "../src/plugin/hardhat-vault.js";
import { requireInstance } from "../src/plugin/addresses.js";
import { tasks } from "./definitions.js";
import { labelledValues, notes, title, toned } from "./output/screen.js";
import type { Envelope, LabelledValue } from "./output/screen.js";
import { describeCount } from "./output/values.js";
import { selectedNetwork, taskAction, withVault } from "./run-task.js";

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
  // Separate, because only this needs the keys.
  const ofSigner =
    envelope === undefined
      ? []
      : await examine(
          "signer",
          "write",
          async (vault) => await examineSigner(vault, args.from),
        );
  const checks = [...found, ...ofSigner];
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

const tones = { ok: "good", warn: "warn", fail: "bad" } as const;

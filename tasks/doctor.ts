import type { HardhatRuntimeEnvironment } from "hardhat/types/hre";

import type { RetryEvent } from "../src/client/index.js";
import { VaultError, vaultError } from "../src/errors.js";
import { examineContracts } from "../src/plugin/examine-contracts.js";
import {
  examineNode,
  examineReachability,
  examineRetries,
} from "../src/plugin/examine-node.js";
import { examineSigner } from "../src/plugin/examine-signer.js";
import { failed } from "../src/plugin/examination.js";
import type { Check } from "../src/plugin/examination.js";
import type { HardhatVault } from "../src/plugin/hardhat-vault.js";
import { settingsOf } from "../src/plugin/addresses.js";
import { Deadline } from "../src/rpc/deadline.js";
import type { ArgumentsOf } from "./arguments.js";
import { parseAt, selectedNetwork, withVault } from "./open-vault.js";
import { describeCount } from "./output/format-value.js";
import { renderHeading } from "./output/heading.js";
import type { Envelope } from "./output/heading.js";
import { renderFacts, wrapText } from "./output/table.js";
import { nameFlags, parseTimeout } from "./parse-options.js";
import { taskAction } from "./run-task.js";
import type { TaskReport } from "./run-task.js";

export default taskAction(examine);

/** What was found, and where; without an envelope where nobody answered. */
export interface Examination {
  readonly envelope?: Envelope;
  readonly checks: readonly Check[];
}

/** What a look says where it has no connection, of its own by that access. */
const looks = {
  read: { name: "network", asked: "the connection", ifUnset: "fail" },
  write: {
    name: "signer",
    asked: "the requests about its signer",
    ifUnset: "warn",
  },
} as const;

async function examine(
  chosen: ArgumentsOf<"doctor">,
  hre: HardhatRuntimeEnvironment,
): Promise<TaskReport> {
  // Mistakes of who typed it are no findings.
  const { name: network, config } = selectedNetwork(hre);
  settingsOf(network, config, chosen.instance);
  parseAt(chosen.at);
  const timeout = parseTimeout(chosen.timeout);
  const deadline = timeout === undefined ? undefined : new Deadline(timeout);
  const repeated: RetryEvent[] = [];
  const onRetry = (event: RetryEvent): unknown => repeated.push(event);
  const look = async (
    access: keyof typeof looks,
    work: (vault: HardhatVault) => Promise<Examination>,
  ): Promise<Examination> => {
    const { name, asked: method, ifUnset } = looks[access];
    try {
      if (deadline?.isOver === true) {
        throw vaultError("VAULT_RPC_TIMEOUT", { network, method });
      }
      const left =
        deadline === undefined
          ? undefined
          : Math.max(1, Math.ceil(deadline.remaining));
      return await withVault(
        hre,
        access,
        chosen,
        async (vault) => await work(vault.during({ timeout: left, onRetry })),
        left,
      );
    } catch (error) {
      const isUnset =
        VaultError.isVaultError(error) &&
        error.code === "VAULT_CONFIG_VARIABLE";
      return { checks: [failed(name, error, isUnset ? ifUnset : "fail")] };
    }
  };
  const { envelope, checks } = await look("read", examineVault);
  if (envelope === undefined) {
    return reportExamination({ checks });
  }
  // By itself: this alone needs the keys.
  const signer = await look("write", async (vault) => ({
    checks: await examineSigner(vault),
  }));
  return reportExamination({
    envelope,
    checks: [
      // Whether it was reached, and how often it had to be asked.
      ...checks.slice(0, 1),
      ...examineRetries(repeated),
      ...checks.slice(1),
      ...signer.checks,
    ],
  });
}

/** Looks at the network and, where it answers, at all that is read there. */
export async function examineVault(vault: HardhatVault): Promise<Examination> {
  const { check, node } = await examineReachability(vault);
  if (node === undefined) {
    return { checks: [check] };
  }
  const [ofNode, ofContracts] = await Promise.all([
    examineNode(vault, node),
    examineContracts(vault, node.block),
  ]);
  return {
    envelope: { network: vault.networkName, ...node },
    checks: [check, ...ofNode, ...ofContracts],
  };
}

/** Reports what was found; a failed check fails the task. */
export function reportExamination({
  envelope,
  checks: found,
}: Examination): TaskReport {
  const checks = found.map((check) => ({
    ...check,
    fix: check.fix === null ? null : nameFlags(check.fix),
  }));
  const count = (status: Check["status"]): number =>
    checks.filter((check) => check.status === status).length;
  return {
    json: { ...envelope, checks },
    ok: count("fail") === 0,
    text: (style) => {
      const marks = {
        ok: style.good("ok  "),
        warn: style.warn("warn"),
        fail: style.bad("fail"),
      };
      return [
        envelope === undefined
          ? style.title("Examination")
          : renderHeading("Examination", envelope, style),
        renderFacts(
          checks.flatMap(({ name, status, detail, fix }) => [
            [`${marks[status]}  ${name}`, detail] as const,
            ...(fix === null ? [] : [["", style.dim(fix)] as const]),
          ]),
          style,
        ),
        wrapText(
          `${describeCount(count("ok"), "check")} passed, ${describeCount(count("warn"), "warning")}, ${describeCount(count("fail"), "failure")}.`,
          style,
        ),
      ].join("\n");
    },
  };
}

import { capitalize } from "@nomicfoundation/hardhat-utils/string";

import { isFailedReading } from "../src/client/failed-reading.js";
import { isFailedOrder } from "../src/client/orders/types.js";
import type { HardhatVault } from "../src/plugin/hardhat-vault.js";
import { assertInvariant, fallbackTo } from "../src/errors.js";
import { findSender } from "../src/sending/signer.js";
import { contractRoleNames, contractRoles } from "../src/protocol/index.js";
import { escapeUntrusted } from "../src/escape.js";
import { reportTask } from "./definitions.js";
import type { TaskValues } from "./definitions.js";
import { repeatFlags } from "./error-texts.js";
import { hideInOrder, readAction } from "./open-vault.js";
import { labelledValues, notes, title, toned } from "./output/blocks.js";
import type { Block, LabelledValue } from "./output/blocks.js";
import { writeToFile } from "./output/destination.js";
import { describeCount } from "./output/format-value.js";
import { snapshotBlocks } from "./output/readings.js";
import { roundBlocks } from "./output/rounds.js";
import { simulationBlocks } from "./output/simulation.js";
import { selectedNetwork } from "./parse-options.js";
import { strikesFigure } from "./report/charts.js";
import { ordersChapter, renderReport } from "./report/render.js";
import type { Chapter, Report } from "./report/render.js";
import type { TaskReport, TaskSurroundings } from "./run-task.js";
import { simulateToShow } from "./simulate.js";
import { settlementValues } from "./status.js";
import { readState } from "./vault-state.js";

const DEFAULT_FILE = "vault-report.html";

export default readAction(reportTask, report);

async function report(
  vault: HardhatVault,
  args: TaskValues<typeof reportTask>,
  surroundings: TaskSurroundings,
): Promise<TaskReport> {
  const { out = DEFAULT_FILE } = args;
  let found: Report | undefined;
  async function* pieces(): AsyncGenerator<string> {
    found = await gather(vault, args, surroundings);
    yield renderReport(found);
  }
  await writeToFile(pieces(), out);
  assertInvariant(found !== undefined, "nothing was reported");
  const { envelope, failures } = found;
  return {
    json: { ...envelope, file: out },
    ok: failures === 0,
    blocks: [
      title("Vault report", envelope),
      notes(
        `Written to ${escapeUntrusted(out)}.`,
        failures > 0 &&
          toned(
            "bad",
            `${describeCount(failures, "reading")} failed, as marked on the page.`,
          ),
      ),
    ],
  };
}

async function gather(
  opened: HardhatVault,
  {
    ids,
    block: blockTag,
    from,
    raw,
    rounds,
    simulate,
  }: TaskValues<typeof reportTask>,
  { hre, terminal, typed }: TaskSurroundings,
): Promise<Report> {
  const state = await readState(opened, { blockTag, from });
  const { envelope, pin, readings, time } = state;
  const { block } = envelope;
  const vault = opened.pinnedTo(pin);
  const context = { ...vault.settings, chainTime: time, raw };
  const chapters: Chapter[] = [
    { heading: "Settlement", blocks: [settlementValues(state)] },
    { heading: "Readings", blocks: snapshotBlocks(readings, context) },
  ];
  let failures = state.failures.length;
  if (rounds) {
    const past = await Array.fromAsync(
      vault.rounds({
        toBlock: block.number,
        from,
        onProgress: (far) => {
          terminal.progress("Reading blocks", far);
        },
      }),
    );
    const reported = await Promise.all(
      past.map(async (one) => ({
        ...one,
        settledTime:
          one.settledBlock === null
            ? undefined
            : (await vault.block(one.settledBlock)).timestamp,
      })),
    );
    chapters.push({
      heading: "Rounds",
      chart: strikesFigure(reported, context),
      blocks: roundBlocks(reported, block.number, context),
    });
  }
  if (simulate) {
    const { config } = selectedNetwork(hre);
    const shown = await simulateToShow(vault, {
      from: from ?? (await findSender(vault.rpc, config)),
      // In process, only the newest block can be simulated on.
      blockNumber:
        config.type === "http" ||
        (blockTag !== undefined && blockTag !== "latest")
          ? block.number
          : undefined,
    });
    chapters.push({
      heading: "If the vault were settled now",
      blocks: simulationBlocks(shown, vault.networkName, context),
    });
  }
  if (ids !== undefined) {
    const orders = await Array.fromAsync(
      vault.orders({
        ids: ids.toSorted((one, other) => (one < other ? -1 : 1)),
        from,
        blockTag: block.number,
        onProgress: (far) => {
          terminal.progress("Reading orders", far);
        },
      }),
    );
    const { round } = readings;
    const strike = isFailedReading(round) ? undefined : round.strikePrice;
    const place = repeatFlags({ ...typed, network: vault.networkName });
    chapters.push(
      ordersChapter(
        orders.map((order) => hideInOrder(vault, order)),
        strike,
        context,
        place,
      ),
    );
    failures += orders.filter(isFailedOrder).length;
  }
  chapters.push({
    heading: "Contracts",
    blocks: [await locateContracts(vault)],
  });
  await vault.requirePin();
  return {
    envelope,
    instance: vault.instanceName,
    chapters,
    failures,
  };
}

async function locateContracts(vault: HardhatVault): Promise<Block> {
  // In parallel, so that the file of deploy-mocks is read only once.
  const located = await Promise.all(
    contractRoleNames.map(
      async (role) =>
        await vault.addressOf(role).then(
          ({ address }): readonly LabelledValue[] => [
            [capitalize(contractRoles[role].label), address],
          ],
          // The readings show why an address is missing.
          fallbackTo([]),
        ),
    ),
  );
  return labelledValues(located.flat());
}

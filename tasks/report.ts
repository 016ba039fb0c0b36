import { capitalize } from "@nomicfoundation/hardhat-utils/string";

import type { HardhatVault } from "../src/plugin/hardhat-vault.js";
import { fallbackTo } from "../src/errors.js";
import { findSender } from "../src/sending/signer.js";
import { contractRoleNames, contractRoles } from "../src/protocol/index.js";
import { escapeUntrusted } from "../src/escape.js";
import { tasks } from "./definitions.js";
import type { TaskValues } from "./definitions.js";
import { hideInOrder, readAction, selectedNetwork } from "./open-vault.js";
import {
  chapter,
  labelledValues,
  notes,
  section,
  title,
  toned,
} from "./output/blocks.js";
import type { Block } from "./output/blocks.js";
import { requireReplaceable, writeToFile } from "./output/destination.js";
import { describeCount } from "./output/format-value.js";
import { snapshotBlocks } from "./output/readings.js";
import { isOrder, orderListing } from "./orders.js";
import { pricesFigures, strikesFigure } from "./report/charts.js";
import { renderPage } from "./report/page.js";
import type { Markup, Page } from "./report/page.js";
import { describeRounds, roundTable } from "./rounds.js";
import { repeatFlags } from "./run-task.js";
import type { TaskSurroundings } from "./run-task.js";
import { simulateToShow, simulationBlocks } from "./simulate.js";
import { settlementValues } from "./status.js";
import { readState } from "./vault-state.js";
import { requireSameBranch } from "../src/rpc/blocks.js";

export default readAction(tasks.report, async (vault, args, surroundings) => {
  const { out = "vault-report.html" } = args;
  // Checked first: a mistake should not cost all the reads.
  await requireReplaceable(out);
  const page = await gather(vault, args, surroundings);
  await writeToFile(renderPage(page), out);
  const { envelope, failures } = page;
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
});

/** Reads all at one block: the state first, then what was asked for. */
async function gather(
  vault: HardhatVault,
  args: TaskValues<"report">,
  { hre, terminal, rawArgs }: TaskSurroundings,
): Promise<Page & { readonly failures: number }> {
  const { block: blockTag, ids, from, raw } = args;
  const state = await readState(vault, { blockTag, from });
  const { envelope, readings } = state;
  const { number } = envelope.block;
  const context = { ...vault.settings, chainTime: state.time, raw };
  let failures = state.failures.length;
  const parts: Array<Block | Markup> = [
    chapter("Settlement"),
    settlementValues(state),
    chapter("Readings"),
    ...snapshotBlocks(readings, context),
  ];
  if (args.rounds) {
    const rounds = await Array.fromAsync(
      vault.rounds({
        toBlock: state.pin,
        from,
        onProgress: (far) => {
          terminal.progress("Reading blocks", far);
        },
      }),
    );
    parts.push(
      chapter("Rounds"),
      ...strikesFigure(rounds, context),
      roundTable(rounds, number, context),
      notes(...describeRounds(rounds, number)),
    );
  }
  if (args.simulate) {
    const { config } = selectedNetwork(hre);
    // In process, only the newest block can be simulated on.
    const isNewest = blockTag === undefined || blockTag === "latest";
    // The caller of all readings of the page.
    const reader = vault.withOptions({ from });
    const shown = await simulateToShow(reader, {
      from: from ?? (await findSender(vault.rpc, config)),
      blockNumber: config.type === "http" || !isNewest ? number : undefined,
    });
    parts.push(
      chapter("If the vault were settled now"),
      ...simulationBlocks(shown, vault.networkName, context),
    );
  }
  if (ids !== undefined) {
    const listing = orderListing(
      envelope,
      vault.orders({
        ids: ids.toSorted((one, other) => (one < other ? -1 : 1)),
        from,
        blockTag: state.pin,
        onProgress: (far) => {
          terminal.progress("Reading orders", far);
        },
      }),
      context,
      `All orders, with fees: npx hardhat vault orders${repeatFlags({ ...rawArgs, network: vault.networkName })} --out orders.csv`,
    );
    const listed = await Array.fromAsync(listing.items, (order) =>
      hideInOrder(vault, order),
    );
    const orders = listed.filter(isOrder);
    parts.push(
      chapter("Orders"),
      ...pricesFigures(orders, context),
      notes(...listing.summary()),
      // Browsers lay out this many rows without a delay.
      ...section(
        orders.length > 1_000 ? "The first 1,000 orders" : "Every order",
        listing.toTable(orders.slice(0, 1_000)),
      ),
    );
    failures += listing.failures();
  }
  parts.push(chapter("Contracts"), await locateContracts(vault));
  await requireSameBranch(vault.rpc, state.pin);
  const { instanceName } = vault;
  return {
    title: `Vault report${instanceName === undefined ? "" : `: ${instanceName}`}`,
    envelope,
    parts,
    failures,
  };
}

/** The readings show why an address is missing. */
async function locateContracts(vault: HardhatVault): Promise<Block> {
  // In parallel, so that the file of deploy-mocks is read only once.
  const located = await Promise.all(
    contractRoleNames.map(
      async (role) => await vault.addressOf(role).catch(fallbackTo(undefined)),
    ),
  );
  return labelledValues(
    contractRoleNames.map((role, index) => {
      const address = located[index]?.address;
      const { label } = contractRoles[role];
      return address !== undefined && [capitalize(label), address];
    }),
  );
}

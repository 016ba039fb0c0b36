import { ZeroAddress } from "ethers";

import { fallbackTo, hasErrorCode, vaultError } from "../src/errors.js";
import type { VaultError } from "../src/errors.js";
import { escapeUntrusted, toSafeJson } from "../src/foreign-text.js";
import { OTHER_ORIGIN } from "../src/guard/call.js";
import { isInProcess } from "../src/host.js";
import type { VaultHost } from "../src/host.js";
import { toJsonValue } from "../src/json.js";
import type { HardhatVault } from "../src/plugin/hardhat-vault.js";
import { formatNative, isSameRound } from "../src/protocol/round.js";
import { findSender } from "../src/sending/signer.js";
import { buildSettlement, toSafeBatch } from "../src/settlement/calldata.js";
import { deployGuard } from "../src/settlement/deploy-guard.js";
import { stillUnfinished } from "../src/settlement/effect.js";
import {
  describeUnfinished,
  findUnfinished,
} from "../src/settlement/next-run.js";
import type {
  ReplacementPreflight,
  SettleAllOptions,
  Settlement,
  SettlementEvent,
  SettlementPreflight,
} from "../src/settlement/options.js";
import { runSettlement } from "../src/settlement/settle-all.js";
import { simulateSettleAll } from "../src/simulation/simulate.js";
import type {
  Simulated,
  SimulateSettleAllOptions,
} from "../src/simulation/simulate.js";
import { readTokens } from "../src/simulation/tokens.js";
import { tasks } from "./definitions.js";
import type { TaskValues } from "./definitions.js";
import {
  code,
  labelledValues,
  notes,
  say,
  title,
  toned,
} from "./output/screen.js";
import {
  describeEvent,
  warningsOf,
  preflightParts,
  settlementParts,
  simulationParts,
  withTokens,
} from "./output/settlement.js";
import type { ShownSimulation } from "./output/settlement.js";
import type { RawArgs } from "./parse-options.js";
import {
  messageForCommandLine,
  readAction,
  readEnvelope,
  repeatFlags,
  selectedNetwork,
  taskAction,
  withVault,
  writeAction,
} from "./run-task.js";
import type { TaskReport } from "./run-task.js";
import type { Terminal } from "./terminal.js";

type SettleValues = TaskValues<"settle">;

export const settleAction = taskAction(
  tasks.settle,
  async (args, surroundings) => {
    const { terminal, rawArgs } = surroundings;
    return await withVault(
      surroundings,
      {
        ...args,
        access: isSigning(args) ? "write" : "read",
        limitsEachStep: true,
      },
      async (vault) =>
        args.calldata
          ? await printCalldata(vault, args, terminal)
          : await settle(vault, rawArgs, toOptions(args), terminal),
    );
  },
);

/** False for what needs no key: a locked one must not keep anybody from following. */
function isSigning(args: SettleValues): boolean {
  return args.resume
    ? args.bump || args.cancel
    : !args.assert && !args.calldata;
}

export function toOptions(args: SettleValues): SettleAllOptions {
  return {
    ifExpired: args.ifExpired,
    partial: args.partial,
    tokens: args.tokens,
    maxFeePerGas: args.maxFeePerGas,
    retryReverted: args.retryReverted,
    assertOnly: args.assert,
    resume: args.resume,
    // An unattended run first finishes what an earlier one began.
    resumeFirst: args.yes && !args.resume,
    bump: args.bump,
    cancel: args.cancel,
    from: args.from,
    confirmations: args.confirmations,
    timeout: args.timeout,
  };
}

export async function settle(
  vault: VaultHost,
  rawArgs: RawArgs,
  options: SettleAllOptions,
  { err, ask }: Pick<Terminal, "err" | "ask">,
): Promise<TaskReport> {
  const { networkName: network, display } = vault;
  const isAgreed = rawArgs["yes"] === true;
  const { partial, resume, bump } = options;
  let tokens: SettlementPreflight["tokens"] = new Map();

  const onEvent = (event: SettlementEvent): void => {
    if (event.type !== "preflight") {
      void say(err, notes(describeEvent(event)));
      return;
    }
    const { preflight } = event;
    ({ tokens } = preflight);
    const { chainTime } = preflight;
    const context = { ...display, chainTime, raw: false };
    void say(err, ...preflightParts(preflight, network, context));
    void err.write("\n");
  };
  const confirm = async (
    preflight: SettlementPreflight,
  ): Promise<true | VaultError> => {
    const hasWarnings = warningsOf(preflight).length > 0;
    const question = hasWarnings
      ? "Settle in spite of the warning?"
      : "Settle this round now?";
    return await confirmation(ask, question);
  };
  const confirmReplacement = async (
    change: ReplacementPreflight,
  ): Promise<true | string> => {
    const costs = `${formatNative(change.earlierMaxCost)} to ${formatNative(change.maxCost)}`;
    const question = `Raise the highest cost from ${costs} native currency?`;
    const answer = await confirmation(ask, question);
    // The transaction that was sent before stays.
    return answer === true || stillUnfinished(answer.message);
  };

  const { block, chainId, settlement, error, isFinal } = await runSettlement(
    vault,
    {
      ...options,
      onEvent,
      confirm: isAgreed || resume === true ? undefined : confirm,
      confirmReplacement:
        isAgreed || bump !== true ? undefined : confirmReplacement,
    },
  );
  const isDeclined = isFinal && hasErrorCode(error, "VAULT_NOT_CONFIRMED");
  if (isDeclined && rawArgs["json"] !== true) {
    // One line: the preview is on the screen, and nothing came of it.
    throw error;
  }
  const { preview, status } = settlement;
  let { reason } = settlement;
  if (error !== undefined) {
    const message = messageForCommandLine(error, rawArgs);
    reason = isFinal ? message : stillUnfinished(message);
  }
  // In process there is no journal to resume from.
  const isUnfinished = !isFinal && !isInProcess(vault);
  const partially = partial === true ? " --partial" : "";
  const flags = partially + repeatFlags(rawArgs, "confirmations");
  const continuing = `npx hardhat vault settle --resume${flags}`;
  const place = { network, chainId };
  const isFine =
    ["settled", "nothing-to-do", "cancelled"].includes(status) ||
    (partial === true && isStep(settlement));
  return {
    json: {
      ...place,
      block: block ?? null,
      settlement: {
        ...settlement,
        reason: isUnfinished ? `${reason} To continue: ${continuing}` : reason,
        preview: preview === null ? null : withTokens(preview, tokens),
      },
    },
    // A settlement that left tokens in the guard has a code.
    ok: isFine && settlement.code === null,
    screen: settlementParts(
      { ...settlement, reason },
      block === undefined ? undefined : { ...place, block },
      { ...display, raw: false, chainTime: block?.timestamp ?? 0 },
      isUnfinished ? continuing : undefined,
    ),
  };
}

/** True after a yes, else why not. */
async function confirmation(
  ask: Terminal["ask"],
  question: string,
): Promise<true | VaultError> {
  return ask === undefined
    ? vaultError("VAULT_NO_TERMINAL", {})
    : (await ask(question)) || vaultError("VAULT_NOT_CONFIRMED", {});
}

/** True if the round is still open, for the next of several transactions. */
function isStep({ status, before, after }: Settlement): boolean {
  return (
    status === "not-settled" &&
    before !== null &&
    after?.settled === false &&
    isSameRound(before, after)
  );
}

/** The unsigned transaction of `vault settle --calldata`. */
async function printCalldata(
  vault: VaultHost,
  { from, ifExpired, safe, tokens }: SettleValues,
  { err }: Pick<Terminal, "err">,
): Promise<TaskReport> {
  const built = await buildSettlement(vault, from, tokens, ifExpired);
  const { chainId, header, to, data, sender, estimatedGas, refusal } = built;
  const { number, timestamp } = header;
  // If this one is sent too, two rounds may be settled.
  const unfinished = await findUnfinished(vault);
  const warnings = [
    refusal !== null &&
      `${sender} would see this call refused at block ${number}: ${escapeUntrusted(refusal.replace(/\.$/u, ""))}. The round may be settled already, or the contract may accept only another sender (--from).`,
    built.isContract && OTHER_ORIGIN,
    unfinished !== null &&
      `a settlement is under way already: ${describeUnfinished(unfinished)}. Finish it first, with --resume: both may be mined.`,
  ];
  const lines = warnings.map(
    (text) => text !== false && toned("warn", `Warning: ${text}`),
  );
  await say(err, notes(...lines));
  const block = { number, timestamp };
  const call = { to, data, value: "0", estimatedGas };
  const document = safe
    ? toSafeBatch(built)
    : { network: vault.networkName, chainId, block, ...call };
  return {
    json: document,
    // A wallet reads it, so it is JSON without --json, too.
    screen: [code(toSafeJson(toJsonValue(document), 2))],
  };
}

export const simulateAction = readAction(
  tasks.simulate,
  async (vault, args, { hre, terminal }) => {
    const { from, atTime, ids, tokens, block, hardfork, fork } = args;
    const { networkName: network, display } = vault;
    terminal.progress(`Simulating a settlement of ${network}`);
    const shown = await simulateToShow(
      vault,
      {
        from,
        atTime,
        orders: ids,
        tokens,
        blockNumber: block,
        hardfork,
        engine: fork ? "fork" : undefined,
      },
      async () => await findSender(vault.rpc, selectedNetwork(hre).config),
    );
    const { simulation, chainId, base } = shown;
    const { number, timestamp } = base;
    const envelope = { network, chainId, block: { number, timestamp } };
    const { timestamp: chainTime } = simulation.block ?? base;
    const context = { ...display, chainTime, raw: false };
    return {
      json: { ...envelope, simulation: withTokens(simulation, shown.tokens) },
      // One that would leave tokens in the guard has a code.
      ok:
        ["settled", "nothing-to-do"].includes(simulation.status) &&
        simulation.code === null,
      screen: [
        title("Simulated settlement", envelope),
        ...simulationParts(shown, context),
        notes(toned("dim", `Nothing was sent to ${escapeUntrusted(network)}.`)),
      ],
    };
  },
);

/** Simulates, and reads symbol and decimals of the tokens that move. */
export async function simulateToShow(
  vault: VaultHost,
  options: SimulateSettleAllOptions,
  findDefaultSender?: () => Promise<string>,
): Promise<Simulated & ShownSimulation> {
  const simulated = await simulateSettleAll(vault, options, findDefaultSender);
  const { balances, transfers } = simulated.simulation;
  const moved = [...balances, ...(transfers ?? [])].map(({ token }) => token);
  // Without a symbol, the address shows the token.
  const tokens = await readTokens(vault, moved, simulated.base).catch(
    fallbackTo<ShownSimulation["tokens"]>(new Map()),
  );
  return { ...simulated, tokens };
}

export const deployGuardAction = writeAction(
  tasks["deploy-guard"],
  async (vault, args, { terminal }) => await deploy(vault, args, terminal),
);

export async function deploy(
  vault: HardhatVault,
  { from, settler, yes, instance }: TaskValues<"deploy-guard">,
  { ask, err }: Pick<Terminal, "ask" | "err">,
): Promise<TaskReport> {
  const network = escapeUntrusted(vault.networkName);
  const guard = await deployGuard(vault, {
    from,
    settler,
    confirm: yes
      ? undefined
      : async (deployment) => {
          const values = labelledValues([
            ["Network", `${network} (chain ${deployment.chainId})`],
            ["Settler", describeSettler(deployment.settler)],
            ["Account", deployment.from],
            [
              "Cost",
              `at most ${formatNative(deployment.maxCost)} native currency`,
            ],
          ]);
          await say(err, title("About to deploy a guard"), values);
          await err.write("\n");
          const answer = await confirmation(ask, "Deploy this guard now?");
          if (answer !== true) {
            throw answer;
          }
        },
    onHash: (hash) => void say(err, notes(`Transaction ${hash}`)),
  });
  const envelope = await readEnvelope(vault);
  const place = instance === undefined ? "" : `.instances.${instance}`;
  return {
    json: { ...envelope, guard },
    screen: [
      title("Guard", envelope),
      labelledValues([
        ["Address", guard.address],
        ["Settler", describeSettler(guard.settler)],
        ["Transaction", guard.hash ?? "none: it is there already"],
      ]),
      notes(
        guard.settler === ZeroAddress &&
          "Anyone may settle through this guard: a vault's allow-list must not name it.",
        `Put this into networks.${network}.vault${escapeUntrusted(place)} of the configuration:`,
      ),
      code(`guard: "${guard.address}",`),
    ],
  };
}

function describeSettler(settler: string): string {
  return settler === ZeroAddress ? "anyone" : `only ${settler}`;
}

import {
  fixedAddresses,
  firstOf,
  requireAddress,
} from "../src/client/addresses.js";
import type { LocatedAddress } from "../src/client/addresses.js";
import { encodeCall } from "../src/client/codec.js";
import { configuredAddresses } from "../src/plugin/addresses.js";
import { configuredFrom } from "../src/plugin/hardhat-vault.js";
import { invalidArgument, vaultError } from "../src/errors.js";
import { isReadOperation, operationEntry } from "../src/protocol/index.js";
import type { ContractRole } from "../src/protocol/index.js";
import { toSafeJson } from "../src/escape.js";
import { requestTask } from "./definitions.js";
import type { TaskValues } from "./definitions.js";
import { withVault } from "./open-vault.js";
import { code } from "./output/blocks.js";
import { selectedNetwork } from "./parse-options.js";
import { parseInteger } from "./parsers.js";
import { toCallArguments } from "./read.js";
import { taskAction } from "./run-task.js";
import type { TaskSurroundings } from "./run-task.js";

export default taskAction(requestTask, async (args, surroundings) => {
  const { operation } = args;
  const isRead = isReadOperation(operation);
  if (args.curl && !isRead) {
    throw invalidArgument(
      "--curl",
      `${operation} needs a signed transaction; the task \`vault settle\` sends one`,
      "Omit it.",
    );
  }
  const { name: network, config } = selectedNetwork(surroundings.hre);
  const { from = configuredFrom(network, config) } = args;
  const { role, data } = encodeCall(operation, parseWireArguments(args));
  const { address: to } = await locate(args, role, surroundings);
  const request = isRead
    ? {
        jsonrpc: "2.0",
        id: 1,
        method: "eth_call",
        params: [{ from, to, data }, "latest"],
      }
    : {
        operation,
        to,
        data,
        value: "0x0",
        explanation:
          "settleAll changes state: it is sent as a transaction, not with eth_call. The protocol does not document how that transaction is to be submitted, so only its call data is printed. `vault settle` sends it.",
      };
  const curl = `curl -sS -X POST -H 'Content-Type: application/json' --data '${toSafeJson(request)}' "$RPC_URL"`;
  return {
    json: args.curl ? { curl } : request,
    blocks: [code(args.curl ? curl : JSON.stringify(request, undefined, 2))],
  };
});

function parseWireArguments({
  operation,
  args,
  pool,
}: TaskValues<typeof requestTask>): readonly unknown[] {
  const { inputs, targetName } = operationEntry(operation);
  if (pool !== undefined && targetName === undefined) {
    throw invalidArgument("--pool", `${operation} has no pool`, "Omit it.");
  }
  if (pool === undefined && targetName !== undefined) {
    throw vaultError("VAULT_MISSING_OPTION", {
      where: "--pool",
      form: `The pool that ${operation} is asked of: public or private`,
    });
  }
  if (args.length !== inputs.length) {
    const names = inputs.map(({ name }) => name).join(" ");
    throw invalidArgument(
      operation,
      `it takes ${inputs.length === 0 ? "no arguments" : `${inputs.length} (${names})`}, got ${args.length}`,
    );
  }
  const values = inputs.map(({ unit, name }, index) => {
    const text = args[index] ?? "";
    return unit === "contractType" && !/^[0-9]+$/u.test(text)
      ? text
      : parseInteger(text, `<${name}>`);
  });
  return [
    ...(targetName === undefined ? [] : [pool]),
    ...toCallArguments(inputs, values),
  ];
}

/** An HTTP network is not opened: its URL may be a secret that is not available. */
async function locate(
  { operation, at, instance }: TaskValues<typeof requestTask>,
  role: ContractRole,
  surroundings: TaskSurroundings,
): Promise<LocatedAddress> {
  const { name: network, config } = selectedNetwork(surroundings.hre);
  if (config.type === "edr-simulated") {
    return await withVault(
      surroundings,
      "read",
      { at, instance },
      async (vault) => await vault.addressOf(role, operation),
    );
  }
  const configured = firstOf(
    configuredAddresses(network, config, instance),
    configuredAddresses(network, config),
  );
  const addresses =
    at === undefined
      ? configured
      : firstOf(fixedAddresses(at, "--at"), configured);
  return await requireAddress(addresses, role, { operation, network });
}

import {
  fixedAddresses,
  firstOf,
  requireAddress,
} from "../src/client/addresses.js";
import { encodeCall } from "../src/client/codec.js";
import { configuredAddresses } from "../src/plugin/addresses.js";
import { configuredFrom } from "../src/plugin/hardhat-vault.js";
import { invalidArgument } from "../src/errors.js";
import { isReadOperation, operationEntry } from "../src/protocol/index.js";
import { toSafeJson } from "../src/foreign-text.js";
import { tasks } from "./definitions.js";
import type { TaskValues } from "./definitions.js";
import { selectedNetwork } from "./open-vault.js";
import { code } from "./output/screen.js";
import { parseInteger } from "./parse-options.js";
import { toCallArguments } from "./read.js";
import { taskAction } from "./run-task.js";

/** The network is not opened: its URL may be a secret that is not available. */
export default taskAction(tasks.request, async (args, { hre }) => {
  const { operation, at = {}, instance } = args;
  const { role, data } = encodeCall(operation, parseWireArguments(args));
  const { name: network, config } = selectedNetwork(hre);
  const { from = configuredFrom(network, config) } = args;
  const configured = [instance, undefined].map((one) =>
    configuredAddresses(network, config, one),
  );
  const addresses = [fixedAddresses(at, "--at"), ...configured].reduce(firstOf);
  const place = { operation, network };
  const { address: to } = await requireAddress(addresses, role, place);
  const request = isReadOperation(operation)
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
  if (args.curl && !isReadOperation(operation)) {
    const problem = `${operation} needs a signed transaction; the task \`vault settle\` sends one`;
    throw invalidArgument("--curl", problem, "Omit it.");
  }
  const curl = `curl -sS -X POST -H 'Content-Type: application/json' --data '${toSafeJson(request)}' "$RPC_URL"`;
  return args.curl
    ? { json: { curl }, screen: [code(curl)] }
    : { json: request, screen: [code(JSON.stringify(request, undefined, 2))] };
});

/** Numbers are unscaled. What is missing, or too much, encodeCall() refuses. */
function parseWireArguments({
  operation,
  args,
  pool,
}: TaskValues<"request">): readonly unknown[] {
  const { inputs } = operationEntry(operation);
  const values = args.map((text, index) => {
    const input = inputs[index];
    return input?.unit === "contractType" && !/^[0-9]+$/u.test(text)
      ? text
      : parseInteger(text, `<${input?.name ?? "args"}>`);
  });
  const given = toCallArguments(inputs, values);
  return pool === undefined ? given : [pool, ...given];
}

import { Buffer } from "node:buffer";

import { AbiCoder } from "ethers";

import { everythingHostile, harmfulIn } from "./hostile-text.js";
import type { RpcHandler, RpcReply } from "./rpc-server.js";

/** What is planted in every place that may hold a secret. */
export const planted = {
  user: "cnry-us@r",
  password: "cnry-p#ss/w?rd",
  host: "cnry-h0st-label",
  path: "cnry-p4th",
  query: "cnry=query+k3y",
  header: "cnry-hea/der",
  bearer: "cnry-bearer+t0ken",
  fragment: "cnry-fr4gment",
  key: "c0ffee11c0ffee22c0ffee33c0ffee44c0ffee55c0ffee66c0ffee77c0ffee88",
  mnemonic:
    "legal winner thank year wave sausage worth useful legal winner thank yellow",
  passphrase: "cnry-passphrase",
  variable: "cnry-badly-configured",
} as const;
const basic = Buffer.from("cnry-basic:cnry:secret").toString("base64");

export const sent = [
  ...[planted.user, planted.password, planted.host, planted.path],
  ...[planted.query, planted.header, planted.bearer, planted.fragment, basic],
] as const;
/** The secrets of the fork's upstream: no other network of this process has them. */
export const sentToUpstream = [
  ...[planted.user, planted.password, planted.path],
  ...[planted.query, planted.header],
].map((text) => text.replaceAll("cnry", "frkd"));

const spellings: ReadonlyArray<(text: string) => string> = [
  (text) => text,
  encodeURIComponent,
  (text) => encodeURIComponent(text).toLowerCase(),
  (text) => text.toUpperCase(),
  (text) => text.toLowerCase(),
];
const forbidden = [
  ...new Set(
    [...sent, ...sentToUpstream, ...Object.values(planted)].flatMap((text) =>
      spellings.map((spell) => spell(text).toLowerCase()),
    ),
  ),
];

export const keyHeaders = {
  "x-api-key": planted.header,
  "x-token": `Bearer ${planted.bearer}`,
};
export const httpHeaders = { ...keyHeaders, authorization: `Basic ${basic}` };

/** The secrets that the node in use has received, and may repeat. */
let told: readonly string[] = sent;
let turn = 0;

/** @param secrets What the node in use receives from now on. */
export function tell(secrets: readonly string[]): void {
  told = secrets;
}

/** The secrets that came first in an echo: tasks show the start of an error. */
export const echoed = new Set<string>();

/** The secrets and a hostile text. */
export function echo(): string {
  turn += 1;
  const spell = spellings[turn % spellings.length] ?? String;
  const between = [" ", '"', "/", "', "][turn % 4] ?? " ";
  const first = turn % told.length;
  echoed.add(told[first] ?? "");
  const rotated = [...told.slice(first), ...told.slice(0, first)];
  const [start = "", ...rest] = rotated.map(spell);
  return [start, everythingHostile, ...rest].join(between);
}

export const ESCAPED = /\\u(?:\{(?:1b|202e)\}|001b|202e)/u;
const headerMethods = /^eth_(?:chainId|blockNumber|getBlockByNumber)$/u;

const echoError = (): RpcReply => ({
  error: {
    code: -32000,
    message: `denied: ${echo()}\ud800`,
    data: { message: echo(), errors: [{ message: echo() }] },
  },
});
const echoRevert = (): RpcReply => ({
  error: {
    code: 3,
    message: `execution reverted: ${echo()}`,
    data: `0x08c379a0${AbiCoder.defaultAbiCoder().encode(["string"], [echo()]).slice(2)}`,
  },
});

export const notSent = "a refusal of whatever is sent";
export const refusingContracts = "contracts that refuse";

export const behaviours = {
  success: () => undefined,
  [refusingContracts]: () => undefined,
  "a refusal of everything": echoError,
  "a refusal of all but the block": ({ request: { method } }) =>
    headerMethods.test(method) ? undefined : echoError(),
  [notSent]: ({ request: { method } }) =>
    /^eth_send|Transaction(?:Receipt|ByHash)$/u.test(method)
      ? echoError()
      : undefined,
  "a revert of every call": ({ request: { method } }) =>
    /^eth_(?:call|estimateGas|sendRawTransaction|simulateV1)$/u.test(method)
      ? echoRevert()
      : undefined,
  "a name that repeats it": ({ request: { method } }) =>
    method === "web3_clientVersion" ? { result: echo() } : undefined,
  "answers that are no answers": ({ request: { method } }) =>
    headerMethods.test(method) ? undefined : { result: echo() },
  "HTTP 403": ({ response }) => {
    response.writeHead(403, { "x-echo": encodeURIComponent(echo()) });
    response.end(echo());
    return "handled";
  },
  "too many requests, the first of each kind": ({ occurrence, response }) => {
    if (occurrence > 0) {
      return undefined;
    }
    response.writeHead(429, { "retry-after": "0" });
    response.end(echo());
    return "handled";
  },
} satisfies Readonly<Record<string, RpcHandler>>;
export type Behaviour = keyof typeof behaviours;

/** The secrets and the hostile texts that stand raw in a text. */
export function wrongIn(text: string, where: string): string[] {
  const lower = text.toLowerCase();
  const harm = [...new Set(harmfulIn(text))].join(" ");
  return [
    ...forbidden.filter((secret) => lower.includes(secret)),
    ...(harm === "" ? [] : [harm]),
    ...(text.includes("VAULT_INTERNAL") ? ["VAULT_INTERNAL"] : []),
  ].map((what) => {
    const at = Math.max(0, lower.indexOf(what) - 40);
    return `${where}: ${what} in ${JSON.stringify(text.slice(at, at + 500))}`;
  });
}

import { isHexString } from "ethers";

import {
  VaultError,
  hasErrorCode,
  invalidArgument,
  isError,
  settingOf,
  vaultError,
} from "../errors.js";
import { MAX_FOREIGN_TEXT } from "../escape.js";
import { asRecord, listOf } from "../json.js";
import { Redactor, quoteForeignText } from "../redact.js";
import { decodeRevertReason, invalidOpcode } from "./revert-reason.js";
import type { RevertReason } from "./revert-reason.js";

/**
 * - `reverted`: a contract reverted.
 * - `busy`: the node or a gateway cannot answer now.
 * - `behind`: it says that it lacks a block, or the state at it.
 * - `refused`: it refused for good.
 * - `timeout`, `unreadable`, `unreachable`: there was no answer, none in JSON-RPC, or no way.
 * - `local`: of this package, a setting, Hardhat or a plugin, before a node has answered.
 */
type FailureKind =
  | "reverted"
  | "busy"
  | "behind"
  | "refused"
  | "timeout"
  | "unreadable"
  | "unreachable"
  | "local";

/** The kinds of failures after which a request is retried. */
export type FailureReason = "rateLimited" | "transient";

/** What was thrown for a request, read once. */
export interface Failure {
  readonly kind: FailureKind;
  /** Undefined if another attempt fails, too. */
  readonly retry?: FailureReason | undefined;
  /** Least wait before the next attempt. */
  readonly retryAfterMs?: number;
  readonly revert?: RevertReason;
  /** The failure in words, safe to show. */
  readonly problem?: string;
  /** What to do, if the node was not reached. */
  readonly remedy?: string;
  /** Code of the node's own error. */
  readonly rpcCode?: number | undefined;
  readonly httpStatus?: number | undefined;
  readonly cause?: unknown;
  /** The error to throw, if the other properties do not make it. */
  readonly error?: VaultError;
}

/** The connection of a request. */
export interface Source {
  readonly network: string;
  /** Knows the secrets of the connection. */
  readonly redactor: Redactor;
  /** True if Hardhat and its plugins handle each request. */
  readonly isBehindHardhat?: boolean;
}

/** True if the node or a proxy refused, so that another request may succeed. */
export function isRefusal(error: unknown): error is VaultError {
  return hasErrorCode(
    error,
    "VAULT_RPC_ERROR",
    "VAULT_RPC_INVALID_RESPONSE",
    "VAULT_NETWORK_UNREACHABLE",
  );
}

/** An error, or what one wraps; nothing of it is checked. */
type ErrorLink = Readonly<Record<string, unknown>>;

// A sign matches a code (else the name) and the message of an error made on this side.

const settingSigns: ReadonlyArray<readonly [setting: string, sign: RegExp]> = [
  ["url", /^UND_ERR_INVALID_ARG (?:Invalid URL protocol|Redirect loop)/u],
  ["httpHeaders", /^UND_ERR_INVALID_ARG invalid .*header/u],
  ["accounts", /^HHE717 |^\w*Error (?:Invalid mnemonic|invalid scalar:)/u],
];
/** Hardhat's errors for: not found, not a URL, not an integer, not hex. */
const configVariableSign = /^HHE(?:7|28|29|30) /u;
const timeoutSign =
  /^(?:HHE704|TimeoutError|ETIMEDOUT|TIMEOUT|UND_ERR_(?:HEADERS|BODY|CONNECT)_TIMEOUT) /u;
const unreadableSign = /^(?:HHE702|SyntaxError) /u;
const passingSign = /^(?:ECONNRESET|EAI_AGAIN|EPIPE|UND_ERR_SOCKET) /u;

/** Failures of a connection; the first match counts. */
const connectionSigns: ReadonlyArray<
  readonly [sign: RegExp, problem: string, remedy?: string]
> = [
  [/^ECONNREFUSED |^HHE703 /u, "{host} refused the connection"],
  [/^(?:ECONNRESET|EPIPE|UND_ERR_SOCKET) /u, "{host} closed the connection"],
  [/^(ENOTFOUND|EAI_AGAIN) /u, "no address was found for {host} ({found})"],
  [
    /^(\w*CERT\w*|UNABLE_TO_\w+) /u,
    "the certificate of {host} is not trusted ({found})",
    "Correct the host in its URL. If the node is yours, set NODE_EXTRA_CA_CERTS to the file with the certificate of its authority.",
  ],
  [
    /^(?:ERR_SSL_\w+|EPROTO) /u,
    "{host} does not speak TLS",
    "Write http:// in place of https://, or the port for https.",
  ],
  [
    /^UND_ERR_ABORTED Proxy response \((\d+)\)/u,
    "the proxy answered HTTP status {found}",
    "Check the environment variables http_proxy, https_proxy and no_proxy.",
  ],
  [
    /^(UND_ERR_\w+|E(?:HOST|NET)UNREACH) /u,
    "there is no way to {host} ({found})",
  ],
];
/** A rule matches the JSON-RPC code, the HTTP status, or words. */
interface Rule {
  readonly kind: FailureKind;
  readonly retry?: FailureReason | undefined;
  readonly codes?: readonly unknown[];
  readonly status?: RegExp;
  /** Only where nodes have no code of their own for it. */
  readonly words: RegExp;
}

/**
 * The first match counts, so the words of a rule precede the codes of later rules. Nodes
 * send general codes for failures that only words distinguish: -32005 for a quota of a
 * month, -32603 for state that is gone.
 */
const rules: readonly Rule[] = [
  {
    // A retry meets the same failure of the EVM and the same limit of gas (geth, Erigon,
    // Nitro), or a quota of a day or a month (Infura, QuickNode, Alchemy). The codes are
    // those of JSON-RPC and EIP-1474 for a missing method.
    kind: "refused",
    codes: [-32_601, -32_004],
    words:
      /out ?of ?gas|opcode|EVM error|stack (?:under|over)flow|invalid jump|execution (?:aborted|timeout)|daily|per day|monthly|gas (?:limit|cap)|intrinsic gas|data limit|smaller|(?:not|n't) supports?|unsupported/iu,
  },
  {
    // EIP-1474's code, of Infura, Tenderly and BNB's nodes; 429 of OnFinality. QuickNode,
    // Blast, 1RPC, Pocket and Proxyd have codes of their own.
    kind: "busy",
    retry: "rateLimited",
    codes: [-32_005],
    status: /^429$/u,
    words:
      /rate.{0,10}(?:limit|exceed)|too many request|request limit|throttl|quota|capacity|throughput/iu,
  },
  {
    // No retry brings back old state, but one may reach a node that has newer state, with
    // any code (geth, Erigon, reth, Nitro, bor, zkSync, Infura).
    kind: "behind",
    words:
      /missing trie node|prune|archive|historical state|state .{0,80}(?:not|un)available/iu,
  },
  {
    // The node's time is over (geth: -32002), it failed (-32603, of every gateway), or a
    // gateway has no node behind it: eRPC's sent no JSON (-32700), Proxyd's is gone
    // (-32011), and Cloudflare's cannot fulfil the request (-32046). Words alone: Arbitrum,
    // Mantle, Alchemy, dRPC, and gateways in Go.
    kind: "busy",
    retry: "transient",
    codes: [-32_002, -32_603, -32_700, -32_011, -32_046],
    status: /^(?:408|425|5\d\d)$/u,
    words:
      /timed? ?-?out|deadline exceeded|temporar|try again|(?<!not )retry|not ready|at this time|overloaded|\bEOF\b|bad gateway|service unavailable|upstream|no .{0,20}(?:server|backend|node)s? available|socket hang up|connection (?:reset|closed|refused|termination)|\bid\b.{0,20}(?:mismatch|does not match)/iu,
  },
  {
    // A node lacks the block: geth, besu, reth, Erigon, Nethermind, Nitro, Avalanche,
    // zkSync, Hardhat, and chains of Cosmos (height). The code is EIP-1474's for a missing
    // resource.
    kind: "behind",
    codes: [-32_001],
    words:
      /header (?:for hash )?not found|unknown block|block.{0,60}(?:not (?:yet |currently |be )?(?:available|found|exist)|doesn't exist|out ?of ?range|invalid)|invalid block (?!param)|unfinalized|ahead of|height/iu,
  },
];

/** Shortest wait before a node that limits the rate gets another request. */
const SHORTEST_WAIT_MS = 200;
/** Hardhat has repeated the request seven times by then, without a wait if Retry-After is 0. */
const SHORTEST_WAIT_AFTER_429_MS = 1_000;

const ANY_SOURCE: Source = { network: "", redactor: new Redactor() };

/**
 * Classifies what a request or a connection threw, by its whole chain of causes. Codes and
 * names count only in errors made on this side, because a node can send any.
 */
export function classify(thrown: unknown, source = ANY_SOURCE): Failure {
  const { network, redactor, isBehindHardhat = false } = source;
  const links = errorsIn(thrown);
  const httpStatus = statusOf(links);
  const ofNode = errorOfNode(thrown, links);
  const cause = ofNode ?? thrown;
  const { code } = asRecord(cause);
  const rpcCode = typeof code === "number" ? code : undefined;
  // A refusal of the node in a 4xx response is the node's; 5xx is a gateway's.
  const isOfGateway = httpStatus !== undefined && !isRefusedStatus(httpStatus);
  const isOfNode = ofNode !== undefined && !isOfGateway;
  const signs = isOfNode ? [] : links.map(signOf);
  const local = findLocal(thrown, links, signs, source);
  if (local !== undefined) {
    return local;
  }
  const facts = { rpcCode, httpStatus, cause };
  if (matchOf(timeoutSign, signs) !== undefined) {
    // It has used up the request's time.
    return { kind: "timeout", ...facts };
  }
  if (matchOf(unreadableSign, signs) !== undefined) {
    const text = redactor.quote(refusedText(thrown));
    const problem = /^[[{]/u.test(text)
      ? `the answer was ${text}`
      : "the answer is not JSON; the URL may lead or redirect to a web page, or the answer is compressed";
    return { kind: "unreadable", retry: "transient", problem, ...facts };
  }
  const remedy = `Check that the node runs, and host, port and key in ${settingOf(network, "url")}.`;
  for (const [sign, text, ownRemedy = remedy] of connectionSigns) {
    const match = matchOf(sign, signs);
    if (match !== undefined && httpStatus === undefined) {
      const problem = text
        .replace("{host}", redactor.hide(hostOf(links)))
        .replace("{found}", match[1] ?? "");
      const retry = passingSign.test(match.input) ? "transient" : undefined;
      const kind = "unreachable";
      return { kind, retry, problem, remedy: ownRemedy, ...facts };
    }
  }
  const revert = findRevert(cause, (text) => redactor.hide(text));
  if (revert !== undefined) {
    const problem = quoteForeignText(revert.text);
    return { kind: "reverted", revert, problem, ...facts };
  }
  const isUncoded =
    httpStatus === undefined &&
    links.every(
      (link) =>
        typeof link["code"] !== "number" &&
        !Object.hasOwn(link, "_isProviderError"),
    );
  // Hardhat gives each error of a node a code.
  if (isBehindHardhat && isUncoded && links[0] === cause) {
    return { kind: "local", error: toHardhatError(thrown, redactor) };
  }
  const words = messageOf(cause);
  const begin = words.slice(0, MAX_FOREIGN_TEXT);
  const status =
    rpcCode === undefined || isOfGateway ? httpStatus : statusInCode(rpcCode);
  const { kind, retry }: Pick<Rule, "kind" | "retry"> = rules.find(
    (rule) =>
      rule.codes?.includes(rpcCode) === true ||
      rule.status?.test(String(status)) === true ||
      rule.words.test(begin),
  ) ?? { kind: "refused" };
  const shortest =
    httpStatus === 429 ? SHORTEST_WAIT_AFTER_429_MS : SHORTEST_WAIT_MS;
  const retryAfterMs = Math.max(
    retryAfterOf(links),
    retry === "rateLimited" ? shortest : 0,
  );
  if (httpStatus === undefined || isOfNode) {
    const problem = redactor.quote(words);
    return { kind, retry, retryAfterMs, problem, ...facts };
  }
  const inBody = redactor.quote(wordsInBody(links));
  const problem = `the node answered HTTP status ${httpStatus}${inBody === "" ? "" : ` (${inBody})`}`;
  return { kind, retry, retryAfterMs, problem, remedy, ...facts };
}

/**
 * Makes the error of a failed request.
 *
 * @param count Of the attempts, if there was more than one.
 */
export function toError(
  failure: Failure,
  method: string,
  { network }: Source,
  count?: { readonly attempts: number; readonly seconds: number },
): VaultError {
  const { kind, problem = "", remedy, rpcCode, httpStatus, cause } = failure;
  const details = {
    network,
    method,
    kind,
    ...(rpcCode !== undefined && { rpcCode }),
    ...(httpStatus !== undefined && { httpStatus }),
    ...count,
  };
  if (failure.error !== undefined) {
    return failure.error;
  }
  if (kind === "timeout") {
    return vaultError("VAULT_RPC_TIMEOUT", details, cause);
  }
  if (kind === "unreadable") {
    // Without the cause: a proxy's page may contain the key.
    return vaultError("VAULT_RPC_INVALID_RESPONSE", { ...details, problem });
  }
  if (remedy === undefined) {
    return vaultError("VAULT_RPC_ERROR", { ...details, problem }, cause);
  }
  const unreached = { ...details, problem, remedy };
  return vaultError("VAULT_NETWORK_UNREACHABLE", unreached, cause);
}

/** Converts what a request or a connection threw. */
export function toRpcError(
  thrown: unknown,
  method: string,
  source: Source,
): VaultError {
  return toError(classify(thrown, source), method, source);
}

/** A failure of this package, a setting, Hardhat or a plugin, if it is one. */
function findLocal(
  thrown: unknown,
  links: readonly ErrorLink[],
  signs: readonly string[],
  { network, redactor }: Source,
): Failure | undefined {
  const local = (error: VaultError): Failure => ({ kind: "local", error });
  const ours = links.find((link) => VaultError.isVaultError(link));
  if (ours !== undefined) {
    // An answer to another request, as one that is no JSON.
    return hasErrorCode(ours, "VAULT_RPC_INVALID_RESPONSE")
      ? { kind: "unreadable", retry: "transient", error: ours }
      : local(ours);
  }
  for (const [setting, sign] of settingSigns) {
    const { input } = matchOf(sign, signs) ?? {};
    if (input !== undefined) {
      const problem = redactor.quote(input.slice(input.indexOf(" ") + 1));
      const where = settingOf(network, setting);
      return local(invalidArgument(where, problem.replace(/\.$/u, "")));
    }
  }
  if (isMarked(thrown)) {
    return local(toHardhatError(thrown, redactor));
  }
  const wrongChain = links.find(
    (link) => isHardhatError(link) && link["errorCode"] === "HHE708",
  );
  if (wrongChain !== undefined) {
    const named = asRecord(wrongChain["messageArguments"]);
    const expected = String(named["configChainId"]);
    const actual = String(named["connectionChainId"]);
    const details = { network, expected, actual };
    return local(vaultError("VAULT_WRONG_CHAIN", details, thrown));
  }
  return matchOf(configVariableSign, signs) === undefined
    ? undefined
    : local(toConfigVariableError(thrown, `A setting of networks.${network}`));
}

function signOf(link: ErrorLink): string {
  const { code, name, errorCode } = link;
  // A numeric code is the node's own, and so is its message.
  const isOfNode = typeof code === "number";
  const ownCode = isHardhatError(link) ? errorCode : code;
  const sign = isOfNode ? name : (ownCode ?? name);
  return `${typeof sign === "string" ? sign : ""} ${isOfNode ? "" : messageOf(link)}`;
}

function matchOf(
  sign: RegExp,
  signs: readonly string[],
): RegExpExecArray | undefined {
  return signs.map((text) => sign.exec(text) ?? undefined).find(Boolean);
}

/** True for a status after which the same request fails again. */
function isRefusedStatus(status: number): boolean {
  return status >= 400 && status < 500 && ![408, 425, 429].includes(status);
}

/** Some gateways put an HTTP status into the code, as 429 or as -32429. */
function statusInCode(code: number): number | undefined {
  const status = code < 0 ? -32_000 - code : code;
  return status >= 400 && status < 600 ? status : undefined;
}

/** Host and port of the node, if an error of this side names them. */
function hostOf(links: readonly ErrorLink[]): string {
  for (const { address, hostname, port } of links) {
    const host = address ?? hostname;
    if (typeof host === "string") {
      return typeof port === "number" ? `${host}:${port}` : host;
    }
  }
  return "the node";
}

/**
 * The error of a configuration variable without a usable value. Hardhat's text names
 * the variable, not its value.
 */
export function toConfigVariableError(
  error: unknown,
  where: string,
): VaultError {
  const { errorCode, messageArguments } = asRecord(error);
  const { name } = asRecord(messageArguments);
  const problem =
    errorCode === "HHE7" && typeof name === "string"
      ? `the configuration variable ${quoteForeignText(name)} is missing from the environment of this process, and no keystore has it. A scheduler such as cron has an environment of its own.`
      : quoteForeignText(messageOf(error));
  return vaultError("VAULT_CONFIG_VARIABLE", { where, problem }, error);
}

/** Sites whose addresses in an error are for the reader, and no node's. */
const readersLinks = /^https:\/\/(?:hardhat\.org|github\.com|nodejs\.org)\//u;

export function toHardhatError(error: unknown, redactor: Redactor): VaultError {
  const { name, errorCode } = asRecord(error);
  const plugin = pluginOf(asRecord(error));
  const source =
    plugin !== undefined
      ? `The plugin ${plugin}`
      : typeof errorCode === "string"
        ? "Hardhat"
        : "Hardhat or one of its plugins";
  // The name of a built-in error explains more than its message.
  const kind =
    typeof name === "string" &&
    /^(?:Syntax|Type|Reference|Range)Error$/u.test(name)
      ? `${name}: `
      : "";
  const problem = redactor.quote(`${kind}${messageOf(error)}`, readersLinks);
  return vaultError("VAULT_HARDHAT_ERROR", { source, problem }, error);
}

/** The errors of this side, outermost first. */
function errorsIn(thrown: unknown): readonly ErrorLink[] {
  return walk(thrown, (link) =>
    isError(link) ? [link["cause"], link["error"], infoOf(link)] : undefined,
  );
}

/** More than any library nests or lists. */
const MAX_LINKS = 100;
const MAX_LISTED = 20;

/**
 * Lists an error and what it wraps.
 *
 * @param inside Returns undefined for a link that does not count.
 */
function walk(
  error: unknown,
  inside: (link: ErrorLink) => readonly unknown[] | undefined,
): readonly ErrorLink[] {
  const found = new Set<ErrorLink>();
  const queue: unknown[] = [error];
  for (const next of queue) {
    const link = asRecord(next);
    const wrapped =
      link === next && !found.has(link) ? inside(link) : undefined;
    if (wrapped !== undefined && found.size < MAX_LINKS) {
      found.add(link);
      queue.push(...wrapped, ...listOf(link["errors"]).slice(0, MAX_LISTED));
    }
  }
  return [...found];
}

/** Ethers judges an answer by itself, and keeps the node's error there. */
function infoOf(link: ErrorLink): unknown {
  return asRecord(link["info"])["error"];
}

/** The error that the node itself sent, also with an HTTP status; undefined if it sent none. */
function errorOfNode(thrown: unknown, links: readonly ErrorLink[]): unknown {
  const inBody = bodyOf(links)["error"];
  const refused = parseRecord(refusedText(thrown))["error"];
  return [inBody, refused, ...links.map(infoOf)]
    .map((error) => (typeof error === "string" ? { message: error } : error))
    .find(hasMessage);
}

/** The node's words in the body of an HTTP response; empty if there are none. */
function wordsInBody(links: readonly ErrorLink[]): string {
  const body = bodyOf(links);
  return [body["error"], body].find(hasMessage)?.message ?? "";
}

function bodyOf(links: readonly ErrorLink[]): ErrorLink {
  return parseRecord(links.map(({ body }) => body).find(Boolean));
}

function hasMessage(value: unknown): value is { readonly message: string } {
  return typeof asRecord(value)["message"] === "string";
}

/** HTTP status of the response, if it was not 2xx. */
function statusOf(links: readonly ErrorLink[]): number | undefined {
  return (
    links
      // Into plain errors, a provider may copy what the node sent.
      .filter((link) => Object.getPrototypeOf(link) !== Error.prototype)
      // Undici and Hardhat name it `statusCode`, viem `status`.
      .flatMap(({ statusCode, status }) => [statusCode, status])
      .find(
        (status): status is number =>
          typeof status === "number" && status >= 100 && status < 600,
      )
  );
}

/** The Retry-After header in milliseconds, if it is in seconds; else 0. */
function retryAfterOf(links: readonly ErrorLink[]): number {
  const seconds = links
    .map(({ headers }) => asRecord(headers)["retry-after"])
    .find((value) => typeof value === "string" && /^\d{1,6}$/u.test(value));
  return Number(seconds ?? 0) * 1_000;
}

/** The text of an answer that Hardhat refuses as invalid JSON-RPC; else empty. */
function refusedText(thrown: unknown): string {
  const error = asRecord(thrown);
  const text = asRecord(error["messageArguments"])["response"];
  return isHardhatError(error) && error["errorCode"] === "HHE702"
    ? String(text)
    : "";
}

/**
 * True for an answer with neither a result nor an error: some nodes leave out a result
 * that is null. Never read anything else from a refused answer: it may be the answer to
 * a request that Hardhat sends by itself, such as the one for the chain id.
 */
export function isEmptyAnswer(thrown: unknown): boolean {
  const { jsonrpc, id, result, error, ...others } = parseRecord(
    refusedText(thrown),
  );
  return (
    (jsonrpc ?? id) !== undefined &&
    (result ?? error ?? null) === null &&
    Object.keys(others).length === 0
  );
}

/** Parses JSON; empty if it is something else. */
function parseRecord(body: unknown): ErrorLink {
  try {
    return asRecord(typeof body === "string" ? JSON.parse(body) : body);
  } catch {
    return {};
  }
}

export function messageOf(error: unknown): string {
  const { message } = asRecord(error);
  const text = typeof message === "string" ? message : error;
  return typeof text === "string" && text !== "" ? text : "it gave no reason";
}

/** Hardhat's errors about the connection or a setting. */
const ofConnection = /^HHE(?:7|28|29|30|70[2348]|717)$/u;

/** True for an error that Hardhat or a plugin has marked as its own. */
export function isMarked(error: unknown): boolean {
  const link = asRecord(error);
  return (
    pluginOf(link) !== undefined ||
    (isHardhatError(link) && !ofConnection.test(String(link["errorCode"])))
  );
}

function isHardhatError(link: ErrorLink): boolean {
  return hasMark(link, "_isHardhatError");
}

/** @returns The id of the plugin whose error this is. */
function pluginOf(link: ErrorLink): string | undefined {
  return hasMark(link, "_isHardhatPluginError")
    ? String(link["pluginId"])
    : undefined;
}

/** A provider may copy a node's JSON into its error, but never such a mark. */
function hasMark(link: ErrorLink, name: string): boolean {
  const mark = Object.getOwnPropertyDescriptor(link, name);
  return mark?.value === true && mark.enumerable === false;
}

/** No contract returns longer revert data. */
const MAX_REVERT_DATA = 1_000_000;

/** JSON-RPC error code of a revert with data in geth and anvil. */
const EXECUTION_REVERTED = 3;

const revertWords = /\brevert|VM Exception|VM execution error/iu;

/**
 * Finds a revert in an error of this side or of the node.
 *
 * @param hide Hides secrets in the contract's own words.
 */
function findRevert(
  error: unknown,
  hide: (text: string) => string,
): RevertReason | undefined {
  const links = walk(error, ({ cause, data, error: inner, info }) => [
    cause,
    data,
    inner,
    info,
  ]);
  const data =
    links
      .flatMap((link) => [link["data"], link["result"]])
      .map(toHexData)
      .find((hex) => hex !== undefined) ?? "0x";
  const texts = links.map((link) => messageOf(link).slice(0, MAX_FOREIGN_TEXT));
  if (data === "0x") {
    // It ends the call of a contract with any code that the node gives the error.
    const found = texts.map(invalidOpcode).find((one) => one !== undefined);
    if (found !== undefined) {
      return found;
    }
    // The codes and words of a revert also stand for a node's low gas limit.
    const words = [...texts, ...links.map((link) => link["data"])]
      .filter((one) => typeof one === "string")
      .join("\n");
    if (/out ?of ?gas/iu.test(words) && !/\brevert/iu.test(words)) {
      return undefined;
    }
  }
  const isRevert = links.some(
    ({ code }, index) =>
      code === EXECUTION_REVERTED || revertWords.test(texts[index] ?? ""),
  );
  if (!isRevert) {
    return undefined;
  }
  const reason =
    data === "0x" ? texts.map(reasonIn).find((text) => text !== "") : undefined;
  const hex = toHexData(reason);
  return reason === undefined || hex !== undefined
    ? decodeRevertReason(hex ?? data, [], hide)
    : { kind: "string", text: hide(reason), data };
}

/** Some nodes write "Reverted 0x…". */
function toHexData(value: unknown): string | undefined {
  if (typeof value !== "string" || value.length > MAX_REVERT_DATA) {
    return undefined;
  }
  const hex = value.replace(/^reverted\s+/iu, "");
  return isHexString(hex, true) ? hex : undefined;
}

/**
 * The reason of a revert in a message, in the forms of geth, besu, Hardhat and others; empty
 * if there is none.
 */
function reasonIn(message: string): string {
  const [, quoted, listed, rest = ""] =
    /reason string '(.*)'|revert reason: \[(?:Error\((.*?)\)|[^\]]*)\]|\brevert(?:ed)?\b(?! opcode| with(?:out)? )[\s:,]*(.*)$/isu.exec(
      message,
    ) ?? [];
  return (quoted ?? listed ?? rest.replace(/^\((.*)\)$/su, "$1")).trim();
}

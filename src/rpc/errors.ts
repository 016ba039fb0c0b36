import { isHexString } from "ethers";

import { VaultError, invalidArgument, vaultError } from "../errors.js";
import { asRecord, listOf } from "../json.js";
import {
  MAX_FOREIGN_TEXT,
  quoteForeignText,
  redactSecrets,
} from "../untrusted-text.js";
import { decodeRevertReason, invalidOpcode } from "./revert-reason.js";
import type { RevertReason } from "./revert-reason.js";

export function isNodeRefusal(error: unknown): error is VaultError {
  return VaultError.isVaultError(error) && error.code === "VAULT_RPC_ERROR";
}

/** True if the node or a proxy refused, so that another request may succeed. */
export function isRefusedAnyhow(error: unknown): error is VaultError {
  return (
    VaultError.isVaultError(error) &&
    [
      "VAULT_RPC_ERROR",
      "VAULT_RPC_INVALID_RESPONSE",
      "VAULT_NETWORK_UNREACHABLE",
    ].includes(error.code)
  );
}

// Signs of an error made on this side. A sign matches an HTTP status, or a code (else
// the name) and the message.
const timeoutSign =
  /^(?:HHE704|TimeoutError|ETIMEDOUT|TIMEOUT|UND_ERR_(?:HEADERS|BODY|CONNECT)_TIMEOUT) /u;
const unreadableSign = /^(?:HHE702|SyntaxError) /u;
const passingSign =
  /^(?:HHE702|SyntaxError|ECONNRESET|EAI_AGAIN|EPIPE|UND_ERR_SOCKET) /u;
/** Hardhat's errors for: not found, not a URL, not an integer, not hex. */
const configVariableSign = /^HHE(?:7|28|29|30) /u;

/** Signs of a network setting that cannot be used. */
const settingSigns: ReadonlyArray<readonly [setting: string, sign: RegExp]> = [
  ["url", /^UND_ERR_INVALID_ARG (?:Invalid URL protocol|Redirect loop)/u],
  ["httpHeaders", /^UND_ERR_INVALID_ARG invalid .*header/u],
  ["accounts", /^HHE717 |^\w*Error (?:Invalid mnemonic|invalid scalar:)/u],
];

/** Failures of a connection; the first match counts. */
const connectionSigns: ReadonlyArray<
  readonly [sign: RegExp, problem: string, remedy?: string]
> = [
  [/^(HTTP status .*)/u, "{host} answered {found}"],
  [/^ECONNREFUSED |^HHE703 /u, "{host} refused the connection"],
  [/^(?:ECONNRESET|EPIPE|UND_ERR_SOCKET) /u, "{host} closed the connection"],
  [/^(ENOTFOUND|EAI_AGAIN) /u, "no address was found for {host} ({found})"],
  [/^(E(?:HOST|NET)UNREACH) /u, "there is no way to {host} ({found})"],
  [
    /^(\w*CERT\w*|UNABLE_TO_\w+) /u,
    "the certificate of {host} is not trusted ({found})",
    "If the node is yours, set NODE_EXTRA_CA_CERTS to the file with the certificate of its authority; else correct its URL.",
  ],
  [
    /^(?:ERR_SSL_\w+|EPROTO) /u,
    "{host} does not speak TLS",
    "Write http:// in place of https://, or the port for https.",
  ],
  [
    /^UND_ERR_ABORTED Proxy response \((\d+)\)/u,
    "the proxy in front of {host} answered HTTP status {found}",
    "Check the environment variables http_proxy, https_proxy and no_proxy.",
  ],
];

// Texts of nodes and gateways, which have no codes for these failures.
const busyWords =
  /rate.?limit|too many requests|request limit|(?<!gas )limit exceeded|(?:quota|capacity|compute units).{0,40}exceeded|exceeded.{0,40}(?:quota|capacity|compute units)/iu;
const blockWords =
  /header not found|header for hash not found|unknown block|block not found|block .{0,40}not (?:yet )?(?:available|found)|block ?out ?of ?range|block height is/iu;
const passingWords =
  /timed? ?-?out|temporar|try again|overloaded|bad gateway|service unavailable|socket hang up|connection (?:reset|closed)|\bid\b.{0,20}(?:mismatch|does not match)/iu;
/** A retry meets the same execution limit, or a quota of a day or more. */
const finalWords = /execution (?:aborted|timeout)|daily|per day|monthly/iu;

/** JSON-RPC error codes of EIP-1474. */
const LIMIT_EXCEEDED = -32005;
const INVALID_PARAMS = -32602;
const TOO_MANY_REQUESTS = 429;
/** JSON-RPC error code of a revert with data in geth and anvil. */
const EXECUTION_REVERTED = 3;

/**
 * Converts the error of a failed request, by its whole chain of causes. Codes and
 * names count only in errors made on this side, because a node can send any.
 *
 * @param tried Text with number and duration of the attempts, if more than one.
 */
export function toRpcError(
  thrown: unknown,
  network: string,
  method: string,
  tried = "",
): VaultError {
  const { error, links, match } = readError(thrown);
  const ours = links.find((link) => VaultError.isVaultError(link));
  if (ours !== undefined) {
    return ours;
  }
  const wrongChain = links.find(
    (link) => isHardhatError(link) && link["errorCode"] === "HHE708",
  );
  if (wrongChain !== undefined) {
    const named = asRecord(wrongChain["messageArguments"]);
    return vaultError(
      "VAULT_WRONG_CHAIN",
      {
        network,
        expected: String(named["configChainId"]),
        actual: String(named["connectionChainId"]),
      },
      error,
    );
  }
  if (match(configVariableSign) !== undefined) {
    return toConfigVariableError(error, `A setting of networks.${network}`);
  }
  if (match(timeoutSign) !== undefined) {
    return vaultError("VAULT_RPC_TIMEOUT", { network, method, tried }, error);
  }
  if (match(unreadableSign) !== undefined) {
    // Without the body and the cause: a proxy's page may contain the key.
    const problem = `the answer is not JSON; the URL may lead or redirect to a web page${tried}`;
    return vaultError("VAULT_RPC_INVALID_RESPONSE", {
      network,
      method,
      problem,
    });
  }
  for (const [setting, sign] of settingSigns) {
    const { input } = match(sign) ?? {};
    if (input !== undefined) {
      const problem = quoteForeignText(input.slice(input.indexOf(" ") + 1));
      const where = `networks.${network}.${setting}`;
      return invalidArgument(where, problem.replace(/\.$/u, ""));
    }
  }
  for (const [sign, text, remedy] of connectionSigns) {
    const found = match(sign);
    if (found !== undefined) {
      const problem = text
        .replace("{host}", hostOf(links))
        .replace("{found}", found[1] ?? "");
      return vaultError(
        "VAULT_NETWORK_UNREACHABLE",
        {
          network,
          problem: `${problem}${tried}`,
          remedy:
            remedy ??
            `Check that the node runs, and host, port and key in networks.${network}.url.`,
        },
        error,
      );
    }
  }
  // Some nodes repeat the URL's path, with the key in it.
  const problem = `${quoteForeignText(redactSecrets(messageOf(error)))}${tried}`;
  return vaultError("VAULT_RPC_ERROR", { network, method, problem }, error);
}

/**
 * The error of a configuration variable without a usable value. Hardhat's text names
 * the variable, not its value.
 */
export function toConfigVariableError(
  error: unknown,
  where: string,
): VaultError {
  const problem = quoteForeignText(messageOf(error));
  return vaultError("VAULT_CONFIG_VARIABLE", { where, problem }, error);
}

export type Failure =
  | { readonly kind: "reverted"; readonly reverted: RevertReason }
  | {
      /**
       * `busy` and `passing`: a retry may succeed. `behind`: the node lacks a block.
       * `final`: a retry fails again.
       */
      readonly kind: "busy" | "passing" | "behind" | "final";
      /** Wait that the node requested. */
      readonly retryAfterMs?: number | undefined;
    };

/** Classifies a failure. A timeout is final: it has used up the request's time. */
export function classifyFailure(thrown: unknown): Failure {
  const { error, links, status, match } = readError(thrown);
  const reverted = findRevert(error);
  if (reverted !== undefined) {
    return { kind: "reverted", reverted };
  }
  const words = messageOf(error).slice(0, MAX_FOREIGN_TEXT);
  if (match(timeoutSign) !== undefined || finalWords.test(words)) {
    return { kind: "final" };
  }
  const retryAfterMs = retryAfterOf(links);
  if (
    status === TOO_MANY_REQUESTS ||
    asRecord(error)["code"] === LIMIT_EXCEEDED ||
    busyWords.test(words)
  ) {
    return { kind: "busy", retryAfterMs };
  }
  if (status !== undefined) {
    return { kind: status >= 500 ? "passing" : "final", retryAfterMs };
  }
  if (blockWords.test(words)) {
    return { kind: "behind" };
  }
  const isPassing =
    match(passingSign) !== undefined || passingWords.test(words);
  return { kind: isPassing ? "passing" : "final" };
}

export function refusesParameters(error: unknown): boolean {
  return everythingIn(error).some(({ code }) => code === INVALID_PARAMS);
}

/** No contract returns longer revert data. */
const MAX_REVERT_DATA = 1_000_000;

/** Finds a revert in an error of this side or of the node. */
function findRevert(error: unknown): RevertReason | undefined {
  const links = everythingIn(error);
  const data =
    links
      .flatMap((link) => [link["data"], link["result"], ganacheReturn(link)])
      .find(
        (value): value is string =>
          typeof value === "string" &&
          value.length <= MAX_REVERT_DATA &&
          isHexString(value, true),
      ) ?? "0x";
  const messages = links.map((link) =>
    messageOf(link).slice(0, MAX_FOREIGN_TEXT),
  );
  if (data === "0x") {
    // It ends the call of a contract with any code that the node gives the error.
    const found = messages.map(invalidOpcode).find((one) => one !== undefined);
    if (found !== undefined) {
      return found;
    }
  }
  const isRevert = links.some((link, index) => {
    const words = messages[index] ?? "";
    return (
      /\brevert|VM Exception/iu.test(words) ||
      // The same code stands for a call that exceeds a node's low gas limit.
      (link["code"] === EXECUTION_REVERTED &&
        (data !== "0x" || !/out ?of ?gas/iu.test(words)))
    );
  });
  return isRevert ? decodeRevertReason(data) : undefined;
}

/** Ganache 6 puts the returned bytes under the hash of the transaction. */
function ganacheReturn({ data }: ErrorLink): unknown {
  const [key] = Object.keys(asRecord(data));
  return isHexString(key, 32) ? asRecord(asRecord(data)[key])["return"] : null;
}

type ErrorLink = Readonly<Record<string, unknown>>;

/** Reads status and signs of an error of this side, its causes included. */
function readError(thrown: unknown) {
  const all = walk(thrown, (link) =>
    isOwnError(link)
      ? [link["cause"], link["error"], asRecord(link["info"])["error"]]
      : undefined,
  );
  const httpStatus = statusOf(all);
  // The body of a 4xx response may contain the node's own error.
  const ofNode =
    httpStatus !== undefined &&
    httpStatus >= 400 &&
    httpStatus < 500 &&
    httpStatus !== TOO_MANY_REQUESTS
      ? all
          .map(({ body }) => asRecord(asRecord(parseBody(body))["error"]))
          .find(({ message }) => typeof message === "string")
      : undefined;
  const links = ofNode === undefined ? all : [];
  const status = ofNode === undefined ? httpStatus : undefined;
  const signs = [
    ...(status === undefined ? [] : [`HTTP status ${status}`]),
    ...links.map(signOf),
  ];
  return {
    error: ofNode ?? thrown,
    links,
    status,
    match: (sign: RegExp) =>
      signs.map((text) => sign.exec(text)).find((found) => found !== null),
  };
}

function signOf(link: ErrorLink): string {
  const { code, name } = link;
  // A numeric code is the node's own, and so is its message.
  const [sign, message] =
    typeof code === "number"
      ? [name, ""]
      : [
          isHardhatError(link) ? link["errorCode"] : (code ?? name),
          messageOf(link),
        ];
  return `${typeof sign === "string" ? sign : ""} ${message}`;
}

/** Ignores plain errors, into which a provider may copy what the node sent. */
function statusOf(links: readonly ErrorLink[]): number | undefined {
  return links
    .filter((link) => Object.getPrototypeOf(link) !== Error.prototype)
    .map(({ statusCode }) => statusCode)
    .find(
      // Some libraries put another code there.
      (status): status is number =>
        typeof status === "number" && status >= 100 && status < 600,
    );
}

function parseBody(body: unknown): unknown {
  try {
    return typeof body === "string" ? JSON.parse(body) : body;
  } catch {
    // Not JSON-RPC: the HTTP status suffices.
    return undefined;
  }
}

/** Host and port of the node, if an error of this side names them. */
function hostOf(links: readonly ErrorLink[]): string {
  for (const link of links) {
    const { address, hostname, port } = link;
    const [, url = ""] =
      /^[A-Z].* (https?:\S+)(?: was refused)?$/u.exec(messageOf(link)) ?? [];
    if (URL.canParse(url)) {
      return new URL(url).host;
    }
    const host = address ?? hostname;
    if (typeof host === "string") {
      return typeof port === "number" ? `${host}:${port}` : host;
    }
  }
  return "the node";
}

/** The Retry-After header, if it is in seconds. */
function retryAfterOf(links: readonly ErrorLink[]): number | undefined {
  const seconds = links
    .map(({ headers }) => asRecord(headers)["retry-after"])
    .find((value) => typeof value === "string" && /^\d{1,6}$/u.test(value));
  return seconds === undefined ? undefined : Number(seconds) * 1_000;
}

/** True for an error, also of another realm; parsed JSON is never one. */
function isOwnError(link: ErrorLink): boolean {
  return (
    link instanceof Error ||
    Object.prototype.toString.call(link) === "[object Error]"
  );
}

/** A provider may copy a node's JSON into its error, but never this mark. */
function isHardhatError(link: ErrorLink): boolean {
  const mark = Object.getOwnPropertyDescriptor(link, "_isHardhatError");
  return mark?.value === true && mark.enumerable === false;
}

/** The error and all that it wraps, the node's data included. */
function everythingIn(error: unknown): readonly ErrorLink[] {
  return walk(error, ({ cause, data, error: inner, info }) => [
    cause,
    data,
    inner,
    info,
  ]);
}

/** More than any library nests or lists. */
const MAX_LINKS = 100;
const MAX_LISTED = 20;

/**
 * Lists an error and what it wraps, outermost first.
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
    if (found.size >= MAX_LINKS) {
      break;
    }
    const link = asRecord(next);
    const wrapped =
      link === next && !found.has(link) ? inside(link) : undefined;
    if (wrapped !== undefined) {
      found.add(link);
      queue.push(...wrapped, ...listOf(link["errors"]).slice(0, MAX_LISTED));
    }
  }
  return [...found];
}

export function messageOf(error: unknown): string {
  const { message } = asRecord(error);
  if (typeof message === "string") {
    return message;
  }
  return typeof error === "string" ? error : "it gave no reason";
}

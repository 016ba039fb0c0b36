import { isHexString } from "ethers";

import { VaultError, invalidArgument, vaultError } from "../errors.js";
import { asRecord, listOf } from "../json.js";
import {
  MAX_FOREIGN_TEXT,
  quoteForeignText,
  redactSecrets,
} from "../untrusted-text.js";
import { decodeRevertReason } from "./revert-reason.js";
import type { RevertReason } from "./revert-reason.js";

export function isNodeRefusal(error: unknown): error is VaultError {
  return VaultError.isVaultError(error) && error.code === "VAULT_RPC_ERROR";
}

/**
 * True for a refusal of any kind, also by a proxy's status or closed connection:
 * another request may do. A node that is silent is another matter.
 */
export function isRefusedAnyhow(error: unknown): error is VaultError {
  return VaultError.isVaultError(error) && refusals.has(error.code);
}

const refusals: ReadonlySet<string> = new Set([
  "VAULT_RPC_ERROR",
  "VAULT_RPC_INVALID_RESPONSE",
  "VAULT_NETWORK_UNREACHABLE",
]);

export function invalidResponse(
  network: string,
  method: string,
  problem: string,
): VaultError {
  return vaultError("VAULT_RPC_INVALID_RESPONSE", { network, method, problem });
}

/**
 * Finds out what a failed request means, by the whole chain of causes. What an
 * error says of itself counts only if it was made on this side: what the node
 * sent may look like any error there is.
 *
 * @param tried How often and how long it was tried, if more than once.
 */
export function toRpcError(
  thrown: unknown,
  network: string,
  method: string,
  tried = "",
): VaultError {
  const error = errorInBody(thrown) ?? thrown;
  const { links, hardhatErrors, isTimeout, isUnreadable } = signsOf(error);
  const ours = links.find((link) => VaultError.isVaultError(link));
  if (ours !== undefined) {
    return ours;
  }
  const wrongChain = hardhatErrors.get("HHE708");
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
  if (configVariableCodes.some((code) => hardhatErrors.has(code))) {
    return toConfigVariableError(error, `A setting of networks.${network}`);
  }
  if (isTimeout) {
    return vaultError("VAULT_RPC_TIMEOUT", { network, method, tried }, error);
  }
  if (isUnreadable) {
    // The body is not repeated: a proxy's page may repeat the key.
    return invalidResponse(
      network,
      method,
      `the body could not be parsed; it may be a web page, also one that the URL redirects to${tried}`,
    );
  }
  const status = statusOf(links);
  const signs = [
    ...(status === undefined ? [] : [`HTTP status ${status}`]),
    // A node's own code is a number.
    ...links
      .filter(({ code }) => typeof code !== "number")
      .map(
        (link) =>
          `${String(isHardhatError(link) ? link["errorCode"] : link["code"])} ${String(link["message"])}`,
      ),
  ];
  for (const sign of signs) {
    const [setting] = settings.find(([, words]) => words.test(sign)) ?? [];
    if (setting !== undefined) {
      return invalidArgument(
        `networks.${network}.${setting}`,
        quoteForeignText(sign.slice(sign.indexOf(" ") + 1)).replace(/\.$/u, ""),
      );
    }
    const obstacle = obstacles.find(([words]) => words.test(sign));
    if (obstacle !== undefined) {
      const [words, problem, remedy] = obstacle;
      const [, found = ""] = words.exec(sign) ?? [];
      const host = hostOf(links) ?? "the node";
      return vaultError(
        "VAULT_NETWORK_UNREACHABLE",
        {
          network,
          problem: `${problem.replace("{host}", host).replace("{found}", found)}${tried}`,
          remedy:
            remedy ?? `Check that the node runs, and networks.${network}.url.`,
        },
        error,
      );
    }
  }
  // A node's own words: some repeat the path, or the key in it.
  const problem = `${quoteForeignText(redactSecrets(messageOf(error)))}${tried}`;
  return vaultError("VAULT_RPC_ERROR", { network, method, problem }, error);
}

/** Errors of Hardhat and undici for a setting that cannot be used. */
const settings: ReadonlyArray<readonly [setting: string, words: RegExp]> = [
  ["url", /^UND_ERR_INVALID_ARG (?:Invalid URL protocol|Redirect loop)/u],
  ["httpHeaders", /^UND_ERR_INVALID_ARG invalid .*header/u],
  ["accounts", /^HHE717 |^undefined (?:Invalid mnemonic|invalid scalar:)/u],
];

/** Failures of a connection, by code and message, each with a remedy. */
const obstacles: ReadonlyArray<
  readonly [words: RegExp, problem: string, remedy?: string]
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

/** Host and port of the node, as far as an error of this side names them. */
function hostOf(links: readonly ErrorLink[]): string | undefined {
  for (const { message, address, hostname, port } of links) {
    const [, url = ""] =
      /^[A-Z].* (https?:\S+)(?: was refused)?$/u.exec(String(message)) ?? [];
    if (URL.canParse(url)) {
      return new URL(url).host;
    }
    const host = address ?? hostname;
    if (typeof host === "string") {
      return typeof port === "number" ? `${host}:${port}` : host;
    }
  }
  return undefined;
}

/** The node's own error where it came with an HTTP status that refuses. */
function errorInBody(thrown: unknown): ErrorLink | undefined {
  const { links } = signsOf(thrown);
  const status = statusOf(links) ?? 0;
  if (status < 400 || status >= 500 || status === TOO_MANY_REQUESTS) {
    return undefined;
  }
  return links
    .map(({ body }) => asRecord(asRecord(parseBody(body))["error"]))
    .find(({ message }) => typeof message === "string");
}

function parseBody(body: unknown): unknown {
  try {
    return typeof body === "string" ? JSON.parse(body) : body;
  } catch {
    // Then it is no JSON-RPC, and its status says what there is to say.
    return undefined;
  }
}

/**
 * The error of a configuration variable without a value, or with one that does
 * not fit; Hardhat's text names the variable and not its value.
 *
 * @param where What needs it.
 */
export function toConfigVariableError(
  error: unknown,
  where: string,
): VaultError {
  return vaultError(
    "VAULT_CONFIG_VARIABLE",
    { where, problem: quoteForeignText(messageOf(error)) },
    error,
  );
}

/** The class of a failed request. */
export type Failure =
  | { readonly kind: "reverted"; readonly reverted: RevertReason }
  | {
      /**
       * `busy` and `passing` may be over the next time, `behind` is a node that
       * lacks a block, and `final` stays as it is.
       */
      readonly kind: "busy" | "passing" | "behind" | "final";
      /** The wait that the node asked for. */
      readonly retryAfterMs?: number | undefined;
    };

/** The words of nodes and gateways; none has a code of its own for this. */
const busyWords =
  /rate.?limit|too many requests|request limit|(?<!gas )limit exceeded|(?:quota|capacity|compute units).{0,40}exceeded|exceeded.{0,40}(?:quota|capacity|compute units)/iu;
const blockWords =
  /header not found|header for hash not found|unknown block|block not found|block .{0,40}not (?:yet )?(?:available|found)|block ?out ?of ?range|block height is/iu;
const passingWords =
  /timed? ?-?out|temporar|try again|overloaded|bad gateway|service unavailable|socket hang up|connection (?:reset|closed)|\bid\b.{0,20}(?:mismatch|does not match)/iu;
/** Too long in the node itself will be so again; and a day is too long to wait. */
const finalWords = /execution (?:aborted|timeout)|daily|per day|monthly/iu;

/** JSON-RPC's code, by EIP-1474, of a request beyond a limit. */
const LIMIT_EXCEEDED = -32005;
/** HTTP's status for the same. */
const TOO_MANY_REQUESTS = 429;

/** Of a connection that there was. */
const passingCodes: ReadonlySet<unknown> = new Set([
  "ECONNRESET",
  "EAI_AGAIN",
  "EPIPE",
  "UND_ERR_SOCKET",
]);

/**
 * The class of a failure. A request that was not answered in time is final: it has
 * used up the time that there was for it.
 */
export function classifyFailure(thrown: unknown): Failure {
  const error = errorInBody(thrown) ?? thrown;
  const reverted = findRevert(error);
  if (reverted !== undefined) {
    return { kind: "reverted", reverted };
  }
  const words = messageOf(error);
  const { links, codes, isTimeout, isUnreadable } = signsOf(error);
  if (
    isTimeout ||
    // Longer texts are never a passing failure.
    words.length > MAX_FOREIGN_TEXT ||
    finalWords.test(words)
  ) {
    return { kind: "final" };
  }
  const status = statusOf(links);
  const retryAfterMs = retryAfterOf(links);
  if (
    status === TOO_MANY_REQUESTS ||
    asRecord(error)["code"] === LIMIT_EXCEEDED ||
    busyWords.test(words)
  ) {
    return { kind: "busy", retryAfterMs };
  }
  if (status !== undefined) {
    return status >= 500
      ? { kind: "passing", retryAfterMs }
      : { kind: "final" };
  }
  if (blockWords.test(words)) {
    return { kind: "behind" };
  }
  const isPassing =
    isUnreadable ||
    codes.some((code) => passingCodes.has(code)) ||
    passingWords.test(words);
  return { kind: isPassing ? "passing" : "final" };
}

/** The header of that name, in seconds or as a date. */
function retryAfterOf(links: readonly ErrorLink[]): number | undefined {
  const text =
    links
      .map(({ headers }) => asRecord(headers)["retry-after"])
      .find((value) => typeof value === "string") ?? "";
  const wait = /^\d{1,6}$/u.test(text)
    ? Number(text) * 1_000
    : Date.parse(text) - Date.now();
  return wait > 0 ? wait : undefined;
}

/** Hardhat's errors for: not found, not a URL, not an integer, not hex. */
const configVariableCodes = ["HHE7", "HHE28", "HHE29", "HHE30"];

const timeoutCodes: ReadonlySet<unknown> = new Set([
  "ETIMEDOUT",
  "TIMEOUT",
  "UND_ERR_HEADERS_TIMEOUT",
  "UND_ERR_BODY_TIMEOUT",
  "UND_ERR_CONNECT_TIMEOUT",
]);

/** JSON-RPC error code of a revert with data, in geth and anvil. */
const EXECUTION_REVERTED = 3;

/** Longer revert data is none that a contract returned. */
const MAX_REVERT_DATA = 1_000_000;

/** JSON-RPC's code for parameters that a method does not take. */
const INVALID_PARAMS = -32602;

export function refusesParameters(error: unknown): boolean {
  return everythingIn(error).some(({ code }) => code === INVALID_PARAMS);
}

/** The revert that an error of this side or the node's tells of. */
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
  const saysRevert = links.some((link) => {
    const words = messageOf(link).slice(0, MAX_FOREIGN_TEXT);
    return (
      /\brevert|VM Exception/iu.test(words) ||
      // The limit of a node that gives a call little gas has the same code.
      (link["code"] === EXECUTION_REVERTED &&
        (data !== "0x" || !/out of ?gas/iu.test(words)))
    );
  });
  return saysRevert ? decodeRevertReason(data) : undefined;
}

/** Ganache 6 has the returned bytes below the hash of the transaction. */
function ganacheReturn({ data }: ErrorLink): unknown {
  const [key] = Object.keys(asRecord(data));
  return isHexString(key, 32) ? asRecord(asRecord(data)[key])["return"] : null;
}

type ErrorLink = Readonly<Record<string, unknown>>;

/** More than any library nests. */
const MAX_LINKS = 100;
const MAX_LISTED = 20;

/** The words of the errors in the chain of causes that were made on this side. */
function signsOf(error: unknown) {
  const links = walk(error, (link) =>
    isOwnError(link)
      ? [link["cause"], link["error"], asRecord(link["info"])["error"]]
      : undefined,
  );
  const codes = links.map(({ code }) => code);
  const hardhatErrors = new Map(
    links.filter(isHardhatError).map((link) => [link["errorCode"], link]),
  );
  return {
    links,
    codes,
    hardhatErrors,
    isTimeout:
      hardhatErrors.has("HHE704") ||
      codes.some((code) => timeoutCodes.has(code)) ||
      links.some(({ name }) => name === "TimeoutError"),
    isUnreadable:
      hardhatErrors.has("HHE702") ||
      links.some((link) => link instanceof SyntaxError),
  };
}

/** Of the errors that have a class of their own: see {@link isHardhatError}. */
function statusOf(links: readonly ErrorLink[]): number | undefined {
  return links
    .filter((link) => Object.getPrototypeOf(link) !== Error.prototype)
    .map(({ statusCode }) => statusCode)
    .find(
      // Others put a code of their own there.
      (status): status is number =>
        typeof status === "number" && status >= 100 && status < 600,
    );
}

/** True for an error, also of another realm; JSON never makes one. */
function isOwnError(link: ErrorLink): boolean {
  return (
    link instanceof Error ||
    Object.prototype.toString.call(link) === "[object Error]"
  );
}

/** A plain provider may copy what a node says into its error, but not this. */
function isHardhatError(link: ErrorLink): boolean {
  const mark = Object.getOwnPropertyDescriptor(link, "_isHardhatError");
  return mark?.value === true && mark.enumerable === false;
}

/** The error and all that it wraps, what the node sent too. */
function everythingIn(error: unknown): readonly ErrorLink[] {
  return walk(error, ({ cause, data, error: inner, info }) => [
    cause,
    data,
    inner,
    info,
  ]);
}

/**
 * Goes through what an error wraps, outermost first.
 *
 * @param inside Undefined if the link does not count.
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

import { isHexString } from "ethers";

import { VaultError, vaultError } from "../errors.js";
import { asRecord, listOf } from "../json.js";
import {
  MAX_FOREIGN_TEXT,
  quoteForeignText,
  redactSecrets,
} from "../untrusted-text.js";
import { decodeRevertReason } from "./revert-reason.js";
import type { RevertReason } from "./revert-reason.js";

/** The node answered, and said no: it cannot or does not want to. */
export function isNodeRefusal(error: unknown): error is VaultError {
  return VaultError.isVaultError(error) && error.code === "VAULT_RPC_ERROR";
}

export function invalidResponse(
  network: string,
  method: string,
  problem: string,
): VaultError {
  return vaultError("VAULT_RPC_INVALID_RESPONSE", { network, method, problem });
}

/**
 * Finds out what a failed request means. Libraries nest the interesting part
 * differently, so the whole chain of causes is looked at; but what an error
 * says of itself counts only where the error was made on this side. Whatever
 * the node sent is data: it may look like any error there is.
 */
export function toRpcError(
  error: unknown,
  network: string,
  method: string,
): VaultError {
  const { links, codes, hardhatErrors, status, isTimeout, isUnreadable } =
    signsOf(error);
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
    return vaultError("VAULT_RPC_TIMEOUT", { network, method }, error);
  }
  if (isUnreadable) {
    // The body is not repeated: an HTML page helps nobody, and a proxy's error
    // page may repeat the request with its key.
    return invalidResponse(network, method, "the body could not be parsed");
  }
  const obstacle =
    status === undefined
      ? (codes.find((code): code is string => connectionCodes.has(code)) ??
        (hardhatErrors.has("HHE703") ? "connection refused" : undefined))
      : `HTTP status ${status}`;
  if (obstacle !== undefined) {
    return vaultError(
      "VAULT_NETWORK_UNREACHABLE",
      { network, problem: `${obstacle}.` },
      error,
    );
  }
  // A node's own words: some repeat the path, or the key in it.
  const problem = quoteForeignText(redactSecrets(messageOf(error)));
  return vaultError("VAULT_RPC_ERROR", { network, method, problem }, error);
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

/** A failure that may be over the next time. */
export interface Fault {
  /** See {@link RetryEvent}. */
  readonly kind: "busy" | "behind" | "passing";
  /** What the node asked to wait. */
  readonly retryAfterMs?: number | undefined;
}

/** How nodes and gateways word it; none of them by a code of its own. */
const busyWords =
  /rate.?limit|too many requests|request limit|limit exceeded|(?:quota|capacity|compute units).{0,40}exceeded|exceeded.{0,40}(?:quota|capacity|compute units)/iu;
const behindWords =
  /header not found|header for hash not found|unknown block|block not found|block .{0,40}not (?:yet )?(?:available|found)|block ?out ?of ?range|block height is/iu;
const passingWords =
  /timed? ?-?out|temporar|try again|overloaded|bad gateway|service unavailable|socket hang up|connection (?:reset|closed)|\bid\b.{0,20}(?:mismatch|does not match)/iu;
/** What takes too long in the node itself does so again; a day is too long. */
const finalWords = /execution (?:aborted|timeout)|daily|per day|monthly/iu;

/** JSON-RPC's code, by EIP-1474, of a request beyond a limit. */
const LIMIT_EXCEEDED = -32005;
/** HTTP's status for the same. */
export const TOO_MANY_REQUESTS = 429;

/** Of {@link connectionCodes}, those of a connection that there was. */
const passingCodes: ReadonlySet<unknown> = new Set([
  "ECONNRESET",
  "EAI_AGAIN",
  "EPIPE",
  "UND_ERR_SOCKET",
]);

/**
 * Whether a failed request may succeed if it is made again. A revert or a
 * refusal never does.
 */
export function faultOf(error: unknown): Fault | undefined {
  if (findRevert(error) !== undefined) {
    return undefined;
  }
  const { links, codes, status, isTimeout, isUnreadable } = signsOf(error);
  const words = messageOf(error).slice(0, MAX_FOREIGN_TEXT);
  if (finalWords.test(words)) {
    return undefined;
  }
  if (
    status === TOO_MANY_REQUESTS ||
    asRecord(error)["code"] === LIMIT_EXCEEDED ||
    busyWords.test(words)
  ) {
    return { kind: "busy", retryAfterMs: retryAfterOf(links) };
  }
  if (status !== undefined) {
    return status >= 500
      ? { kind: "passing", retryAfterMs: retryAfterOf(links) }
      : undefined;
  }
  if (behindWords.test(words)) {
    return { kind: "behind" };
  }
  return isTimeout ||
    isUnreadable ||
    codes.some((code) => passingCodes.has(code)) ||
    passingWords.test(words)
    ? { kind: "passing" }
    : undefined;
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

const connectionCodes: ReadonlySet<unknown> = new Set([
  "ECONNREFUSED",
  "ECONNRESET",
  "ENOTFOUND",
  "EAI_AGAIN",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "EPIPE",
  "UND_ERR_SOCKET",
]);

/** JSON-RPC error code of a revert with data, in geth and anvil. */
const EXECUTION_REVERTED = 3;

/** Longer revert data is none that a contract returned. */
const MAX_REVERT_DATA = 1_000_000;

/** JSON-RPC's code for parameters that a method does not take. */
const INVALID_PARAMS = -32602;

/** Whether the node does not take these parameters, which no time changes. */
export function refusesParameters(error: unknown): boolean {
  return everythingIn(error).some(({ code }) => code === INVALID_PARAMS);
}

export function findRevert(error: unknown): RevertReason | undefined {
  const links = everythingIn(error);
  const saysRevert = links.some(
    (link) =>
      link["code"] === EXECUTION_REVERTED ||
      /\brevert|VM Exception/iu.test(
        messageOf(link).slice(0, MAX_FOREIGN_TEXT),
      ),
  );
  if (!saysRevert) {
    return undefined;
  }
  const data = links
    .flatMap((link) => [link["data"], link["result"]])
    .find(
      (value): value is string =>
        typeof value === "string" &&
        value.length <= MAX_REVERT_DATA &&
        isHexString(value, true),
    );
  return decodeRevertReason(data ?? "0x");
}

type ErrorLink = Readonly<Record<string, unknown>>;

/**
 * More than any library nests; a node may answer with as many objects as it
 * likes.
 */
const MAX_LINKS = 100;
const MAX_LISTED = 20;

/** What the errors in the chain of causes say that were made on this side. */
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
    /** Of the errors that have a class of their own: see {@link isHardhatError}. */
    status: links
      .filter((link) => Object.getPrototypeOf(link) !== Error.prototype)
      .map(({ statusCode }) => statusCode)
      .find(
        // Others put a code of their own there.
        (status): status is number =>
          typeof status === "number" && status >= 100 && status < 600,
      ),
    isTimeout:
      hardhatErrors.has("HHE704") ||
      codes.some((code) => timeoutCodes.has(code)) ||
      links.some(({ name }) => name === "TimeoutError"),
    isUnreadable:
      hardhatErrors.has("HHE702") ||
      links.some((link) => link instanceof SyntaxError),
  };
}

/** Whether it is an error, also of another realm; JSON never makes one. */
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
 * @param inside What a link wraps beside its list of errors; undefined where the
 * link does not count.
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

/** What an error says, whatever it is. */
export function messageOf(error: unknown): string {
  const { message } = asRecord(error);
  if (typeof message === "string") {
    return message;
  }
  return typeof error === "string" ? error : "it gave no reason";
}

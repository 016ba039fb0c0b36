import {
  VaultError,
  hasErrorCode,
  isError,
  describeSetting,
  vaultError,
} from "../errors.js";
import type { VaultErrorCode } from "../errors.js";
import {
  MAX_FOREIGN_TEXT,
  Redactor,
  quoteForeignText,
} from "../foreign-text.js";
import { asRecord } from "../json.js";
import { findRevert } from "./revert-reason.js";
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
export type RetryReason = "rateLimited" | "transient";

/** What was thrown for a request, read once. */
export interface Failure {
  readonly kind: FailureKind;
  /** Undefined if another attempt fails, too. */
  readonly retry?: RetryReason | undefined;
  /** Least wait before the next attempt. */
  readonly retryAfterMs?: number;
  readonly revert?: RevertReason;
  /** In words that are safe to show. */
  readonly error: VaultError;
}

/** The connection of a request. */
export interface Source {
  readonly network: string;
  /** Knows the secrets of the connection. */
  readonly redactor: Redactor;
  /** True if Hardhat and its plugins handle each request. */
  readonly isBehindHardhat?: boolean;
}

/** True if the node answered with an error. */
export function isNodeError({ code }: VaultError): boolean {
  return code === "VAULT_RPC_ERROR";
}

/** True if no answer came, so that the same request may succeed later. */
export function isUnanswered(error: unknown): boolean {
  return hasErrorCode(error, "VAULT_RPC_TIMEOUT", "VAULT_NETWORK_UNREACHABLE");
}

/** True if a node or a proxy refused, or was not reached, so that another request may succeed. */
export function allowsAnotherRequest(error: unknown): error is VaultError {
  return hasErrorCode(
    error,
    "VAULT_RPC_ERROR",
    "VAULT_RPC_INVALID_RESPONSE",
    "VAULT_NETWORK_UNREACHABLE",
  );
}

// A sign matches a code (else the name) and the message of an error made on this side.

const timeoutSign =
  /^(?:HHE704|TimeoutError|ETIMEDOUT|TIMEOUT|UND_ERR_(?:HEADERS|BODY|CONNECT)_TIMEOUT) /u;
const unreadableSign = /^(?:HHE702|SyntaxError) /u;
const connectionSign =
  /^(?:HHE703|UND_ERR_\w+|ECONN\w+|EPIPE|EPROTO|ERR_SSL_\w+|\w*CERT\w*|UNABLE_TO_\w+|HPE_\w+|ENOTFOUND|EAI_AGAIN|E(?:HOST|NET)UNREACH) /u;
const passingSign = /^(?:ECONNRESET|EAI_AGAIN|EPIPE|UND_ERR_SOCKET) /u;

/** Hardhat's errors of a connection: an answer that is no JSON-RPC, no way, no answer. */
const connectionCodes = /^HHE70[234]$/u;
/** Hardhat's errors of a configuration variable: not found, not a URL, not an integer, not hex. */
const variableCodes = /^HHE(?:7|28|29|30)$/u;

/** A rule matches the JSON-RPC code, the HTTP status, or words. */
interface Rule {
  readonly kind: FailureKind;
  readonly retry?: RetryReason;
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
const failureRules: readonly Rule[] = [
  {
    // A retry meets the same failure of the EVM (geth, Erigon, Nitro, EDR), or a quota of a
    // day or a month (Infura, QuickNode, Alchemy). The code is JSON-RPC's for a missing method.
    kind: "refused",
    codes: [-32_601],
    words:
      /out ?of ?gas|opcode|EVM error|stack (?:under|over)flow|invalid jump|execution aborted|daily|monthly|not support/iu,
  },
  {
    // EIP-1474's code, of Infura, Tenderly and BNB's nodes; HTTP's status as a code, of
    // OnFinality and Alchemy. QuickNode, Blast, 1RPC, Pocket and Proxyd have codes of their own.
    kind: "busy",
    retry: "rateLimited",
    codes: [-32_005, 429, -32_429],
    status: /^429$/u,
    words: /rate.{0,10}(?:limit|exceed)|too many request|request limit|quota/iu,
  },
  {
    // No retry brings back old state, but one may reach a node that has newer state, with
    // any code (geth, Erigon, reth, Nitro, bor, zkSync, Infura).
    kind: "behind",
    words: /missing trie node|prune|archive|historical state/iu,
  },
  {
    // The node's time is over (geth: -32002), it failed (-32603, of every gateway), or a
    // gateway has no node behind it: eRPC's sent no JSON (-32700) or failed (-32503), and
    // Cloudflare's cannot fulfil the request (-32046). Words alone: Alchemy, dRPC, Proxyd,
    // and gateways in Go.
    kind: "busy",
    retry: "transient",
    codes: [-32_002, -32_603, -32_700, -32_503, -32_046],
    status: /^(?:408|425|5\d\d)$/u,
    words:
      /timed? ?out|deadline exceeded|try again|at this time|\bEOF\b|upstream/iu,
  },
  {
    // A node lacks the block: geth, besu, reth, Erigon, Nethermind, Nitro, Avalanche,
    // zkSync, Hardhat, and chains of Cosmos (height). The code is EIP-1474's for a missing
    // resource.
    kind: "behind",
    codes: [-32_001],
    words:
      /header (?:for hash )?not found|block.{0,60}(?:not (?:currently )?(?:available|found)|doesn't exist|invalid)|invalid block tag|unfinalized|ahead of|height/iu,
  },
];

/** Hardhat has repeated the request seven times by then, without a wait if Retry-After is 0. */
const SHORTEST_WAIT_MS = 1_000;

const ANY_SOURCE: Source = { network: "", redactor: new Redactor() };

/**
 * Classifies what a request or a connection threw, by all that it wraps. Codes and names
 * count only in errors made on this side, because a node can send any.
 *
 * @param method Of the request, or a name of the work for the error.
 */
export function classify(
  thrown: unknown,
  source = ANY_SOURCE,
  method = "",
): Failure {
  const { network, redactor, isBehindHardhat = false } = source;
  const links = linksOf(thrown);
  const errors = links.filter(isError);
  const local = findLocal(thrown, errors, source);
  if (local !== undefined) {
    return local;
  }
  const httpStatus = statusOf(errors);
  const ofNode = links.find(
    (link) =>
      isOfNode(link) &&
      // Hardhat gives an HTTP status a code, too; the node's error is in the body.
      (httpStatus === undefined || !isError(link)),
  );
  const cause = ofNode ?? thrown;
  const { code } = asRecord(cause);
  const remedy = `Check that the node runs, and http or https, host, port and key in ${describeSetting(network, "url")}; behind a proxy, http_proxy, https_proxy and no_proxy, too.`;
  const failure = (
    kind: FailureKind,
    errorCode: VaultErrorCode,
    problem?: string,
    more: Partial<Failure> = {},
  ): Failure => {
    const details = {
      network,
      method,
      kind,
      ...(typeof code === "number" && { rpcCode: code }),
      ...(httpStatus !== undefined && { httpStatus }),
      ...(problem !== undefined && { problem }),
      ...(errorCode === "VAULT_NETWORK_UNREACHABLE" && { remedy }),
    };
    // A proxy's page, which cannot be read, may contain the key.
    const shown = kind === "unreadable" ? undefined : cause;
    return { kind, error: new VaultError(errorCode, details, shown), ...more };
  };
  if (httpStatus === undefined) {
    const findSign = (sign: RegExp): Link | undefined =>
      errors.findLast((link) => sign.test(signOf(link)));
    if (findSign(timeoutSign) !== undefined) {
      // It has used up the request's time.
      return failure("timeout", "VAULT_RPC_TIMEOUT");
    }
    const broken = findSign(connectionSign);
    if (broken !== undefined) {
      const problem = /^(?:EPROTO|ERR_SSL_\w+) /u.test(signOf(broken))
        ? "the node does not speak TLS"
        : redactor.quote(messageOf(broken));
      const retry = passingSign.test(signOf(broken)) ? "transient" : undefined;
      return failure("unreachable", "VAULT_NETWORK_UNREACHABLE", problem, {
        retry,
      });
    }
    if (ofNode === undefined && findSign(unreadableSign) !== undefined) {
      const text = redactor.quote(refusedText(asRecord(thrown)));
      const problem = /^[[{]/u.test(text)
        ? `the answer was ${text}`
        : "the answer is not JSON; the URL may lead or redirect to a web page, or the answer is compressed";
      return failure("unreadable", "VAULT_RPC_INVALID_RESPONSE", problem, {
        retry: "transient",
      });
    }
  }
  const revert = findRevert(linksOf(cause), redactor);
  if (revert !== undefined) {
    const problem = quoteForeignText(revert.text);
    return failure("reverted", "VAULT_RPC_ERROR", problem, { revert });
  }
  const isAnswer = ofNode !== undefined || httpStatus !== undefined;
  // Hardhat gives each error of a node a code.
  if (isBehindHardhat && !isAnswer && isError(thrown)) {
    return { kind: "local", error: toHardhatError(thrown, redactor) };
  }
  const words = messageOf(cause);
  const begin = words.slice(0, MAX_FOREIGN_TEXT);
  const { kind, retry }: Pick<Rule, "kind" | "retry"> = failureRules.find(
    (rule) =>
      rule.codes?.includes(code) === true ||
      rule.status?.test(String(httpStatus)) === true ||
      rule.words.test(begin),
  ) ?? { kind: "refused" };
  const seconds = errors
    .map(({ headers }) => asRecord(headers)["retry-after"])
    .find((value) => typeof value === "string" && /^\d{1,6}$/u.test(value));
  const retryAfterMs = Math.max(
    Number(seconds ?? 0) * 1_000,
    retry === "rateLimited" ? SHORTEST_WAIT_MS : 0,
  );
  const problem = [
    httpStatus === undefined
      ? ""
      : `the node answered HTTP status ${httpStatus}`,
    isAnswer && ofNode === undefined ? "" : redactor.quote(words),
  ];
  // A gateway that is busy may have forwarded the request.
  const isRefusedByNode =
    httpStatus === undefined || (ofNode !== undefined && kind !== "busy");
  return failure(
    kind,
    isRefusedByNode ? "VAULT_RPC_ERROR" : "VAULT_NETWORK_UNREACHABLE",
    problem.filter((part) => part !== "").join(": "),
    { retry, retryAfterMs },
  );
}

/** A failure of this package, a setting, Hardhat or a plugin, if it is one. */
function findLocal(
  thrown: unknown,
  errors: readonly Link[],
  { network, redactor }: Source,
): Failure | undefined {
  const kind = "local";
  const ours = errors.find((link) => VaultError.isVaultError(link));
  if (VaultError.isVaultError(ours)) {
    // An answer to another request, as one that is no JSON.
    return hasErrorCode(ours, "VAULT_RPC_INVALID_RESPONSE")
      ? { kind: "unreadable", retry: "transient", error: ours }
      : { kind, error: ours };
  }
  const ofHardhat =
    errors.find((link) => hardhatCodeOf(link) !== undefined) ?? {};
  const code = hardhatCodeOf(ofHardhat) ?? "";
  if (code === "HHE708") {
    const named = asRecord(ofHardhat["messageArguments"]);
    const expected = String(named["configChainId"]);
    const actual = String(named["connectionChainId"]);
    const details = { network, expected, actual };
    return { kind, error: vaultError("VAULT_WRONG_CHAIN", details, thrown) };
  }
  if (variableCodes.test(code)) {
    const where = `A setting of networks.${network}`;
    return { kind, error: toConfigVariableError(ofHardhat, where) };
  }
  // Those of a connection are told by what they wrap.
  return ownerOf(thrown) === undefined || connectionCodes.test(code)
    ? undefined
    : { kind, error: toHardhatError(thrown, redactor) };
}

/** An error, or an object that one wraps; nothing of it is checked. */
type Link = Readonly<Record<string, unknown>>;

/** A thrown value and all that it wraps, outermost first: errors, and JSON of the node. */
function linksOf(thrown: unknown): readonly Link[] {
  const found = new Set<Link>();
  const queue = [thrown];
  // It visits what it adds, too.
  for (const next of queue) {
    const link = asRecord(next);
    if (link === next && !found.has(link)) {
      found.add(link);
      const { cause, error, info, data, errors, body } = link;
      const sent = isError(link) ? [body, refusedText(link)].map(parse) : [];
      const words = typeof error === "string" ? { message: error } : error;
      for (const wrapped of [cause, words, info, data, sent, errors].flat()) {
        queue.push(wrapped);
      }
    }
  }
  return [...found];
}

/** True for an error that the node itself sent, also if a provider made an error of it. */
function isOfNode(link: Link): boolean {
  return (
    typeof link["message"] === "string" &&
    (!isError(link) ||
      (Object.hasOwn(link, "code") && typeof link["code"] === "number") ||
      Object.hasOwn(link, "_isProviderError"))
  );
}

function signOf(link: Link): string {
  const { code, name } = link;
  // A numeric code is the node's own, and so is its message.
  const isNodes = typeof code === "number";
  const ownCode = hardhatCodeOf(link) ?? code;
  const sign = isNodes ? name : (ownCode ?? name);
  return `${typeof sign === "string" ? sign : ""} ${isNodes ? "" : messageOf(link)}`;
}

/** HTTP status of the response, if it was not 2xx. */
function statusOf(errors: readonly Link[]): number | undefined {
  return (
    errors
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

/** The text of an answer that Hardhat refuses as invalid JSON-RPC; else empty. */
function refusedText(link: Link): string {
  return hardhatCodeOf(link) === "HHE702"
    ? String(asRecord(link["messageArguments"])["response"])
    : "";
}

/**
 * True for an answer with neither a result nor an error: some nodes leave out a result
 * that is null. Never read anything else from a refused answer: it may be the answer to
 * a request that Hardhat sends by itself, such as the one for the chain id.
 */
export function isEmptyAnswer(thrown: unknown): boolean {
  const { jsonrpc, id, result, error, ...others } = asRecord(
    parse(refusedText(asRecord(thrown))),
  );
  return (
    (jsonrpc ?? id) !== undefined &&
    (result ?? error ?? null) === null &&
    Object.keys(others).length === 0
  );
}

function parse(body: unknown): unknown {
  try {
    return typeof body === "string" ? JSON.parse(body) : body;
  } catch {
    return undefined;
  }
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

export function toHardhatError(error: unknown, redactor: Redactor): VaultError {
  const source = ownerOf(error) ?? "Hardhat or one of its plugins";
  const problem = redactor.quote(messageOf(error));
  return vaultError("VAULT_HARDHAT_ERROR", { source, problem }, error);
}

/** The code of an error of Hardhat's own. */
function hardhatCodeOf(link: Link): string | undefined {
  return ownerOf(link) === "Hardhat" ? String(link["errorCode"]) : undefined;
}

/**
 * Hardhat or the plugin that marked an error as its own. A provider may copy a node's JSON
 * into its error, but never such a mark.
 */
export function ownerOf(error: unknown): string | undefined {
  const link = asRecord(error);
  const hasMark = (name: string): boolean =>
    Object.getOwnPropertyDescriptor(link, name)?.enumerable === false;
  if (hasMark("_isHardhatError")) {
    return "Hardhat";
  }
  return hasMark("_isHardhatPluginError")
    ? `The plugin ${String(link["pluginId"])}`
    : undefined;
}

export function messageOf(error: unknown): string {
  const { message } = asRecord(error);
  const text = typeof message === "string" ? message : error;
  return typeof text === "string" && text !== "" ? text : "it gave no reason";
}

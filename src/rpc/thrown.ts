import { isError } from "../errors.js";
import { asRecord, listOf } from "../json.js";

export type ErrorLink = Readonly<Record<string, unknown>>;

export interface Thrown {
  /** The node's own error if it sent one, else what was thrown. */
  readonly said: unknown;
  /** Its message. */
  readonly words: string;
  /** The errors of this side, outermost first; none if the node's own counts. */
  readonly links: readonly ErrorLink[];
  /** HTTP status of the response, if it was not 2xx. */
  readonly status: number | undefined;
  /** The node's words in such a response; empty if there are none. */
  readonly wordsInBody: string;
  /** The first match among HTTP status, codes, names and messages of this side. */
  readonly match: (sign: RegExp) => RegExpExecArray | undefined;
}

/**
 * Reads a failure by its whole chain of causes. Codes and names count only in errors
 * made on this side, because a node can send any.
 */
export function readThrown(thrown: unknown): Thrown {
  const links = walk(thrown, (link) =>
    isError(link)
      ? [link["cause"], link["error"], asRecord(link["info"])["error"]]
      : undefined,
  );
  const status = statusOf(links);
  const isAnswered = status === undefined || status < 400;
  const body = isAnswered ? {} : bodyOf(links);
  const error = isAnswered ? refusedAnswer(thrown)["error"] : body["error"];
  const ofNode = [
    typeof error === "string" ? { message: error } : error,
    // Ethers judges an answer by itself, and keeps the node's error there.
    ...(isAnswered ? links.map(({ info }) => asRecord(info)["error"]) : []),
  ].find(hasMessage);
  // A refusal of the node in a 4xx response is the node's; 5xx is a gateway's.
  const isRefusal =
    ofNode !== undefined && (status === undefined || isRefusedStatus(status));
  const signs = isRefusal
    ? []
    : [
        ...(status === undefined ? [] : [`HTTP status ${status}`]),
        ...links.map(signOf),
      ];
  return {
    said: ofNode ?? thrown,
    words: wordsOf(ofNode ?? thrown),
    links: isRefusal ? links.filter(hasHeaders) : links,
    status,
    wordsInBody: [body["error"], body].find(hasMessage)?.message ?? "",
    match: (sign) =>
      signs.map((text) => sign.exec(text)).find((found) => found !== null) ??
      undefined,
  };
}

/** True for a status after which the same request fails again. */
export function isRefusedStatus(status: number): boolean {
  return status >= 400 && status < 500 && ![408, 425, 429].includes(status);
}

function hasMessage(value: unknown): value is { readonly message: string } {
  return typeof asRecord(value)["message"] === "string";
}

function hasHeaders({ headers }: ErrorLink): boolean {
  return headers !== undefined;
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
  return (
    links
      .filter((link) => Object.getPrototypeOf(link) !== Error.prototype)
      // Undici and Hardhat name it `statusCode`, viem `status`.
      .flatMap(({ statusCode, status }) => [statusCode, status])
      .find(
        // Some libraries put another code there.
        (status): status is number =>
          typeof status === "number" && status >= 100 && status < 600,
      )
  );
}

/** The JSON in a response; empty if it is something else. */
function bodyOf(links: readonly ErrorLink[]): ErrorLink {
  const body = links.map((link) => link["body"]).find((one) => Boolean(one));
  return parseRecord(body);
}

/** The text of an answer that Hardhat refuses as invalid JSON-RPC. */
export function refusedText(thrown: unknown): string | undefined {
  const error = asRecord(thrown);
  const text = asRecord(error["messageArguments"])["response"];
  return isHardhatError(error) &&
    error["errorCode"] === "HHE702" &&
    typeof text === "string"
    ? text
    : undefined;
}

function refusedAnswer(thrown: unknown): ErrorLink {
  return parseRecord(refusedText(thrown));
}

/**
 * True for an answer with neither a result nor an error: some nodes leave out a result
 * that is null. Never read anything else from a refused answer: it may be the answer to
 * a request that Hardhat sends by itself, such as the one for the chain id.
 */
export function isEmptyAnswer(thrown: unknown): boolean {
  const { jsonrpc, id, result, error, ...others } = refusedAnswer(thrown);
  return (
    (jsonrpc ?? id) !== undefined &&
    (result ?? error ?? null) === null &&
    Object.keys(others).length === 0
  );
}

/** Parses JSON; empty if it is something else. */
function parseRecord(body: unknown): ErrorLink {
  try {
    const parsed: unknown = typeof body === "string" ? JSON.parse(body) : body;
    return Array.isArray(parsed) ? {} : asRecord(parsed);
  } catch {
    return {};
  }
}

/** The Retry-After header in milliseconds, if it is in seconds. */
export function retryAfterOf(links: readonly ErrorLink[]): number | undefined {
  const seconds = links
    .map(({ headers }) => asRecord(headers)["retry-after"])
    .find((value) => typeof value === "string" && /^\d{1,6}$/u.test(value));
  return seconds === undefined ? undefined : Number(seconds) * 1_000;
}

export function isHardhatError(link: ErrorLink): boolean {
  return hasMark(link, "_isHardhatError");
}

/** @returns The id of the plugin whose error this is. */
export function pluginOf(link: ErrorLink): string | undefined {
  return hasMark(link, "_isHardhatPluginError")
    ? String(link["pluginId"])
    : undefined;
}

/** A provider may copy a node's JSON into its error, but never such a mark. */
function hasMark(link: ErrorLink, name: string): boolean {
  const mark = Object.getOwnPropertyDescriptor(link, name);
  return mark?.value === true && mark.enumerable === false;
}

/** The error and all that it wraps, the node's data included. */
export function everythingIn(error: unknown): readonly ErrorLink[] {
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

/** Wallets write the node's message into the data of an error without one. */
function wordsOf(error: unknown): string {
  const { message } = asRecord(asRecord(error)["data"]);
  const own = messageOf(error);
  return typeof message === "string" &&
    /^internal (?:json-rpc |server )?error\.?$/iu.test(own)
    ? message
    : own;
}

export function messageOf(error: unknown): string {
  const { message } = asRecord(error);
  const text = typeof message === "string" ? message : error;
  return typeof text === "string" && text !== "" ? text : "it gave no reason";
}

/** Hardhat's errors about the connection or a setting. */
const ofConnection = /^HHE(?:7|28|29|30|70[2348]|717)$/u;

/**
 * Codes of connections: those of Node.js, of undici, and of libraries such as ethers for
 * what a node answered. Any other text as a code is of another library.
 */
const codeOfConnection =
  /^(?:E[A-Z]{2,}|UND_ERR_\w+|ERR_(?:HTTP|PROXY|SOCKET|SSL|STREAM|TLS)\w*|\w*CERT\w*|UNABLE_TO_\w+|CALL_EXCEPTION|(?:NETWORK|SERVER)_ERROR|TIMEOUT)$/u;

/**
 * True for a failure of Hardhat or of a plugin, before a node has answered.
 *
 * @param isBehindHardhat True if Hardhat gives each error of a node or a connection a code
 * or a mark: an error without one is then of this process, too.
 */
export function isOfThisProcess(
  { said, links: errors }: Pick<Thrown, "said" | "links">,
  isBehindHardhat: boolean,
): boolean {
  const [thrown] = errors;
  return (
    thrown !== undefined &&
    thrown === said &&
    (isMarked(thrown) || (isBehindHardhat && errors.every(isUncoded)))
  );
}

/** True for an error that Hardhat or a plugin has marked as its own. */
export function isMarked(error: unknown): boolean {
  return (
    pluginOf(asRecord(error)) !== undefined ||
    (isHardhatError(asRecord(error)) &&
      !ofConnection.test(String(asRecord(error)["errorCode"])))
  );
}

function isUncoded(error: ErrorLink): boolean {
  const { errorCode, code, statusCode, name } = error;
  return (
    (errorCode === undefined || isMarked(error)) &&
    (code === undefined || isCodeOfThisProcess(error)) &&
    statusCode === undefined &&
    !Object.hasOwn(error, "_isProviderError") &&
    name !== "TimeoutError"
  );
}

/** Also true for a failed access to a file: a connection has no path. */
function isCodeOfThisProcess({ code, syscall, path }: ErrorLink): boolean {
  return (
    typeof code === "string" &&
    (!codeOfConnection.test(code) ||
      (typeof syscall === "string" && typeof path === "string"))
  );
}

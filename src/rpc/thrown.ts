import { isError } from "../errors.js";
import { asRecord, listOf } from "../json.js";

/** An error, or what one wraps; nothing of it is checked. */
export type ErrorLink = Readonly<Record<string, unknown>>;

/**
 * The errors of this side, outermost first. Only their codes and names count, because a
 * node can send any.
 */
export function errorsIn(thrown: unknown): readonly ErrorLink[] {
  return walk(thrown, (link) =>
    isError(link) ? [link["cause"], link["error"], infoOf(link)] : undefined,
  );
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

/** @param inside Returns undefined for a link that does not count. */
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
export function errorOfNode(
  thrown: unknown,
  links: readonly ErrorLink[],
): unknown {
  return [
    bodyOf(links)["error"],
    refusedAnswer(thrown)["error"],
    ...links.map(infoOf),
  ]
    .map((error) => (typeof error === "string" ? { message: error } : error))
    .find(hasMessage);
}

/** The node's words in the body of an HTTP response; empty if there are none. */
export function wordsInBody(links: readonly ErrorLink[]): string {
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
export function statusOf(links: readonly ErrorLink[]): number | undefined {
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
export function retryAfterOf(links: readonly ErrorLink[]): number {
  const seconds = links
    .map(({ headers }) => asRecord(headers)["retry-after"])
    .find((value) => typeof value === "string" && /^\d{1,6}$/u.test(value));
  return Number(seconds ?? 0) * 1_000;
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

import {
  VaultError,
  invalidArgument,
  settingOf,
  vaultError,
} from "../errors.js";
import { MAX_FOREIGN_TEXT } from "../escape.js";
import { asRecord } from "../json.js";
import { quoteForeignText, redactSecrets } from "../redact.js";
import type { Redactor } from "../redact.js";
import { isOfThisProcess, toHardhatError } from "./hardhat-error.js";
import { findRevert } from "./revert-reason.js";
import type { RevertReason } from "./revert-reason.js";
import {
  everythingIn,
  isHardhatError,
  isRefusedStatus,
  messageOf,
  readThrown,
  refusedText,
  retryAfterOf,
} from "./thrown.js";
import type { ErrorLink } from "./thrown.js";

export function isNodeRefusal(error: unknown): error is VaultError {
  return VaultError.isVaultError(error) && error.code === "VAULT_RPC_ERROR";
}

/** True if the node or a gateway refused, also by an HTTP status such as 403. */
export function isFinalRefusal(error: unknown): error is VaultError {
  return (
    isNodeRefusal(error) ||
    (VaultError.isVaultError(error) &&
      isRefusedStatus(Number(error.details["httpStatus"])))
  );
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
/** As Hardhat quotes the first bytes of a compressed answer. */
const compressedSign = /^HHE702 .*response received: .\ufffd/u;
/** Hardhat's errors for: not found, not a URL, not an integer, not hex. */
const configVariableSign = /^HHE(?:7|28|29|30) /u;

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
    /^ERR_TLS_CERT_ALTNAME_INVALID /u,
    "the certificate of {host} is for another name",
    "Correct the host in its URL, or use a certificate that names it.",
  ],
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

const INVALID_PARAMS = -32_602;

/** A rule matches the JSON-RPC code, the HTTP status, an error of this side, or words. */
interface Rule {
  readonly kind: Exclude<Failure["kind"], "reverted" | "process">;
  readonly codes?: readonly unknown[];
  readonly status?: RegExp;
  readonly sign?: RegExp;
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
    kind: "final",
    codes: [-32_601, -32_004],
    sign: compressedSign,
    words:
      /out ?of ?gas|opcode|EVM error|stack (?:under|over)flow|invalid jump|execution (?:aborted|timeout)|daily|per day|monthly|gas (?:limit|cap)|intrinsic gas|data limit|smaller|(?:not|n't) supports?|unsupported/iu,
  },
  {
    // EIP-1474's code, of Infura, Tenderly and BNB's nodes; 429 of OnFinality. QuickNode,
    // Blast, 1RPC, Pocket and Proxyd have codes of their own.
    kind: "rateLimited",
    codes: [-32_005],
    status: /^429$/u,
    words:
      /rate.{0,10}(?:limit|exceed)|too many request|request limit|throttl|quota|capacity|throughput/iu,
  },
  {
    // No retry brings back old state, with any code (geth, Erigon, reth, Nitro, bor,
    // zkSync, Infura).
    kind: "refused",
    words:
      /missing trie node|prune|archive|historical state|state .{0,80}(?:not|un)available/iu,
  },
  {
    // The node's time is over (geth: -32002), it failed (-32603, of every gateway), or a
    // gateway has no node behind it: eRPC's sent no JSON (-32700), Proxyd's is gone
    // (-32011), and Cloudflare's cannot fulfil the request (-32046). Words alone: Arbitrum,
    // Mantle, Alchemy, dRPC, and gateways in Go.
    kind: "transient",
    codes: [-32_002, -32_603, -32_700, -32_011, -32_046],
    status: /^(?:408|425|5\d\d)$/u,
    sign: /^(?:HHE702|SyntaxError|ECONNRESET|EAI_AGAIN|EPIPE|UND_ERR_SOCKET) /u,
    words:
      /timed? ?-?out|deadline exceeded|temporar|try again|(?<!not )retry|not ready|at this time|overloaded|\bEOF\b|bad gateway|service unavailable|upstream|no .{0,20}(?:server|backend|node)s? available|socket hang up|connection (?:reset|closed|refused|termination)|\bid\b.{0,20}(?:mismatch|does not match)/iu,
  },
  {
    // A node lacks the block: geth, besu, reth, Erigon, Nitro, Avalanche, zkSync, Hardhat,
    // and chains of Cosmos (height).
    kind: "blockNotFound",
    words:
      /header (?:for hash )?not found|unknown block|block.{0,60}(?:not (?:yet |currently )?(?:available|found|exist)|doesn't exist|out ?of ?range|invalid)|invalid block|unfinalized|ahead of|height/iu,
  },
];

/**
 * Converts the error of a failed request or connection, by its whole chain of causes.
 * Codes and names count only in errors made on this side, because a node can send any.
 *
 * @param redactor Knows the secrets of the connection.
 * @param isBehindHardhat True if Hardhat and its plugins handle each request.
 * @param attempts If there was more than one.
 */
export function toRpcError(
  thrown: unknown,
  network: string,
  method: string,
  redactor: Redactor,
  isBehindHardhat = false,
  attempts?: { readonly attempts: number; readonly seconds: number },
): VaultError {
  const found = readThrown(thrown);
  const { said: error, links, status, match } = found;
  const ours = findOurs(links);
  if (ours !== undefined) {
    return ours;
  }
  for (const [setting, sign] of settingSigns) {
    const { input } = match(sign) ?? {};
    if (input !== undefined) {
      const problem = redactor.quote(input.slice(input.indexOf(" ") + 1));
      const where = settingOf(network, setting);
      return invalidArgument(where, problem.replace(/\.$/u, ""));
    }
  }
  if (isOfThisProcess(found, isBehindHardhat)) {
    return toHardhatError(thrown, redactor);
  }
  const { code } = asRecord(error);
  const facts = {
    network,
    method,
    ...(typeof code === "number" && { rpcCode: code }),
    ...(status !== undefined && { httpStatus: status }),
    ...attempts,
  };
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
    return vaultError("VAULT_RPC_TIMEOUT", facts, error);
  }
  if (match(unreadableSign) !== undefined) {
    // Without the cause: a proxy's page may contain the key.
    const problem =
      match(compressedSign) === undefined
        ? describeUnreadable(refusedText(thrown) ?? "", redactor)
        : "the answer is compressed, though no compression was requested";
    return vaultError("VAULT_RPC_INVALID_RESPONSE", { ...facts, problem });
  }
  for (const [sign, text, remedy] of connectionSigns) {
    const matched = match(sign);
    if (matched !== undefined) {
      const problem = text
        .replace("{host}", redactor.hide(hostOf(links)))
        .replace("{found}", matched[1] ?? "");
      const words = quoteWords(found.wordsInBody, redactor);
      return vaultError(
        "VAULT_NETWORK_UNREACHABLE",
        {
          ...facts,
          problem: `${problem}${words === "" ? "" : ` (${words})`}`,
          remedy:
            remedy ??
            `Check that the node runs, and host, port and key in ${settingOf(network, "url")}.`,
        },
        error,
      );
    }
  }
  const problem = quoteWords(found.words, redactor);
  return vaultError("VAULT_RPC_ERROR", { ...facts, problem }, error);
}

function findOurs(links: readonly ErrorLink[]): VaultError | undefined {
  return links.find((link) => VaultError.isVaultError(link));
}

function describeUnreadable(text: string, redactor: Redactor): string {
  return /^\s*[[{]/u.test(text)
    ? `the answer was ${quoteWords(text, redactor)}`
    : "the answer is not JSON; the URL may lead or redirect to a web page";
}

/** Some nodes repeat the URL's path, with the key in it. */
function quoteWords(words: string, redactor: Redactor): string {
  return quoteForeignText(redactSecrets(redactor.hide(words)));
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

/** Shortest wait before a node that limits the rate gets another request. */
const SHORTEST_WAIT_MS = 200;
/** Hardhat has repeated the request seven times by then, without a wait if Retry-After is 0. */
const SHORTEST_WAIT_AFTER_429_MS = 1_000;

export type Failure =
  | { readonly kind: "reverted"; readonly reverted: RevertReason }
  /** Of Hardhat or a plugin: no node has answered. */
  | { readonly kind: "process" }
  | {
      /**
       * `rateLimited` and `transient`: a retry may succeed. `refused`: it may if the node
       * should have the block. `blockNotFound`: the same, in words that name the block.
       * `final`: a retry fails again.
       */
      readonly kind:
        | "rateLimited"
        | "transient"
        | "blockNotFound"
        | "refused"
        | "final";
      /** Wait that the node requested. */
      readonly retryAfterMs?: number | undefined;
    };

/**
 * Classifies a failure. A timeout is final: it has used up the request's time.
 *
 * @param isBehindHardhat True if Hardhat and its plugins handle each request.
 */
export function classifyFailure(
  thrown: unknown,
  isBehindHardhat = false,
): Failure {
  const found = readThrown(thrown);
  const { said, links, match } = found;
  const ours = findOurs(links);
  if (ours !== undefined || match(timeoutSign) !== undefined) {
    // Of an answer to another request, as of one that is no JSON.
    const isUnreadable = ours?.code === "VAULT_RPC_INVALID_RESPONSE";
    return { kind: isUnreadable ? "transient" : "final" };
  }
  if (isOfThisProcess(found, isBehindHardhat)) {
    return { kind: "process" };
  }
  const reverted = findRevert(said);
  if (reverted !== undefined) {
    return { kind: "reverted", reverted };
  }
  const words = found.words.slice(0, MAX_FOREIGN_TEXT);
  const { code } = asRecord(said);
  // A refusal of the node itself counts with any HTTP status.
  const isRefusal =
    typeof code === "number" &&
    (found.status === undefined || isRefusedStatus(found.status));
  const status = isRefusal ? statusInCode(code) : found.status;
  const rule = rules.find(
    (one) =>
      one.codes?.includes(code) === true ||
      one.status?.test(String(status)) === true ||
      (one.sign !== undefined && match(one.sign) !== undefined) ||
      one.words.test(words),
  );
  const otherwise = isRefusal && status === undefined ? "refused" : "final";
  return {
    kind: rule?.kind ?? otherwise,
    retryAfterMs: Math.max(
      retryAfterOf(links) ?? 0,
      rule?.kind !== "rateLimited"
        ? 0
        : found.status === 429
          ? SHORTEST_WAIT_AFTER_429_MS
          : SHORTEST_WAIT_MS,
    ),
  };
}

/** Some gateways put an HTTP status into the code, as 429 or as -32429. */
function statusInCode(code: unknown): number | undefined {
  const status = Number(code) < 0 ? -32_000 - Number(code) : Number(code);
  return status >= 400 && status < 600 ? status : undefined;
}

export function refusesParameters(error: unknown): boolean {
  return everythingIn(error).some(({ code }) => code === INVALID_PARAMS);
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

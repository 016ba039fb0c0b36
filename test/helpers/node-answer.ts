import { setTimeout as sleep } from "node:timers/promises";
import { gzipSync } from "node:zlib";

import { Transaction, Wallet } from "ethers";

import { asRecord, listOf } from "../../src/json.js";
import { fetchProvider } from "./fetch-provider.js";
import type { Exchange, RpcHandler, RpcReply } from "./rpc-server.js";

/** A case of test/rpc/node-answers, whose README explains the words. */
export interface NodeAnswerCase {
  readonly id: string;
  readonly source: string;
  readonly client: string;
  readonly when: {
    readonly stage: string;
    readonly do?: string;
    readonly method?: string | readonly string[];
    readonly only?: string;
    readonly first?: number;
    readonly after?: boolean;
    readonly minedAfter?: number;
    readonly stranger?: "mined";
    readonly path?: string;
    readonly timeout?: number;
  };
  readonly answer: {
    readonly error?: { code: number; message: string; data?: unknown };
    readonly result?: unknown;
    readonly http?: {
      readonly status?: number;
      readonly headers?: Readonly<Record<string, string>>;
      readonly body?: string;
    };
    readonly node?: {
      readonly at?: string;
      readonly set?: Fields;
      readonly without?: readonly string[];
    };
    readonly insert?: Fields;
    readonly without?: "overrides";
    readonly evmNumber?: string;
    readonly beyond?: { code: number; message: string };
  };
  readonly right: string;
  readonly code?: string;
  readonly reason?: string;
  readonly says?: string;
  readonly sends?: number;
}

type Fields = Readonly<Record<string, unknown>>;

/** Blocks behind the head that a node without an archive keeps. */
const KEPT_BLOCKS = 128;

export interface Asked {
  answered: number;
  sends: number;
}

/** @param key Signs the transactions of a stranger with the same account. */
export function answerAs(
  { when, answer }: NodeAnswerCase,
  upstream: string,
  key: string,
): { readonly handler: RpcHandler; readonly asked: Asked } {
  const node = fetchProvider(upstream);
  const ask = async (method: string, ...params: unknown[]): Promise<unknown> =>
    await node.request({ method, params });
  const asked: Asked = { answered: 0, sends: 0 };
  const methods = [when.method ?? []].flat();

  const isChosen = async (exchange: Exchange): Promise<boolean> =>
    (methods.length === 0 || methods.includes(exchange.request.method)) &&
    exchange.response.req.url === (when.path ?? exchange.response.req.url) &&
    (await fits(exchange)) &&
    asked.answered < (when.first ?? Infinity) &&
    // Beside a number, an answer may concern only the tag.
    (answer.evmNumber === undefined || exchange.request.params.length > 0);

  const fits = async ({ request, forward }: Exchange): Promise<boolean> => {
    const { method, params } = request;
    const block = method === "eth_getBlockByNumber" ? params[0] : params[1];
    const isNumber = typeof block === "string" && block.startsWith("0x");
    switch (when.only) {
      case undefined:
        return true;
      case "numbered":
        return isNumber;
      case "old": {
        const head = Number(await ask("eth_blockNumber"));
        const { blockHash } = asRecord(block);
        const number =
          blockHash === undefined
            ? block
            : asRecord(await ask("eth_getBlockByHash", blockHash, false))[
                "number"
              ];
        return (
          (isNumber || blockHash !== undefined) &&
          Number(number) < head - KEPT_BLOCKS
        );
      }
      case "pending":
        return block === "pending";
      case "overrides":
        return method === "eth_call" && params.length > 2;
      case "full":
        return params[1] === true;
      case "null":
        return resultOf(await forward()) === null;
      default:
        throw new Error(`only: ${when.only}`);
    }
  };

  const beforeSending = async (raw: unknown): Promise<void> => {
    asked.sends += 1;
    if (when.minedAfter !== undefined) {
      // The node may be gone by then.
      mineIn(when.minedAfter).catch(() => undefined);
    }
    if (when.stranger === undefined || asked.sends > 1) {
      return;
    }
    const { nonce } = Transaction.from(String(raw));
    const wallet = new Wallet(key);
    const { baseFeePerGas } = asRecord(
      await ask("eth_getBlockByNumber", "latest", false),
    );
    const rival = await wallet.signTransaction({
      chainId: 31_337,
      nonce,
      to: wallet.address,
      gasLimit: 21_000,
      // Ours cannot take its place.
      maxFeePerGas: BigInt(String(baseFeePerGas)) * 20n + 10n ** 12n,
      maxPriorityFeePerGas: 10n ** 11n,
    });
    await ask("eth_sendRawTransaction", rival);
  };

  const mineIn = async (seconds: number): Promise<void> => {
    await ask("evm_setAutomine", false);
    await sleep(seconds * 1_000);
    await ask("evm_mine");
  };

  const handler: RpcHandler = async (exchange) => {
    const { request } = exchange;
    if (request.method.startsWith("eth_send")) {
      await beforeSending(request.params[0]);
    }
    if (!(await isChosen(exchange))) {
      return undefined;
    }
    asked.answered += 1;
    if (when.after === true) {
      await exchange.forward();
    }
    return await answerTo(exchange, answer, ask);
  };
  return { handler, asked };
}

async function answerTo(
  exchange: Exchange,
  answer: NodeAnswerCase["answer"],
  ask: (method: string, ...params: unknown[]) => Promise<unknown>,
): Promise<RpcReply | undefined> {
  const { request, forward } = exchange;
  const { params } = request;
  if (answer.error !== undefined) {
    return { error: answer.error };
  }
  if ("result" in answer) {
    return { result: answer.result };
  }
  if (answer.http !== undefined) {
    await answerHttp(exchange, answer.http);
    return "handled";
  }
  if (answer.without === "overrides") {
    const without = { ...request, params: params.slice(0, 2) };
    return replyOf(await forward(without));
  }
  if (answer.evmNumber !== undefined) {
    const head = Number(await ask("eth_blockNumber"));
    const block = params[1];
    if (typeof block === "string" && block.startsWith("0x")) {
      return Number(block) > head && answer.beyond !== undefined
        ? { error: answer.beyond }
        : undefined;
    }
    const number = /^[+-]/u.test(answer.evmNumber)
      ? head + Number(answer.evmNumber)
      : Number(answer.evmNumber);
    const [call, tag, overrides = {}, blockOverrides = {}] = params;
    return replyOf(
      await forward({
        ...request,
        params: [
          call,
          tag,
          overrides,
          { ...asRecord(blockOverrides), number: `0x${number.toString(16)}` },
        ],
      }),
    );
  }
  const honest = resultOf(await forward());
  if (honest === null || honest === undefined) {
    return { result: null };
  }
  if (answer.insert !== undefined) {
    const block = asRecord(honest);
    const odd = valuesIn(answer.insert, block);
    const transactions = [odd, ...listOf(block["transactions"])];
    return { result: { ...block, transactions } };
  }
  const { at = "", set = {}, without = [] } = answer.node ?? {};
  const result = changeAt(honest, at === "" ? [] : at.split("."), (object) =>
    Object.fromEntries(
      Object.entries({ ...object, ...valuesIn(set, object) }).filter(
        ([name]) => !without.includes(name),
      ),
    ),
  );
  return { result };
}

async function answerHttp(
  { request, response, forward }: Exchange,
  {
    status = 200,
    headers = {},
    body = "",
  }: NonNullable<NodeAnswerCase["answer"]["http"]>,
): Promise<void> {
  const honest = /\$(?:node|result)/u.test(body) ? await forward() : "";
  const text = body
    .replaceAll("$node", () => honest)
    .replaceAll("$result", () => JSON.stringify(resultOf(honest) ?? null))
    .replaceAll("$id", () => String(request.id));
  response.writeHead(status, {
    "content-type": "application/json",
    ...headers,
  });
  const bytes = headers["content-encoding"] === "gzip" ? gzipSync(text) : text;
  response.end(bytes);
}

function resultOf(text: string): unknown {
  return text === "" ? undefined : asRecord(JSON.parse(text))["result"];
}

function replyOf(text: string): RpcReply {
  // the node's JSON-RPC
  const { result, error } = JSON.parse(text) as {
    result?: unknown;
    error?: { code: number; message: string };
  };
  return error === undefined ? { result } : { error };
}

/** Changes the object at a path; `*` is each of a list. */
function changeAt(
  value: unknown,
  [step, ...rest]: readonly string[],
  change: (object: Fields) => Fields,
): unknown {
  if (step === undefined) {
    return change(asRecord(value));
  }
  if (Array.isArray(value)) {
    return value.map((item: unknown, index) =>
      step === "*" || Number(step) === index
        ? changeAt(item, rest, change)
        : item,
    );
  }
  const object = asRecord(value);
  return { ...object, [step]: changeAt(object[step], rest, change) };
}

/** Values of `set` and `insert`, made of those of the honest object. */
function valuesIn(fields: Fields, honest: Fields): Fields {
  return Object.fromEntries(
    Object.entries(fields).map(([name, value]) => {
      const [, how, of = ""] =
        /^\$(copy|decimal|pad) (\w+)$/u.exec(String(value)) ?? [];
      const given = honest[of];
      switch (how) {
        case "copy":
          return [name, given];
        case "decimal":
          return [name, Number(given)];
        case "pad":
          return [name, `0x0${String(given).slice(2)}`];
        default:
          return [name, value];
      }
    }),
  );
}

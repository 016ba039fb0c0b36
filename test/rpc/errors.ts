import { runInNewContext } from "node:vm";

import { expect } from "chai";
import { HardhatPluginError } from "hardhat/plugins";

import type { VaultErrorCode } from "../../src/client/index.js";
import { GIVEN_PROVIDER, vaultError } from "../../src/errors.js";
import { MAX_FOREIGN_TEXT, Redactor } from "../../src/foreign-text.js";
import { asRecord } from "../../src/json.js";
import { classify, allowsAnotherRequest } from "../../src/rpc/errors.js";
import type { Failure } from "../../src/rpc/errors.js";
import { RpcClient } from "../../src/rpc/rpc-client.js";
import {
  StatusError,
  codedError,
  hardhatError,
  said,
} from "../helpers/foreign-errors.js";

const causedBy = (cause: Error, code?: number): Error =>
  Object.assign(new TypeError("no", { cause }), code === undefined || { code });
const refusedAnswer = (response: string): Error =>
  hardhatError("HHE702", {
    message: `HHE702: Invalid JSON-RPC response received: ${response}`,
    messageArguments: { response },
  });
const refusedBody = { error: said(-32000, "no") };
const limitedBody = { error: said(-32005, "no") };
const withBody = (status: number, body: object, more: object = {}): Error =>
  Object.assign(new StatusError(status), { body, ...more });
const reset = { cause: codedError("ECONNRESET") };
const longest = "timed out".padEnd(MAX_FOREIGN_TEXT);
/** As ethers wraps what a node answers. */
const ethersError = (error: object): Error =>
  codedError("CALL_EXCEPTION", {
    shortMessage: "missing revert data",
    info: { error, payload: {} },
  });
/** As viem's, which names the HTTP status otherwise. */
class HttpRequestError extends Error {
  constructor(public readonly status: number) {
    super("HTTP request failed.");
  }
}
/** The key of the connection, which some nodes repeat. */
const NODE_KEY = "a1b2c3d4e5f60718293a";
const redactor = new Redactor();
redactor.keep(NODE_KEY);
const source = { network: "testnet", redactor };
const errorOf = (error: unknown) => classify(error, source, "eth_call").error;

/** Why a request is repeated, else what ended it. */
const classOf = ({ retry, kind }: Failure): string =>
  retry ?? (["reverted", "behind", "local"].includes(kind) ? kind : "final");

/** The begin of an error's text and of its fields, for a title. */
function inWords(error: unknown): string {
  const fields = JSON.stringify(error).slice(0, 60);
  const { cause } = asRecord(error);
  return error instanceof Error
    ? `${String(error).trim().slice(0, 60)} ${fields}${cause === undefined ? "" : ` by ${inWords(cause)}`}`
    : fields;
}

describe("failed requests", () => {
  const withKey = `no project ${NODE_KEY}`;
  const copied = { _isHardhatError: true, errorCode: "HHE7" };
  const told: Readonly<
    Partial<
      Record<
        VaultErrorCode,
        ReadonlyArray<readonly [error: unknown, problem?: string]>
      >
    >
  > = {
    VAULT_CONFIG_VARIABLE: ["HHE7", "HHE28", "HHE29", "HHE30"].map((code) => [
      hardhatError(code),
      "no",
    ]),
    VAULT_RPC_TIMEOUT: [[hardhatError("HHE704")]],
    // An error of this package in another one.
    VAULT_NOT_CONFIRMED: [[causedBy(vaultError("VAULT_NOT_CONFIRMED", {}))]],
    VAULT_RPC_INVALID_RESPONSE: [
      [
        hardhatError("HHE702"),
        "the answer is not JSON; the URL may lead or redirect to a web page, or the answer is compressed",
      ],
      // Perhaps of the request for the chain id, which Hardhat sends by itself.
      [
        refusedAnswer(`{"id":1,"result":"0x1"}`),
        `the answer was {"id":1,"result":"0x1"}`,
      ],
    ],
    VAULT_NETWORK_UNREACHABLE: [
      // Hardhat reads the answer outside its own checks.
      [
        codedError("HPE_INVALID_CHUNK_SIZE", {
          message: "Response does not match the HTTP/1.1 protocol",
        }),
        "Response does not match the HTTP/1.1 protocol",
      ],
      [
        codedError("ENOTFOUND", { message: "getaddrinfo ENOTFOUND node.test" }),
        "getaddrinfo ENOTFOUND node.test",
      ],
      // Of an address without a name, the innermost error has the place.
      [
        new AggregateError([
          codedError("ECONNREFUSED", { message: "connect 127.0.0.1:8545" }),
        ]),
        "connect 127.0.0.1:8545",
      ],
      [hardhatError("HHE703"), "no"],
      [codedError("DEPTH_ZERO_SELF_SIGNED_CERT"), "no"],
      [causedBy(codedError("ERR_TLS_CERT_ALTNAME_INVALID")), "no"],
      // As viem wraps it, with a code of its own, and ethers.
      [causedBy(codedError("ECONNREFUSED"), 7), "no"],
      [
        codedError("UNKNOWN_ERROR", { error: codedError("ECONNREFUSED") }),
        "no",
      ],
      // Of another realm.
      [
        runInNewContext(
          `Object.assign(new Error("no"), { code: "ENOTFOUND" })`,
        ),
        "no",
      ],
      [new StatusError(100), "the node answered HTTP status 100"],
      [new HttpRequestError(401), "the node answered HTTP status 401"],
      ...[{ message: withKey }, { error: { message: withKey } }].map(
        (body) =>
          [
            withBody(503, body),
            "the node answered HTTP status 503: no project <hidden>",
          ] as const,
      ),
    ],
    VAULT_RPC_ERROR: [
      ["busy", "busy"],
      ...[0, 99, 600, -32_000, "x"].map(
        (status) => [causedBy(new StatusError(status)), "no"] as const,
      ),
      [Object.assign(new Error("no"), copied), "no"],
      [
        refusedAnswer(`{"error":{"message":"bad key"},"result":"0x1"}`),
        "bad key",
      ],
      [refusedAnswer(`{"id":1,"error":"bad key"}`), "bad key"],
      [withBody(401, refusedBody), "the node answered HTTP status 401: no"],
      [ethersError(said(-32005, "daily limit")), "daily limit"],
      // A node's own limit of gas, with the code of a revert.
      [said(3, "out of gas", "0x"), "out of gas"],
    ],
  };
  for (const [code, errors] of Object.entries(told)) {
    for (const [error, problem] of errors) {
      it(`classify() makes ${code} of ${inWords(error)}`, () => {
        const made = errorOf(error);
        expect(made.code).to.equal(code);
        expect(made.details["problem"]).to.equal(problem);
        expect(classify(error).kind).to.not.equal("reverted");
      });
    }
  }

  it("an error names the provider's url if the client has no network's name", () => {
    const gone = codedError("ECONNREFUSED");
    const given = { ...source, network: GIVEN_PROVIDER };
    expect(classify(gone, given).error.fix).to.equal(
      "Check that the node runs, and http or https, host, port and key in the provider's url; behind a proxy, http_proxy, https_proxy and no_proxy, too.",
    );
  });

  it("VAULT_WRONG_CHAIN names both chains and the network", () => {
    const chains = { configChainId: 1, connectionChainId: 56 };
    const cause = hardhatError("HHE708", { messageArguments: chains });
    expect(errorOf(new Error("no", { cause }))).to.deep.include({
      code: "VAULT_WRONG_CHAIN",
      details: { network: "testnet", expected: "1", actual: "56" },
    });
  });

  const failures: Readonly<Record<string, readonly unknown[]>> = {
    local: [hardhatError("HHE1"), new HardhatPluginError("other", "no")],
    transient: [
      new Error(longest),
      // Hardhat's text has the whole of an unreadable answer.
      hardhatError("HHE702", { message: longest.repeat(2) }),
      causedBy(codedError("ECONNRESET")),
      codedError("EPIPE"),
      codedError("EAI_AGAIN"),
      // A body that Hardhat cannot parse, and half a body.
      hardhatError("HHE702"),
      new SyntaxError("Unexpected end of JSON input"),
      said(-32603, "upstream timed out"),
      said(-32503, "no"),
      new StatusError(500),
      causedBy(new HttpRequestError(503)),
      withBody(500, refusedBody),
      withBody(425, refusedBody),
    ],
    rateLimited: [
      said(-32005, "no"),
      said(-32000, "Too Many Requests"),
      // An HTTP status in the code.
      said(429, "no"),
      said(-32429, "no"),
      said(-32000, "request rate exceeded"),
      new StatusError(429),
      refusedAnswer(`{"id":1,"error":{"code":-32005,"message":"no"}}`),
      withBody(400, limitedBody),
      withBody(429, refusedBody),
      causedBy(new HttpRequestError(429)),
      ethersError(said(-32005, "no")),
    ],
    reverted: [
      said(3, "reverted: timed out", "0x12345678"),
      said(3, "out of gas", "0x12345678"),
      said(3, "execution reverted: out of gas"),
      ethersError(said(3, "execution reverted: no", "0x")),
    ],
    final: [
      hardhatError("HHE704", { message: longest }),
      codedError("UND_ERR_HEADERS_TIMEOUT"),
      new DOMException("no", "TimeoutError"),
      new Error(`${" ".repeat(MAX_FOREIGN_TEXT)}timed out`),
      // A reset that the node made up.
      { code: "ECONNRESET", message: "no" },
      codedError("ENOTFOUND"),
      said(-32005, "daily request count exceeded"),
      said(-32000, "execution aborted (timeout)"),
      said(-32000, "VM Exception while processing transaction: out of gas"),
      said(-32601, "Method not found"),
      said(-32603, "daily request count exceeded"),
      new StatusError(401),
      // No HTTP status.
      said(4444, "no"),
      said(-32015, "VM execution error.", "Out of gas"),
      withBody(404, refusedBody, reset),
    ],
    // The node may have the block a moment later.
    behind: [
      said(-32000, "header not found"),
      said(-32603, "missing trie node 0c (path )"),
      withBody(404, { error: said(-32000, "header not found") }, reset),
    ],
  };
  for (const [kind, errors] of Object.entries(failures)) {
    for (const error of errors) {
      it(`classify() takes ${inWords(error)} for ${kind}`, () => {
        expect(classOf(classify(error))).to.equal(kind);
      });
    }
  }

  const behindHardhat: ReadonlyArray<readonly [string, unknown[]]> = [
    [
      "local",
      [
        new Error("no"),
        new Error("no", { cause: new Error("no", { cause: null }) }),
        codedError("MODULE_NOT_FOUND"),
        // As of a file.
        codedError("ENOENT", { syscall: "open", path: "other.json" }),
        // A hook that gives up after a request of its own has failed.
        new HardhatPluginError("other", "no", codedError("ECONNRESET")),
      ],
    ],
    ["transient", [hardhatError("HHE702"), new StatusError(503), reset.cause]],
    [
      "final",
      [
        new DOMException("no", "TimeoutError"),
        codedError("ENOTFOUND", { syscall: "getaddrinfo" }),
        new Error("no", { cause: codedError("ECONNREFUSED") }),
        Object.assign(new Error("no"), { _isProviderError: 1 }),
        { message: "no" },
      ],
    ],
    [
      "behind",
      [Object.assign(new Error("header not found"), { code: -32_000 })],
    ],
  ];
  for (const [kind, errors] of behindHardhat) {
    for (const error of errors) {
      it(`classify() takes ${inWords(error)} for ${kind} behind Hardhat`, () => {
        const failure = classify(error, { ...source, isBehindHardhat: true });
        expect(classOf(failure)).to.equal(kind);
        expect(failure.error.code === "VAULT_HARDHAT_ERROR").to.equal(
          kind === "local",
        );
      });
    }
  }

  it("VAULT_HARDHAT_ERROR names the plugin, and shows no secret", () => {
    const saidBy = (error: Error): string =>
      classify(error, { ...source, isBehindHardhat: true }).error.shortMessage;
    for (const [error, text] of [
      [
        new HardhatPluginError("x", `no ${NODE_KEY}`),
        "The plugin x failed: no <hidden>.",
      ],
      [hardhatError("HHE1"), "Hardhat failed: no."],
      [
        new Error("see https://node.test/key"),
        "Hardhat or one of its plugins failed: see <url>.",
      ],
    ] as const) {
      expect(saidBy(error)).to.equal(text);
    }
  });

  for (const [error, code, kind, isRefused] of [
    [said(-32_000, "nonce too low"), "VAULT_RPC_ERROR", "refused", true],
    [said(-32_602, "invalid params"), "VAULT_RPC_ERROR", "refused", true],
    [said(-32_000, "header not found"), "VAULT_RPC_ERROR", "behind", true],
    [said(-32_001, "Resource not found."), "VAULT_RPC_ERROR", "behind", true],
    [said(-32_603, "busy"), "VAULT_RPC_ERROR", "busy", true],
    [new StatusError(403), "VAULT_NETWORK_UNREACHABLE", "refused", true],
    [new StatusError(503), "VAULT_NETWORK_UNREACHABLE", "busy", true],
    // A gateway may have forwarded what it answers so.
    [withBody(502, refusedBody), "VAULT_NETWORK_UNREACHABLE", "busy", true],
    [codedError("EPIPE"), "VAULT_NETWORK_UNREACHABLE", "unreachable", true],
    [hardhatError("HHE702"), "VAULT_RPC_INVALID_RESPONSE", "unreadable", true],
    [hardhatError("HHE704"), "VAULT_RPC_TIMEOUT", "timeout", false],
  ] as const) {
    it(`the error of ${inWords(error)} has code ${code} and kind ${kind}, and is ${isRefused ? "" : "no "}reason for another request`, () => {
      const made = errorOf(error);
      expect(made.code).to.equal(code);
      expect(made.details["kind"]).to.equal(kind);
      expect(allowsAnotherRequest(made)).to.equal(isRefused);
    });
  }

  it("a result that the node leaves out is null, and no other", async () => {
    const resultOf = async (text: string): Promise<unknown> => {
      const request = async () => await Promise.reject(refusedAnswer(text));
      return await new RpcClient({ request }, "testnet")
        .request("eth_gasPrice")
        .catch(() => "an error");
    };
    for (const text of [
      `{"jsonrpc":"2.0","id":1}`,
      `{"id":1,"result":null,"error":null}`,
    ]) {
      expect(await resultOf(text), text).to.equal(null);
    }
    const request = async () => await Promise.resolve(undefined);
    const without = new RpcClient({ request }, "testnet");
    expect(await without.request("eth_gasPrice")).to.equal(null);
    for (const text of [
      `{}`,
      `{"id":1,"result":"0x1"}`,
      `{"id":1,"error":"no"}`,
      `{"id":1,"message":"no"}`,
    ]) {
      expect(await resultOf(text), text).to.equal("an error");
    }
  });

  it("the details of an error have the method, the node's code and the HTTP status", () => {
    const body = { error: said(-32600, "no key") };
    expect(errorOf(withBody(401, body)).details).to.include({
      method: "eth_call",
      rpcCode: -32600,
      httpStatus: 401,
    });
  });

  it("a secret in the name of the host, in a header or in a variable is hidden", () => {
    for (const error of [
      codedError("ENOTFOUND", {
        message: `getaddrinfo ENOTFOUND ${NODE_KEY}.node.test`,
      }),
      codedError("UND_ERR_INVALID_ARG", {
        message: `invalid ${NODE_KEY} header`,
      }),
    ]) {
      const { message } = errorOf(error);
      expect(message).to.contain("<hidden>").and.not.contain(NODE_KEY);
    }
    const url = hardhatError("HHE29", { message: "no URL: https://h/k" });
    expect(errorOf(url).message).to.contain("no URL: <url>");
  });

  it("a page in place of an answer is not kept as the cause, because it may repeat the key", () => {
    const page = hardhatError("HHE702", { message: "<html>the-key</html>" });
    expect(errorOf(page)).to.not.have.property("cause");
  });

  it("the header Retry-After counts if it is a whole number of seconds and at least one, also beside a body with the node's own error", () => {
    const waits = (value: unknown): number | undefined => {
      const failure = classify(new StatusError(429, { "retry-after": value }));
      return failure.retryAfterMs;
    };
    const headers = { "retry-after": "7" };
    expect(classify(withBody(400, limitedBody, { headers }))).to.include({
      retry: "rateLimited",
      retryAfterMs: 7_000,
    });
    expect(["7", "12"].map(waits)).to.deep.equal([7_000, 12_000]);
    expect(
      ["0", "-1", "1.5", ["7"], "1234567", undefined].map(waits),
    ).to.deep.equal(Array(6).fill(1_000));
  });
});

describe("what a node makes up as an error", () => {
  it("VAULT_RPC_ERROR says that a node gave no reason if what it threw has no text", () => {
    for (const error of [
      { message: { toString: 1 } },
      Symbol("no"),
      new Error(""),
      Object.assign(new Error(), { code: { toString: 1 }, message: 1 }),
    ]) {
      const { code, details } = errorOf(error);
      expect(code).to.equal("VAULT_RPC_ERROR");
      expect(details["problem"]).to.equal("it gave no reason");
    }
  });

  // To look like an error of ours or of others.
  for (const forged of [
    { statusCode: 500 },
    {
      errorCode: "HHE708",
      messageArguments: { configChainId: "\u001b[2J", connectionChainId: "1" },
    },
    { code: "ECONNREFUSED" },
    { name: "TimeoutError" },
  ]) {
    it(`a node's data are not taken for another error: ${JSON.stringify(forged)}`, () => {
      for (const error of [
        { code: -32000, message: "no", cause: forged },
        Object.assign(new Error("no"), { code: -32000, data: forged }),
        Object.assign(new Error("no"), { cause: { errors: [forged] } }),
        new Error("no", { cause: { code: -32000, error: forged } }),
        forged,
        // A provider may copy it, too, but no code or name of this side.
        ...("code" in forged || "name" in forged
          ? []
          : [Object.assign(new Error("no"), forged)]),
      ]) {
        const { code, message } = errorOf(error);
        expect(code).to.equal("VAULT_RPC_ERROR");
        expect(message).to.not.contain("\u001b");
      }
    });
  }

  it("a node's error is read to its end at once, however deep or broad it is", () => {
    const revert = said(3, "execution reverted");
    const many = Array.from({ length: 200_000 });
    const deep = many.reduce<object>((data) => ({ data }), revert);
    const broad = { errors: [...many.map(() => ({})), revert] };
    for (const data of [deep, broad]) {
      const { kind } = classify({ code: -32000, message: "no", data });
      expect(kind).to.equal("reverted");
    }
  });
});

import { runInNewContext } from "node:vm";

import { expect } from "chai";

import { VaultClient } from "../../src/client/index.js";
import { vaultError } from "../../src/errors.js";
import type { VaultErrorCode } from "../../src/errors.js";
import {
  classifyFailure,
  isNodeRefusal,
  isRefusedAnyhow,
  refusesParameters,
  toRpcError,
} from "../../src/rpc/errors.js";
import type { Failure } from "../../src/rpc/errors.js";
import { MAX_FOREIGN_TEXT } from "../../src/untrusted-text.js";
import { expectVaultError } from "../helpers/assertions.js";
import { speedUpTime } from "../helpers/deadlines.js";
import {
  StatusError,
  codedError,
  hardhatError,
} from "../helpers/foreign-errors.js";

const ADDRESS = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8";

/** An error as a node sends it. */
const said = (code: number, message: string, data?: string): object => ({
  code,
  message,
  ...(data === undefined ? {} : { data }),
});
const causedBy = (cause: Error, code?: number): Error =>
  Object.assign(new TypeError("no", { cause }), { code });

function failingClient(error: unknown): VaultClient {
  return new VaultClient(
    {
      request: () => {
        throw error;
      },
    },
    { vault: ADDRESS },
    { networkName: "testnet" },
  );
}

describe("failed requests", () => {
  speedUpTime();

  const UNREACHABLE = "VAULT_NETWORK_UNREACHABLE";
  const foreignError: unknown = runInNewContext(
    `Object.assign(new Error("no"), { code: "ENOTFOUND" })`,
  );
  const hardhatRefused = (message: string): Error =>
    hardhatError("HHE703", { message });
  const told: ReadonlyArray<
    readonly [
      name: string,
      error: unknown,
      code: VaultErrorCode,
      problem?: string,
    ]
  > = [
    ...["HHE7", "HHE28", "HHE29", "HHE30"].map(
      (code) =>
        [code, hardhatError(code), "VAULT_CONFIG_VARIABLE", "no"] as const,
    ),
    ["HHE704", hardhatError("HHE704"), "VAULT_RPC_TIMEOUT"],
    [
      "one of this package's errors in another one",
      causedBy(vaultError("VAULT_NOT_CONFIRMED", {})),
      "VAULT_NOT_CONFIRMED",
    ],
    ["a text", "busy", "VAULT_RPC_ERROR", "busy"],
    [
      "a host by its name, without a port",
      codedError("ENOTFOUND", { hostname: "node.test" }),
      UNREACHABLE,
      "no address was found for node.test (ENOTFOUND)",
    ],
    [
      "a host by its address, with a port",
      codedError("ECONNREFUSED", {
        address: "127.0.0.1",
        hostname: "node.test",
        port: 8545,
      }),
      UNREACHABLE,
      "127.0.0.1:8545 refused the connection",
    ],
    [
      "a host by the URL in Hardhat's text",
      hardhatRefused("The connection to https://node.test:1/key was refused"),
      UNREACHABLE,
      "node.test:1 refused the connection",
    ],
    ...[
      "to https://node.test:1/key it was refused",
      "at The https://node.test:1/key",
      "The https://node.test:1/key is wrong",
    ].map(
      (message) =>
        [
          `a URL elsewhere in a text: ${message}`,
          hardhatRefused(message),
          UNREACHABLE,
          "the node refused the connection",
        ] as const,
    ),
    [
      "the smallest HTTP status",
      new StatusError(100),
      UNREACHABLE,
      "the node answered HTTP status 100",
    ],
    [
      "HHE702",
      hardhatError("HHE702"),
      "VAULT_RPC_INVALID_RESPONSE",
      "the answer is not JSON; the URL may lead or redirect to a web page",
    ],
    [
      "a refused connection in an error with another code",
      causedBy(codedError("ECONNREFUSED"), 7),
      UNREACHABLE,
      "the node refused the connection",
    ],
    [
      "an error of another realm",
      foreignError,
      UNREACHABLE,
      "no address was found for the node (ENOTFOUND)",
    ],
    ...[0, 99, 600, -32_000, "x"].map(
      (status) =>
        [
          `an HTTP status of ${status}`,
          causedBy(new StatusError(status)),
          "VAULT_RPC_ERROR",
          "no",
        ] as const,
    ),
    [
      "a copy of an error of Hardhat's",
      Object.assign(new Error("no"), {
        _isHardhatError: true,
        errorCode: "HHE7",
      }),
      "VAULT_RPC_ERROR",
      "no",
    ],
    [
      "several addresses that refuse",
      new AggregateError([codedError("ECONNREFUSED")]),
      UNREACHABLE,
      "the node refused the connection",
    ],
    [
      "a node's own limit of gas, with the code of a revert",
      said(3, "out of gas", "0x"),
      "VAULT_RPC_ERROR",
      "out of gas",
    ],
  ];
  for (const [name, error, code, problem] of told) {
    it(`toRpcError() makes ${code} of ${name}`, () => {
      const made = toRpcError(error, "testnet", "eth_call");
      expect(made.code).to.equal(code);
      expect(made.details["problem"]).to.equal(problem);
      expect(classifyFailure(error).kind).to.not.equal("reverted");
    });
  }

  it("toRpcError() names both chains of VAULT_WRONG_CHAIN, and the network", () => {
    const chains = { configChainId: 1, connectionChainId: 56 };
    const cause = hardhatError("HHE708", { messageArguments: chains });
    const { code, details } = toRpcError(
      hardhatError("HHE1", { cause }),
      "testnet",
      "eth_call",
    );
    expect(code).to.equal("VAULT_WRONG_CHAIN");
    expect(details).to.deep.equal({
      network: "testnet",
      expected: "1",
      actual: "56",
    });
  });

  const refused = { error: said(-32000, "no") };
  const busyBody = { error: said(-32005, "no") };
  const withBody = (status: number, body: object, more: object = {}): Error =>
    Object.assign(new StatusError(status), { body, ...more });
  const date = { "retry-after": new Date(0).toUTCString() };
  const longest = "timed out".padEnd(MAX_FOREIGN_TEXT);
  const failures: Readonly<
    Record<Failure["kind"], Readonly<Record<string, unknown>>>
  > = {
    passing: {
      "the words of a time-out": new Error("it timed out"),
      "the longest text that counts": new Error(longest),
      "a reset": causedBy(codedError("ECONNRESET")),
      "a broken pipe": codedError("EPIPE"),
      "a closed socket": causedBy(codedError("UND_ERR_SOCKET")),
      "a busy name server": codedError("EAI_AGAIN"),
      "a body that Hardhat cannot parse": hardhatError("HHE702"),
      "half a body": new SyntaxError("Unexpected end of JSON input"),
      "another id": new Error("response id does not match"),
      "a gateway's time-out": said(-32603, "upstream timed out"),
      "HTTP status 500": new StatusError(500),
      "HTTP status 503 in a cause": causedBy(new StatusError(503)),
      "a node's error in HTTP status 500": withBody(500, refused),
      "a body without a status": codedError("ECONNRESET", { body: refused }),
    },
    busy: {
      "a rate limit by its code": said(-32005, "no"),
      "a rate limit in words": said(-32000, "Too Many Requests"),
      "HTTP status 429": new StatusError(429),
      "HTTP status 429 with a date": new StatusError(429, date),
      "a node's error in HTTP status 400": withBody(400, busyBody),
      "a node's error in HTTP status 429": withBody(429, refused),
    },
    behind: { "a missing block": said(-32000, "header not found") },
    reverted: {
      "the words of a time-out": said(3, "reverted: timed out", "0x12345678"),
      "the words of a gas limit": said(3, "out of gas", "0x12345678"),
    },
    final: {
      "a time-out of Hardhat's": hardhatError("HHE704", { message: longest }),
      "a time-out of undici's": codedError("UND_ERR_HEADERS_TIMEOUT"),
      "a time-out by its name": new DOMException("no", "TimeoutError"),
      "a longer text": new Error(`${longest} `),
      "a revert behind a longer text": new Error(`${longest} reverted`),
      "an endless complaint": said(-32000, "quota exceeded, ".repeat(300)),
      "a reset that the node made up": { code: "ECONNRESET", message: "no" },
      "an unknown host": codedError("ENOTFOUND"),
      "a refused connection": codedError("ECONNREFUSED"),
      "a limit of a day": said(-32005, "daily request count exceeded"),
      "a block gas limit": said(-32000, "block gas limit exceeded"),
      "a call that is too long": said(-32000, "execution aborted (timeout)"),
      "too much gas": said(-32000, "out of gas"),
      "out of gas in one word": said(3, "OutOfGas"),
      "an unknown method": said(-32601, "Method not found"),
      "HTTP status 400": new StatusError(400),
      "HTTP status 401": new StatusError(401),
      "a node's error in HTTP status 399": withBody(399, busyBody),
      "a node's error in HTTP status 404, with a cause of its own": withBody(
        404,
        refused,
        { cause: codedError("ECONNRESET") },
      ),
    },
  };
  for (const [kind, errors] of Object.entries(failures)) {
    for (const [name, error] of Object.entries(errors)) {
      it(`classifyFailure() takes ${name} as ${kind}`, () => {
        expect(classifyFailure(error).kind).to.equal(kind);
      });
    }
  }

  it("takes refusals and wrong answers, and no time-out, for what another request may succeed after", () => {
    const errors = [
      new Error("no"),
      hardhatError("HHE702"),
      hardhatError("HHE703"),
      hardhatError("HHE704"),
    ].map((error) => toRpcError(error, "testnet", "eth_call"));
    expect(
      [...errors, { code: "VAULT_RPC_ERROR" }].map(isRefusedAnyhow),
    ).to.deep.equal([true, true, true, false, false]);
  });

  it("should tell a node's no from other failures", () => {
    const refusal = toRpcError(new Error("no"), "testnet", "eth_call");
    const timeout = toRpcError(hardhatError("HHE704"), "testnet", "eth_call");
    expect(
      [refusal, timeout, new Error("no"), { code: "VAULT_RPC_ERROR" }].map(
        isNodeRefusal,
      ),
    ).to.deep.equal([true, false, false, false]);
  });

  it("should tell of parameters that a node does not take", () => {
    const refusal = { code: -32602, message: "no" };
    expect(refusesParameters(new Error("no", { cause: refusal }))).to.equal(
      true,
    );
    expect(refusesParameters(refusal)).to.equal(true);
    expect(refusesParameters({ code: -32601 })).to.equal(false);
    expect(refusesParameters(undefined)).to.equal(false);
  });

  it("should tell how many seconds a node asks to wait", () => {
    const waits = (value: unknown): number | undefined => {
      const failure = classifyFailure(
        new StatusError(429, { "retry-after": value }),
      );
      return "retryAfterMs" in failure ? failure.retryAfterMs : undefined;
    };
    expect(["7", "12", "0", "1.5", ["7"], undefined].map(waits)).to.deep.equal([
      7_000,
      12_000,
      0,
      ...Array.from({ length: 3 }, () => undefined),
    ]);
  });

  const unusual: readonly unknown[] = [
    { toString: 1 },
    { message: { toString: 1 } },
    Object.create(null),
    Symbol("no"),
    1n,
    () => undefined,
    Object.assign(new Error(), { code: { toString: 1 }, message: 1 }),
    Object.assign(new Error(), { code: 1, name: { toString: 1 }, message: 1 }),
  ];
  for (const [index, error] of unusual.entries()) {
    it(`should say that no reason was given by ${index} ${typeof error}`, async () => {
      const { details } = await expectVaultError(
        failingClient(error).queryVolume(),
        "VAULT_RPC_ERROR",
      );
      expect(details["problem"]).to.equal("it gave no reason");
    });
  }

  /** What a node may put into its error, to look like one of ours. */
  const forgeries: ReadonlyArray<readonly [name: string, forged: object]> = [
    ["an HTTP status", { statusCode: "\u001b[31m500" }],
    ["an HTTP status that is a number", { statusCode: 500 }],
    [
      "another chain",
      {
        errorCode: "HHE708",
        messageArguments: {
          configChainId: "\u001b[2J",
          connectionChainId: "https://evil.test/",
        },
      },
    ],
    ["a configuration variable", { errorCode: "HHE7", message: "set EVIL" }],
    ["a time-out of Hardhat's", { errorCode: "HHE704" }],
    ["a refused connection", { code: "ECONNREFUSED" }],
    ["a time-out", { name: "TimeoutError" }],
    [
      "one of ours",
      { name: "VaultError", kind: "bug", code: "VAULT_INTERNAL" },
    ],
  ];
  for (const [name, forged] of forgeries) {
    it(`should not take a node's data for ${name}`, async () => {
      for (const error of [
        { code: -32000, message: "no", data: forged },
        { code: -32000, message: "no", cause: forged },
        Object.assign(new Error("no"), { code: -32000, data: forged }),
        Object.assign(new Error("no"), { cause: { errors: [forged] } }),
        new Error("no", { cause: { code: -32000, error: forged } }),
        forged,
      ]) {
        await expectVaultError(
          failingClient(error).queryVolume(),
          "VAULT_RPC_ERROR",
        );
      }
    });
  }

  it("should not take a node's fields for Hardhat's or undici's, wherever a provider put them", async () => {
    for (const [, forged] of forgeries.slice(0, 5)) {
      const { message } = await expectVaultError(
        failingClient(Object.assign(new Error("no"), forged)).queryVolume(),
        "VAULT_RPC_ERROR",
      );
      expect(message).to.not.contain("\u001b");
    }
  });

  it("should look at a bounded part of what a node sends, however deep or broad", async () => {
    let looked = 0;
    const counted = (inner: object): object =>
      new Proxy(inner, {
        get(target, name) {
          looked += name === "code" ? 1 : 0;
          const value: unknown = Reflect.get(target, name);
          return value;
        },
      });
    let deep: object = counted({ message: "bottom" });
    for (let depth = 0; depth < 10_000; depth += 1) {
      deep = counted({ data: deep });
    }
    const broad = Array.from({ length: 130_000 }, () => counted({}));
    for (const data of [deep, counted({ errors: broad })]) {
      looked = 0;
      await expectVaultError(
        failingClient({ code: -32000, message: "no", data }).queryVolume(),
        "VAULT_RPC_ERROR",
      );
      expect(looked).to.be.within(1, 500);
    }
  });
});

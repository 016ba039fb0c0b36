import { spawnSync } from "node:child_process";
import { setImmediate, setTimeout } from "node:timers/promises";

import { expect } from "chai";
import { concat, zeroPadValue } from "ethers";

import * as functions from "../../src/assert/index.js";
import "../../src/chai/index.js";
import { VaultClient } from "../../src/client/index.js";
import { encodeCall } from "../../src/client/codec.js";
import type { EncodedCall } from "../../src/client/codec.js";
import { asRecord } from "../../src/json.js";
import type { HardhatVault } from "../../src/types.js";
import { expectVaultError } from "../helpers/assertions.js";
import { connectTo } from "../helpers/hre.js";
import { failureOf as failed } from "../helpers/open-round.js";
import { codeIn, readSections } from "../helpers/reference-page.js";

const FORWARDER = "0x00000000000000000000000000000000000f0f0f";
/** Calls the address in the first word with the bytes after it. */
const FORWARDER_CODE = "0x602036038060206000376000600082600060006000355af100";

describe("calledVault, rejectedWithVaultError, and matchers that nobody calls or awaits", () => {
  let vault: HardhatVault;
  let setVolume: () => Promise<{ readonly hash: string }>;
  let callFromContract: (
    call: EncodedCall,
  ) => Promise<{ readonly hash: string }>;

  before(async () => {
    const connection = await connectTo(undefined);
    ({ vault } = connection);
    const { contracts, addresses } = await vault.deployMocks();
    const signer = await connection.ethers.provider.getSigner(0);
    const contract = contracts.vault.connect(signer);
    setVolume = async () => await contract.setVolume(1n);
    const { provider } = connection;
    await provider.request({
      method: "hardhat_setCode",
      params: [FORWARDER, FORWARDER_CODE],
    });
    callFromContract = async ({ role, data }) => {
      const to = zeroPadValue(addresses[role], 32);
      const call = { to: FORWARDER, data: concat([to, data]) };
      return await signer.sendTransaction(call);
    };
  });
  after(async () => {
    await vault.connection.close();
  });

  it("a VaultError that a matcher throws for its argument has the line of the test", async () => {
    const { stack } = await failureOf(
      // @ts-expect-error -- an integer
      expect(setVolume()).to.have.calledVault("getOrderInfo", ["7.5"]),
    );
    expect(stack).to.match(/^VaultError: orderID is not a whole number/u);
    expect(stack).to.match(/test\/assert\/calls-and-errors\.[jt]s:\d+:\d+/u);
  });

  it("calledVault finds the call that another contract made, by its arguments", async () => {
    const terms = { maxVolume: 5n, APY: 6n, endTime: 7n };
    const sent = await callFromContract(encodeCall("calMargins", [terms]));
    await expect(sent).to.have.calledVault("calMargins", [terms]);
    await expect(sent.hash).to.have.calledVault("calMargins", [terms], vault);
    await functions.callsVault(vault, sent.hash, "calMargins");
    await expect(sent).to.not.have.calledVault("settleAll");
    await expectFailures([
      [
        expect(sent).to.have.calledVault("settleAll"),
        /to call settleAll, but it did not call settleAll/u,
      ],
      [
        expect(sent).to.not.have.calledVault("calMargins"),
        /not to call calMargins, but it did:\n {2}calMargins/u,
      ],
    ]);
    const { message } = await failureOf(
      expect(sent).to.have.calledVault("calMargins", [
        { ...terms, endTime: 8n },
      ]),
    );
    const { address } = await vault.addressOf("vault");
    expect(message).to.equal(
      `expected transaction ${sent.hash} to call calMargins({ maxVolume: 5, APY: 6, endTime: 8 }), but it called:\n  calMargins({ maxVolume: 5, APY: 6, endTime: 7 }) of ${address.toLowerCase()}`,
    );
  });

  it("calledVault shows the arguments that a call lacks as missing", async () => {
    const call = encodeCall("getOrderInfo", [7n]);
    const data = call.data.slice(0, 10);
    const sent = await callFromContract({ ...call, data });
    const { message } = await failureOf(
      expect(sent).to.have.calledVault("getOrderInfo", [7n]),
    );
    expect(message).to.contain("\n  getOrderInfo(missing) of 0x");
  });

  it("calledVault tells the pools apart by the vault", async () => {
    const call = encodeCall("getLPAmountInfo", ["private"]);
    const { hash } = await callFromContract(call);
    const operation = "getLPAmountInfo";
    await expect(hash).to.have.calledVault(operation, ["private"], vault);
    await expect(hash).to.have.calledVault(operation, undefined, vault);
    await expect(hash).to.not.have.calledVault(operation, ["public"], vault);
  });

  it("calledVault refuses what it cannot check, with .not too", async () => {
    const sent = await setVolume();
    await expectFailures([
      [
        expect(sent.hash).to.not.have.calledVault("settleAll"),
        /does not have its provider/u,
      ],
      [
        expect(sent).to.not.have.calledVault("getLPAmountInfo", ["public"]),
        /two contracts have getLPAmountInfo/u,
      ],
      [
        // @ts-expect-error -- the wire's name
        expect(sent).to.not.have.calledVault("minSLDMargin"),
        /there is no operation 'minSLDMargin'/u,
      ],
      [
        // @ts-expect-error -- a list of one object
        expect(sent).to.not.have.calledVault("calMargins", { APY: 1n }),
        /a list of the arguments of calMargins is needed/u,
      ],
      [
        expect({ status: "nothing-to-do" }).to.have.calledVault("settleAll"),
        /but nothing was sent: the settlement had nothing to do/u,
      ],
    ]);
    const { provider } = vault.connection;
    const blind = new VaultClient(
      {
        request: async (call): Promise<unknown> =>
          await provider.request(
            call.method.startsWith("debug_")
              ? { method: "unknown\u001b[2J" }
              : call,
          ),
      },
      { vault: FORWARDER },
    );
    await expectFailures([
      [
        functions.callsVault(blind, sent, "settleAll"),
        /cannot trace transaction .* \(.*Method unknown\\u\{1b\}\[2J is not supported.*\)/u,
      ],
    ]);
  });

  it("calledVault throws the error of a node that cannot be reached", async () => {
    const { hash } = await setVolume();
    const { provider } = vault.connection;
    const lost = {
      request: async (call: { readonly method: string }): Promise<unknown> => {
        if (call.method.startsWith("debug_")) {
          throw Object.assign(new Error("lost"), { code: "ECONNREFUSED" });
        }
        return await provider.request(call);
      },
    };
    await expectVaultError(
      functions.callsVault(
        new VaultClient(lost, { vault: FORWARDER }),
        hash,
        "settleAll",
      ),
      "VAULT_NETWORK_UNREACHABLE",
    );
  });

  it("rejectedWithVaultError passes for the code and the details that a read throws", async () => {
    const mocks = await vault.deployMocks();
    await mocks.fail("queryVolume", "closed");
    const code = "VAULT_CALL_REVERTED";
    const read = async () => await vault.queryVolume();
    await expect(read()).to.be.rejectedWithVaultError(code);
    await expect(read).to.be.rejectedWithVaultError(code, {
      details: { reason: "closed" },
    });
    await expect(read()).to.not.be.rejectedWithVaultError("VAULT_NO_CODE");
    await functions.rejectsWithVaultError(read, code);
    await expectFailures([
      [
        expect(read()).to.be.rejectedWithVaultError("VAULT_NO_CODE"),
        /but it was VAULT_CALL_REVERTED: queryVolume reverted: closed/u,
      ],
      [
        expect(read()).to.be.rejectedWithVaultError(code, {
          details: { reason: "open", rason: "closed" },
        }),
        /details.reason is 'closed', not 'open'; details have no rason; they have/u,
      ],
      [
        expect(read()).to.be.rejectedWithVaultError(code, {
          details: { reason: "close" },
        }),
        /details.reason is 'closed', not 'close'$/u,
      ],
      [
        expect(vault.chainId()).to.be.rejectedWithVaultError(code),
        /but the promise was fulfilled/u,
      ],
      [
        expect(read()).to.not.be.rejectedWithVaultError(code),
        /expected no rejection/u,
      ],
    ]);
  });

  it("rejectsWithVaultError fails with the expected and the actual code and details", async () => {
    const code = "VAULT_INVALID_INTEGER";
    const details = { where: "elsewhere" };
    const failure = await failureOf(
      functions.rejectsWithVaultError(vault.getOrderInfo(-1n), code, {
        details,
      }),
    );
    expect(failure).to.have.deep.property("expected", { code, details });
    expect(failure).to.have.nested.include({
      "actual.code": code,
      "actual.details.where": "orderID",
    });
  });

  it("rejectedWithVaultError fails for another error, with .not too", async () => {
    const broken = async () => await Promise.reject(new TypeError("a bug"));
    for (const expected of [expect(broken).to.be, expect(broken).to.not.be]) {
      const { message } = await failureOf(
        expected.rejectedWithVaultError("VAULT_NO_CODE"),
      );
      expect(message).to.contain("TypeError: a bug");
    }
    for (const [expected, message] of [
      [new Map([["details", {}]]), /^an object with details is needed/u],
      [{ details: "closed" }, /^an object with the values of details/u],
    ] as const) {
      const { message: refusal } = await failed(
        expect(vault.getOrderInfo(-1n)).to.be.rejectedWithVaultError(
          "VAULT_INVALID_INTEGER",
          // @ts-expect-error -- details by their names
          expected,
        ),
      );
      expect(refusal).to.match(message);
    }
    await expectVaultError(async () => {
      await expect(broken).to.be.rejectedWithVaultError("VAULT_NO_CODE", {
        // @ts-expect-error -- a typo
        detail: { reason: "closed" },
      });
    }, "VAULT_INVALID_ARGUMENT");
    await expectFailures([
      [
        expect(1).to.not.be.rejectedWithVaultError("VAULT_NO_CODE"),
        /a promise, or a function that returns one, is needed, got 1/u,
      ],
      [
        // @ts-expect-error -- a typo
        expect(broken()).to.not.be.rejectedWithVaultError("VAULT_NO_COD"),
        /there is no error code 'VAULT_NO_COD'/u,
      ],
    ]);
  });

  it("a failure of hardhat-vault/assert can be sent as JSON", async () => {
    const failure = await failed(functions.roundSettled(vault));
    expect(failure).to.have.nested.property("expected.settled", true);
    expect(JSON.parse(JSON.stringify(failure))).to.have.nested.property(
      "actual.strikePrice",
      "65000000000000000000000",
    );
  });

  for (const isAwaited of [true, false]) {
    it(`a matcher that is named and not called fails, ${isAwaited ? "with" : "without"} await`, async () => {
      const thrown = await firstErrorOf(async () => {
        // eslint-disable-next-line @typescript-eslint/unbound-method -- it is not called
        const uncalled: unknown = expect(vault).to.have.settledRound;
        if (isAwaited) {
          await uncalled;
        }
      });
      const { message, stack } = asRecord(thrown);
      expect(message).to.equal(
        ".settledRound is a function: write .settledRound(), else nothing is checked",
      );
      expect(String(stack).split("\n")[1]).to.match(
        /test\/assert\/calls-and-errors\.[jt]s:\d+:\d+/u,
      );
    });
  }

  it("a matcher that fails and is not awaited throws where no test can miss it", async () => {
    const hash = `0x${"12".repeat(32)}`;
    const thrown = await firstErrorOf(() => {
      void expect(hash).to.settleRound(vault);
    });
    expect(String(thrown)).to.contain("is not known on the vault's network");
  });

  for (const misspell of [
    (chain: object): unknown => Reflect.get(chain, "withPrise"),
    (chain: object): unknown =>
      Reflect.get(Object(Reflect.get(chain, "and")), "withPrise"),
  ]) {
    it("a misspelt word after a matcher fails at once, and the matcher's failure no later test", async () => {
      const hash = `0x${"12".repeat(32)}`;
      let thrown: unknown;
      const later = await firstErrorOf(async () => {
        try {
          misspell(expect(hash).to.settleRound(vault));
        } catch (error) {
          thrown = error;
        }
        // It fails by then, since the node does not have the transaction.
        await failed(expect(hash).to.settleRound(vault));
      });
      expect(String(thrown)).to.contain("Invalid Chai property: withPrise");
      expect(later).to.equal(undefined);
    });
  }

  it("a matcher that nobody awaits fails a process that ends before its verdict", async () => {
    const matchers = new URL("../../src/chai/index.ts", import.meta.url).href;
    const script = `
      const { expect } = await import("chai");
      await import(${JSON.stringify(matchers)});
      expect(new Promise(() => {})).to.settleRound();
      expect(new Promise(() => {})).to.changeReadings();
      // It has its verdict.
      expect(async () => 1).to.not.be.rejectedWithVaultError("VAULT_NO_CODE");`;
    const options = [
      "--import",
      "tsx",
      "--input-type=module",
      "--eval",
      script,
    ];
    const { status, stderr } = spawnSync(process.execPath, options, {
      encoding: "utf8",
    });
    expect(stderr).to.equal(
      ["settleRound", "changeReadings"]
        .map(
          (name) =>
            `\nA test ended without awaiting .${name}(): write \`await expect(…)\`.\n`,
        )
        .join(""),
    );
    expect(status).to.equal(1);
  });

  it("a matcher that follows one that fails leaves no rejected promise", async () => {
    const { message } = await failed(
      // @ts-expect-error -- a vault is asserted
      expect(1).to.settleRound(undefined).and.to.changeReadings(undefined),
    );
    expect(message).to.contain("cannot be chained after settleRound");
    // Node.js reports a rejection without a handler at the end of a turn.
    await setImmediate();
  });

  it("docs/reference-assertions.md has every message of calledVault and rejectedWithVaultError, and no other", async () => {
    const documented = (await readSections("reference-assertions"))
      .filter(({ heading }) => /^(called|rejectedWith)Vault/u.test(heading))
      .flatMap(({ rows }) => rows.map(([cell]) => String(codeIn(cell)[0])))
      .filter((message) => /^[^{].* /u.test(message))
      .map((message) => message.split("…").map((part) => part.trim()));
    expect(
      documented.filter(
        (parts) => ![...seen].some((message) => hasInOrder(message, parts)),
      ),
    ).to.deep.equal([]);
    for (const message of seen) {
      expect(
        documented.filter((parts) => hasInOrder(message, parts)),
        message,
      ).to.have.length(1);
    }
  });
});

/** Whether a text begins and ends with these parts, with the others between. */
function hasInOrder(text: string, parts: readonly string[]): boolean {
  const escaped = parts.map((part) =>
    part.replaceAll(/[.*+?^${}()|[\]\\]/gu, "\\$&"),
  );
  return new RegExp(`^${escaped.join("[^]*")}$`, "u").test(text);
}

async function expectFailures(
  assertions: ReadonlyArray<readonly [PromiseLike<unknown>, RegExp]>,
): Promise<void> {
  const failures = await Promise.all(
    assertions.map(async ([assertion, wanted]) => ({
      wanted,
      failure: await failureOf(assertion, wanted),
    })),
  );
  for (const { failure, wanted } of failures) {
    expect(failure.message).to.match(wanted);
  }
}

/** The error that a test throws, or that nobody catches within two seconds. */
async function firstErrorOf(test: () => unknown): Promise<unknown> {
  const event = "uncaughtException";
  const listeners = process.listeners(event);
  process.removeAllListeners(event);
  try {
    return await Promise.race([
      new Promise((resolve) => {
        process.once(event, resolve);
      }),
      Promise.resolve()
        .then(test)
        .then(
          async () => await setTimeout(2_000),
          (error: unknown) => error,
        ),
    ]);
  } finally {
    process.removeAllListeners(event);
    for (const listener of listeners) {
      process.on(event, listener);
    }
  }
}

/** The messages of all failures of these tests. */
const seen = new Set<string>();

/** What an assertion throws, which is then among the messages. */
async function failureOf(
  assertion: PromiseLike<unknown>,
  wanted?: RegExp,
): Promise<Error> {
  const failure = await failed(assertion, wanted);
  if (failure.name === "AssertionError") {
    seen.add(failure.message);
  }
  return failure;
}

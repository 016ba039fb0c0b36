import { expect } from "chai";
import pLimit from "p-limit";

import { VaultClient, VaultError } from "../../src/client/index.js";
import { toJsonValue } from "../../src/json.js";
import type { ContractRole } from "../../src/types.js";
import { useAnvil } from "../helpers/anvil.js";
import { callMethod } from "../helpers/call-method.js";
import { distinctState, expectedReads } from "../helpers/distinct-state.js";
import {
  keysOf,
  readFaultKinds,
  startFaultyRpcServer,
} from "../helpers/faulty-rpc-server.js";
import type { FaultKind } from "../helpers/faulty-rpc-server.js";
import { connectTo } from "../helpers/hre.js";
import { isFull, sample, seed } from "../helpers/sample.js";

type Read = (client: VaultClient, timeout?: number) => Promise<unknown>;

/** The reads of the API. */
const reads: ReadonlyArray<readonly [name: string, read: Read]> = [
  ...expectedReads.map(({ operation, args }): readonly [string, Read] => [
    operation,
    async (client, timeout) =>
      await callMethod(client, operation, ...args, { timeout }),
  ]),
  ["snapshot", async (client, timeout) => await client.snapshot({ timeout })],
  [
    "orders",
    async (client, timeout) =>
      await Array.fromAsync(client.orders({ firstId: 1, lastId: 3, timeout })),
  ],
  [
    "rounds",
    async (client, timeout) =>
      await Array.fromAsync(client.rounds({ timeout })),
  ],
];
/** Cases at a time, each on a connection of its own. */
const LANES = 8;
/** How long Hardhat waits for an answer: longer than a busy machine takes. */
const PATIENT_MS = 60_000;
/** The same if the fault is a late answer, and how long that takes. */
const [HASTY_MS, LATE_MS] = [2_000, 2_200];
/** Of a read whose node asks for more patience than a test has. */
const SHORT_MS = 1_000;

/**
 * The errors that a read may end with after a fault, unless there is another way to
 * the same value. After all other faults, it is retried, and right.
 */
const outcomes: Readonly<Partial<Record<FaultKind, readonly string[]>>> = {
  // Hardhat waits a second by itself, or we as long as we are told to.
  "429 without Retry-After": ["VAULT_RPC_TIMEOUT", "VAULT_NETWORK_UNREACHABLE"],
  "429 with a long Retry-After": [
    "VAULT_RPC_TIMEOUT",
    "VAULT_NETWORK_UNREACHABLE",
  ],
  "delay past the timeout": ["VAULT_RPC_TIMEOUT"],
  // Retried only if the block was there before.
  "header not found": ["VAULT_RPC_ERROR"],
  "JSON-RPC refusal": ["VAULT_RPC_ERROR"],
  "no result": ["VAULT_RPC_INVALID_RESPONSE", "VAULT_BLOCK_NOT_FOUND"],
  "huge answer": ["VAULT_RPC_INVALID_RESPONSE", "VAULT_RETURN_DATA_MALFORMED"],
};

describe("reads under faults", () => {
  const anvil = useAnvil();
  let contracts: Readonly<Record<ContractRole, string>>;

  before(async () => {
    const { vault } = await connectTo(anvil.url);
    ({ addresses: contracts } = await vault.deployMocks({
      scenario: "expired-round",
      overrides: { orders: distinctState.orders },
    }));
  });

  /** What is wrong with the outcomes of a read after a fault in one of its requests. */
  const problemsOf = async (
    name: string,
    read: Read,
    kind: FaultKind,
  ): Promise<readonly string[]> => {
    const server = await startFaultyRpcServer(anvil.url, LATE_MS);
    const isLate = kind === "delay past the timeout";
    const { provider } = await connectTo(server.url, {
      timeout: isLate ? HASTY_MS : PATIENT_MS,
    });
    const outcomeOf = async (timeout?: number): Promise<string> => {
      // A new client: nothing is known of its node yet.
      const client = new VaultClient(provider, contracts);
      try {
        return inspect(await read(client, timeout));
      } catch (error) {
        return VaultError.isVaultError(error) ? error.code : String(error);
      } finally {
        await server.idle();
      }
    };
    const right = await outcomeOf();
    const requests = keysOf(server);
    const one = (seed + readFaultKinds.indexOf(kind)) % requests.length;
    const problems: string[] = [];
    for (const key of isFull ? requests : requests.slice(one, one + 1)) {
      server.reset();
      server.inject({ ...key, kind });
      const isSlow = /^429 with(?:out| a long)/u.test(kind);
      const outcome = await outcomeOf(isSlow ? SHORT_MS : undefined);
      const allowed = outcomes[kind];
      const isRight = outcome === right || allowed?.includes(outcome) === true;
      const isHit = server.unused.length === 0;
      const isRetried =
        allowed !== undefined || server.requests.length > requests.length;
      // A busy machine may not get to the fault in a short time.
      if (!isRight || !isRetried || !(isHit || isSlow)) {
        const what = `${name}, ${kind} at ${inspect(key)}`;
        problems.push(`${what}: ${outcome}, ${inspect({ isRetried, isHit })}`);
      }
    }
    await server.stop();
    return problems;
  };

  it("every read of the API returns the right value, or throws the code of the fault", async () => {
    const all = reads.flatMap(([name, read]) =>
      readFaultKinds.map((kind) => [name, read, kind] as const),
    );
    const problems = await pLimit(LANES).map(
      sample(all, 50),
      async (one) => await problemsOf(...one),
    );
    expect(problems.flat().join("\n")).to.equal("");
  });
});

const inspect = (value: unknown): string =>
  JSON.stringify(toJsonValue(value, ({ code }) => code));

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";

import { expect } from "chai";
import type { HardhatRuntimeEnvironment } from "hardhat/types/hre";

import { VaultClient } from "../../src/client/index.js";
import { VaultError } from "../../src/errors.js";
import {
  operationEntry,
  readOperationNames,
} from "../../src/protocol/index.js";
import type { ContractRole, Field } from "../../src/protocol/index.js";
import { startAnvil } from "../helpers/anvil.js";
import type { ServerProcess } from "../helpers/child-process.js";
import type { CommandResult } from "../helpers/cli.js";
import { collectAll } from "../helpers/collect.js";
import { distinctState } from "../helpers/distinct-state.js";
import {
  readFaultKinds,
  startFaultyRpcServer,
} from "../helpers/faulty-rpc-server.js";
import type {
  FaultKind,
  FaultyRpcServer,
  RequestKey,
} from "../helpers/faulty-rpc-server.js";
import { callsOf } from "../helpers/fuzz-subjects.js";
import { fieldsOf } from "../helpers/fields.js";
import { createTestHre, httpNetwork } from "../helpers/hre.js";
import { startRpcServer } from "../helpers/rpc-server.js";
import { parseDocument, runVaultTask } from "../helpers/run-vault-task.js";

/** `READ_FAULTS=all` for every task × every fault × every request. */
const isWhole = process.env["READ_FAULTS"] === "all";

/** How long Hardhat waits for an answer, and how long a late one takes. */
const REQUEST_TIMEOUT = 2_000;
const LATE = 2_200;
/** Of an operation whose node asks for more patience than a test has. */
const SHORT = 0.3;

/** Requests that a node with a limit takes. */
const MOST_A_SECOND = 5;

const LANES = 8;

/**
 * What becomes of a read that meets a fault once. `again`: it is asked once
 * more, and right. Else the error that it may end with, unless there is another
 * way to the same value.
 */
const outcomes: Readonly<
  Record<FaultKind, "again" | "as it is" | readonly string[]>
> = {
  "drop before forwarding": "again",
  "drop after forwarding": "again",
  "delay past the timeout": "again",
  "429 with Retry-After": "again",
  "500": "again",
  "502 after forwarding": "again",
  "non-JSON body": "again",
  "truncated JSON": "again",
  "JSON-RPC error": "again",
  "JSON-RPC error after forwarding": "again",
  "empty body": "again",
  "a list of answers": "again",
  // Hardhat's provider has one request a connection, and looks at no id.
  "wrong id": "as it is",
  // Hardhat waits a second by itself, or we as long as we are told to.
  "429 without Retry-After": ["VAULT_RPC_TIMEOUT"],
  "429 with a long Retry-After": [
    "VAULT_RPC_TIMEOUT",
    "VAULT_NETWORK_UNREACHABLE",
  ],
  // Asked again only where the block was there before.
  "header not found": ["VAULT_RPC_ERROR"],
  "JSON-RPC refusal": ["VAULT_RPC_ERROR"],
  "no result": ["VAULT_RPC_INVALID_RESPONSE", "VAULT_BLOCK_NOT_FOUND"],
  "huge answer": [
    "VAULT_RPC_INVALID_RESPONSE",
    "VAULT_RETURN_DATA_MALFORMED",
    "VAULT_RETURN_DATA_TOO_SHORT",
  ],
};

const isSlow = (kind: FaultKind): boolean =>
  kind === "429 without Retry-After" || kind === "429 with a long Retry-After";

/** What a read came to: its value, or the code of its error. */
type Outcome = { readonly value: unknown } | { readonly code: string };

/** A read by the API. */
interface Read {
  readonly name: string;
  readonly run: (client: VaultClient, timeout?: number) => Promise<unknown>;
}

const reads: readonly Read[] = [
  ...readOperationNames.flatMap((name) =>
    callsOf(name).map(({ role, args }) => ({
      name: `${name} of ${role}`,
      run: async (client: VaultClient, timeout?: number): Promise<unknown> => {
        const method: unknown = Reflect.get(client, name);
        return typeof method === "function"
          ? await Reflect.apply(method, client, [...args, { timeout }])
          : undefined;
      },
    })),
  ),
  {
    name: "snapshot",
    run: async (client, timeout) => await client.snapshot({ timeout }),
  },
  {
    name: "orders",
    run: async (client, timeout) =>
      await collectAll(client.orders({ firstId: 1, lastId: 3, timeout })),
  },
  {
    name: "rounds",
    run: async (client, timeout) =>
      await collectAll(client.rounds({ timeout })),
  },
];

/** Read tasks with the arguments that they need. */
const tasks: ReadonlyArray<
  readonly [task: string, args: Readonly<Record<string, string>>]
> = [
  ...readOperationNames.map((name) => {
    const { task, inputs } = operationEntry(name);
    return [
      task,
      Object.fromEntries(
        inputs
          .filter(({ unit }) => unit !== "contractType")
          .map((field: Field) => [
            field.option ?? field.name,
            field.unit === "timestamp" ? "+7d" : "1",
          ]),
      ),
    ] as const;
  }),
  ["status", {}],
  ["orders", { ids: "1-3" }],
  ["rounds", {}],
];

describe("reads under faults", function () {
  this.timeout(isWhole ? 1_800_000 : 120_000);

  let anvil: ServerProcess;
  let contracts: Readonly<Record<ContractRole, string>>;
  /** For `--at`: contracts with a round to settle. */
  let openRound: string;
  const servers: FaultyRpcServer[] = [];
  let folder: string;

  before(async () => {
    folder = await mkdtemp(path.join(tmpdir(), "hardhat-vault-faults-"));
    anvil = await startAnvil();
    const hre = await createTestHre({
      networks: { anvil: httpNetwork(anvil.url) },
    });
    const { vault } = await hre.network.create("anvil");
    openRound = Object.entries((await vault.deployMocks()).addresses)
      .map(([role, address]) => `${role}=${address}`)
      .join();
    const [order] = Object.values(distinctState.orders ?? {});
    ({ addresses: contracts } = await vault.deployMocks({
      overrides: {
        ...distinctState,
        orders: { 1: order ?? {}, 2: { ...order }, 3: { ...order } },
      },
    }));
  });
  after(async () => {
    await Promise.all(servers.map(async (server) => await server.stop()));
    await anvil.stop();
    await rm(folder, { recursive: true, force: true });
  });

  const open = async (
    url?: string,
  ): Promise<{
    server: FaultyRpcServer;
    hre: HardhatRuntimeEnvironment;
  }> => {
    const server = await startFaultyRpcServer({
      upstream: anvil.url,
      delay: LATE,
    });
    servers.push(server);
    const hre = await createTestHre(
      {
        networks: {
          live: httpNetwork(url ?? server.url, {
            timeout: REQUEST_TIMEOUT,
            vault: { contracts, tokenDecimals: 18 },
          }),
        },
      },
      { network: "live" },
    );
    return { server, hre };
  };

  it("should be right, or say what is wrong: every operation", async () => {
    const queue = reads.flatMap((read) =>
      readFaultKinds.map((kind) => ({ read, kind })),
    );
    const failures: string[] = [];
    let cases = 0;
    await Promise.all(
      Array.from({ length: LANES }, async () => {
        const { server, hre } = await open();
        const { provider } = await hre.network.create("live");
        const asked: Array<Promise<unknown>> = [];
        for (let one = queue.shift(); one !== undefined; one = queue.shift()) {
          const { read, kind } = one;
          const run = async (timeout?: number): Promise<Outcome> => {
            // A provider of its own: nothing is known of its node yet.
            const client = new VaultClient(
              {
                request: async ({ method, params = [] }): Promise<unknown> => {
                  const answer = provider.request({
                    method,
                    params: [...params],
                  });
                  asked.push(answer);
                  return await answer;
                },
              },
              contracts,
            );
            try {
              return { value: await read.run(client, timeout) };
            } catch (error) {
              return {
                code: VaultError.isVaultError(error)
                  ? error.code
                  : String(error),
              };
            } finally {
              // What was given up at a deadline may not have arrived yet, and
              // would meet the fault of the next case.
              await Promise.allSettled(asked.splice(0));
            }
          };
          const tried = await tryFault(server, read.name, kind, run, failures);
          cases += tried;
        }
      }),
    );
    report("operations", cases, failures);
  });

  it("should be right where the node limits how often it is asked: every task", async () => {
    const server = await startRpcServer({ upstream: anvil.url });
    const { hre } = await open(server.url);
    let [asked, refused, second, inSecond] = [0, 0, 0, 0];
    for (const [task, args] of tasks) {
      server.handler = () => undefined;
      const right = await runVaultTask(hre, task, { ...args, json: true });
      server.handler = ({ response }) => {
        asked += 1;
        const now = Math.floor(performance.now() / 1_000);
        [second, inSecond] = now === second ? [second, inSecond + 1] : [now, 1];
        // By the clock, or so that it takes no time.
        if (isWhole ? inSecond <= MOST_A_SECOND : asked % 3 === 0) {
          return undefined;
        }
        refused += 1;
        response.writeHead(429, isWhole ? {} : { "retry-after": "0" }).end();
        return "handled";
      };
      const limited = await runVaultTask(hre, task, { ...args, json: true });
      expect(limited, task).to.deep.equal(right);
    }
    process.stdout.write(
      `    tasks at a limit: ${tasks.length}, ${refused} of ${asked} requests refused\n`,
    );
    expect(refused).to.be.above(tasks.length);
    await server.stop();
  });

  it("should rehearse, capture and examine where every request fails once", async () => {
    const server = await startRpcServer({ upstream: anvil.url });
    const { hre } = await open(server.url);
    const out = path.join(folder, "capture.json");
    const runs = [
      ["simulate", { at: openRound }],
      ["simulate", { fork: true, at: openRound }],
      ["rehearse", { samples: "1" }],
      ["capture", { out, orders: "2,99" }],
      ["simulate", { block: "latest" }],
      ["doctor", {}],
    ] as const;
    for (const [task, args] of runs) {
      server.handler = () => undefined;
      const right = await runVaultTask(hre, task, { ...args, json: true });
      const failed = new Set<string>();
      server.handler = ({ request, response }) => {
        const key = JSON.stringify([request.method, request.params]);
        if (
          failed.has(key) ||
          // Of what the simulator asks, which waits a second, only the first.
          ("fork" in args &&
            (failed.size > 0 || request.method !== "eth_getStorageAt"))
        ) {
          return undefined;
        }
        failed.add(key);
        response.writeHead(503).end();
        return "handled";
      };
      const result = await runVaultTask(hre, task, { ...args, json: true });
      expect(failed.size).to.be.above(0);
      expect(withoutTimes(result), task).to.deep.equal(withoutTimes(right));
      expect(result.stdout.includes("HTTP status 503"), task).to.equal(
        task === "doctor",
      );
    }
    await server.stop();
  });

  it("should end at the deadline, whatever hangs: simulate, rehearse, capture and doctor", async () => {
    const server = await startRpcServer({ upstream: anvil.url });
    const { hre } = await open(server.url);
    const out = path.join(folder, "late.json");
    const runs = [
      ["simulate", {}, "eth_simulateV1"],
      // What the simulator fetches by itself.
      ["simulate", { fork: true, at: openRound }, "eth_getStorageAt"],
      ["rehearse", { samples: "1" }, "eth_simulateV1"],
      ["capture", { out }, "eth_call"],
    ] as const;
    for (const [task, args, hangs] of runs) {
      server.handler = ({ request: { method } }) =>
        method === hangs ? "handled" : undefined;
      const result = await runVaultTask(hre, task, {
        ...args,
        json: true,
        timeout: "0.5",
      });
      expect(parseDocument(result), task).to.have.nested.property(
        "error.code",
        "VAULT_RPC_TIMEOUT",
      );
    }
    server.handler = ({ request: { method } }) =>
      method === "eth_call" ? "handled" : undefined;
    const examined = await runVaultTask(hre, "doctor", {
      json: true,
      timeout: "0.5",
    });
    expect(examined.exitCode).to.equal(1);
    expect(examined.stdout).to.include("did not answer");
    await server.stop();
  });

  it("should be right, or say what is wrong: every task", async () => {
    const { server, hre } = await open();
    const failures: string[] = [];
    let [cases, number] = [0, 0];
    for (const [task, args] of tasks) {
      for (const kind of readFaultKinds) {
        number += 1;
        // A quarter of them, every fault and every task among them.
        if (!isWhole && number % 4 !== 0) {
          continue;
        }
        const run = async (timeout?: number): Promise<Outcome> => {
          const result = await runVaultTask(hre, task, {
            ...args,
            json: true,
            ...(timeout === undefined
              ? {}
              : { timeout: String(timeout / 1_000) }),
          });
          const document = parseDocument(result);
          const error: unknown = Reflect.get(Object(document), "error");
          return error === undefined
            ? { value: document }
            : { code: String(Reflect.get(Object(error), "code")) };
        };
        cases += await tryFault(server, `vault ${task}`, kind, run, failures);
      }
    }
    report("tasks", cases, failures);
  });
});

/** Without clocks, and that requests were made again. */
function withoutTimes(result: CommandResult): unknown {
  const document: unknown = JSON.parse(
    JSON.stringify(parseDocument(result), (key, value: unknown) =>
      key === "timestamp" ? undefined : value,
    ),
  );
  const checks: unknown = Reflect.get(Object(document), "checks");
  return Array.isArray(checks)
    ? checks.flatMap((check: unknown) => {
        const { name, status } = fieldsOf(check);
        return name === "requests" ? [] : [`${String(status)} ${String(name)}`];
      })
    : document;
}

interface Learned {
  readonly right: Outcome;
  readonly requests: readonly RequestKey[];
}

const learned = new Map<string, Learned>();

/** What a read comes to, and what it asks, where nothing goes wrong. */
async function learn(
  server: FaultyRpcServer,
  name: string,
  run: () => Promise<Outcome>,
): Promise<Learned> {
  let known = learned.get(name);
  if (known === undefined) {
    const runs: Learned[] = [];
    for (let times = 0; times < 3; ++times) {
      await server.idle();
      server.reset();
      const right = await run();
      runs.push({ right, requests: keysOf(server) });
    }
    // A busy machine may have lost a request and asked again.
    known = runs.reduce((least, other) =>
      other.requests.length < least.requests.length ? other : least,
    );
    learned.set(name, known);
  }
  return known;
}

/** Whether the very request that failed was made once more. */
function isAskedAgain(
  { requests }: FaultyRpcServer,
  { method, occurrence }: RequestKey,
): boolean {
  const same = requests.filter((request) => request.method === method);
  const params = inspect(same[occurrence]?.params);
  return same
    .slice(occurrence + 1)
    .some((request) => inspect(request.params) === params);
}

/** Whatever request it is that fails; how many cases that were. */
async function tryFault(
  server: FaultyRpcServer,
  name: string,
  kind: FaultKind,
  run: (timeout?: number) => Promise<Outcome>,
  failures: string[],
): Promise<number> {
  const { right, requests } = await learn(server, name, run);
  const keys = isWhole ? requests : someOf(requests, kind);
  if (keys.length === 0) {
    failures.push(`${name}: nothing was asked`);
  }
  for (const key of keys) {
    await server.idle();
    server.reset();
    server.inject({ ...key, kind });
    const waiting = server.unused.join();
    const outcome = await run(isSlow(kind) ? SHORT * 1_000 : undefined);
    const expected = outcomes[kind];
    const isRight = "value" in outcome && inspect(outcome) === inspect(right);
    const problem = hasNotFired(waiting, server)
      ? "the fault did not happen"
      : typeof expected === "string"
        ? !isRight
          ? inspect(outcome)
          : expected === "again" && !isAskedAgain(server, key)
            ? "it was not asked again"
            : undefined
        : isRight || ("code" in outcome && expected.includes(outcome.code))
          ? undefined
          : inspect(outcome);
    if (problem !== undefined) {
      failures.push(`${name}, ${kind} at ${inspect(key)}: ${problem}`);
    }
  }
  return keys.length;
}

/** @param waiting What was injected, before the read. */
function hasNotFired(waiting: string, { unused }: FaultyRpcServer): boolean {
  return waiting === "" || unused.length > 0;
}

/** The first request, or the last, so that all are met in turn. */
function someOf(
  requests: readonly RequestKey[],
  kind: FaultKind,
): readonly RequestKey[] {
  const index = readFaultKinds.indexOf(kind) % Math.min(3, requests.length);
  return requests.slice(index, index + 1);
}

function keysOf({ requests }: FaultyRpcServer): readonly RequestKey[] {
  const counts = new Map<string, number>();
  return requests.map(({ method }) => {
    const occurrence = counts.get(method) ?? 0;
    counts.set(method, occurrence + 1);
    return { method, occurrence };
  });
}

function report(
  what: string,
  cases: number,
  failures: readonly string[],
): void {
  process.stdout.write(
    `    ${what} × faults: ${cases} cases, ${failures.length} wrong\n`,
  );
  expect(failures.join("\n")).to.equal("");
  expect(cases).to.be.above(50);
}

function inspect(value: unknown): string {
  return JSON.stringify(value, (_key, inner: unknown) =>
    typeof inner === "bigint"
      ? `${inner}n`
      : VaultError.isVaultError(inner)
        ? inner.code
        : inner,
  ).slice(0, 5_000);
}

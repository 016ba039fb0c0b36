import { numberToHexString } from "@nomicfoundation/hardhat-utils/hex";
import { ZeroAddress, isHexString } from "ethers";

import { isLensSupported } from "../client/lens/lens.js";
import { otherwise } from "../errors.js";
import type { VaultHost } from "../host.js";
import { listOf } from "../json.js";
import { readingAt } from "../protocol/index.js";
import type { BlockInfo, Chain } from "../rpc/node.js";
import type { RetryEvent } from "../rpc/patient.js";
import { check, failed, fail, ok, quote, warn } from "./examination.js";
import type { Check, Finding } from "./examination.js";

/** Chain ids of development nodes, whose clocks and settings are their own. */
const DEVELOPMENT_CHAIN_IDS: ReadonlySet<number> = new Set([1337, 31337]);

const MAX_LATENCY_MS = 500;
const MAX_HEAD_AGE_SECONDS = 300;
/** How far back a node of which nothing is known may have old state. */
const DEPTHS = [128, 10_000, 1_000_000] as const;
/** What the largest chunk of orders and a rehearsal can use. */
const AMPLE_GAS = 25_000_000n;
/** Returns how much gas it was given. */
const RETURNS_GAS = "0x5a60005260206000f3";
const PROBE = "0x00000000000000000000000000000000000A11cE";

/** What is known of a network that answers. */
export interface ReachableNode {
  readonly chainId: number;
  readonly block: BlockInfo;
}

/** Looks whether a network answers, and how fast. */
export async function examineReachability(
  { chain }: VaultHost,
  now: () => number = () => performance.now(),
): Promise<{ readonly check: Check; readonly node?: ReachableNode }> {
  const name = "network";
  try {
    const chainId = await chain.chainId();
    const latencies: number[] = [];
    for (let count = 0; count < 3; ++count) {
      const start = now();
      await chain.chainId();
      latencies.push(now() - start);
    }
    const block = await chain.block("latest");
    const latency = Math.round(latencies.toSorted((a, b) => a - b)[1] ?? 0);
    const detail = `answers in ${latency} ms`;
    const finding =
      latency > MAX_LATENCY_MS
        ? warn(detail, "Choose a node that is nearer or less busy.")
        : ok(detail);
    return { node: { chainId, block }, check: { name, ...finding } };
  } catch (error) {
    return { check: failed(name, error) };
  }
}

/** Tells of requests that were answered only when they were made again. */
export function examineRetries(
  repeated: readonly RetryEvent[],
): readonly Check[] {
  const problems = [...new Set(repeated.map(({ problem }) => problem))];
  return repeated.length === 0
    ? []
    : [
        {
          name: "requests",
          ...warn(
            `failed ${repeated.length} times and were made again: ${problems.slice(0, 3).join(" ")}`,
            "Nothing to do where that is rare; else choose a node that is nearer or less busy.",
          ),
        },
      ];
}

/** Looks at what a node is and can do, as far as this package uses it. */
export async function examineNode(
  vault: VaultHost,
  node: ReachableNode,
  clock: () => number = Date.now,
): Promise<readonly Check[]> {
  const { chain } = vault;
  const looks: Readonly<Record<string, () => Finding | Promise<Finding>>> = {
    "chain id": () => examineChainId(vault, node.chainId),
    client: async () => await examineClient(chain),
    head: async () => await examineHead(chain, node, clock),
    "old state": async () => await examineOldState(chain, node.block.number),
    "state overrides": async () => await examineOverrides(vault),
    eth_simulateV1: async () => await examineSimulate(chain, node.block),
    "gas of calls": async () => await examineGasCap(chain),
  };
  return await Promise.all(
    Object.entries(looks).map(
      async ([name, look]) => await check(name, look, "warn"),
    ),
  );
}

function examineChainId(
  { connection: { networkConfig, networkName } }: VaultHost,
  actual: number,
): Finding {
  const { chainId: configured, type } = networkConfig;
  if (configured === undefined) {
    return type === "http" && !DEVELOPMENT_CHAIN_IDS.has(actual)
      ? warn(
          `${actual}; none is configured`,
          `Set networks.${networkName}.chainId to it, so that a URL of another chain is refused.`,
        )
      : ok(String(actual));
  }
  return configured === actual
    ? ok(`${actual}, as configured`)
    : fail(
        `${actual}, but ${configured} is configured`,
        `Correct networks.${networkName}.chainId or the URL.`,
      );
}

async function examineClient(chain: Chain): Promise<Finding> {
  const version = await chain.request("web3_clientVersion", []);
  return typeof version === "string"
    ? ok(quote(version))
    : warn(
        "answers something else than a text",
        "Nothing to do, if the rest is well.",
      );
}

async function examineHead(
  chain: Chain,
  { chainId, block }: ReachableNode,
  clock: () => number,
): Promise<Finding> {
  const age = Math.round(clock() / 1_000) - block.timestamp;
  const detail = `block ${block.number}, ${Math.abs(age)} s ${age < 0 ? "ahead of this machine's clock" : "old"}`;
  if (DEVELOPMENT_CHAIN_IDS.has(chainId)) {
    return ok(detail);
  }
  // Hosted nodes often do not tell; the age does.
  const syncing = await chain.request("eth_syncing", []).catch(() => false);
  if (syncing !== false) {
    return warn(
      `${detail}; the node is still synchronising`,
      "Wait until it has caught up, or use another node.",
    );
  }
  return Math.abs(age) > MAX_HEAD_AGE_SECONDS
    ? warn(
        detail,
        "Check that the node follows its chain, and this machine's clock.",
      )
    : ok(detail);
}

async function examineOldState(chain: Chain, head: number): Promise<Finding> {
  const hasState = async (block: number): Promise<boolean> =>
    await chain.balance(ZeroAddress, block).then(() => true, otherwise(false));
  // The chain's first block is often kept apart; the one after it is not.
  if (await hasState(Math.min(1, head))) {
    return ok("of all blocks");
  }
  let reach = "not even 128 blocks back";
  for (const depth of DEPTHS) {
    if (head < depth || !(await hasState(head - depth))) {
      break;
    }
    reach = `${depth} blocks back and more, but not of all`;
  }
  return warn(
    reach,
    "Reading the present needs none. `vault rounds` and other looks at the past need an archive node.",
  );
}

async function examineOverrides(vault: VaultHost): Promise<Finding> {
  const context = vault.readContext({ from: ZeroAddress });
  return (await isLensSupported(context))
    ? ok("applied: many readings in one request")
    : warn(
        "refused",
        "All works without them, with one request for each reading and order; another node is faster.",
      );
}

async function examineSimulate(
  chain: Chain,
  head: BlockInfo,
): Promise<Finding> {
  const missing = (problem: string): Finding =>
    warn(
      problem,
      "A settlement is rehearsed another way, without transfers or with more requests.",
    );
  const wanted = [head.number + 1, head.timestamp + 1] as const;
  const [number, time] = wanted.map(numberToHexString);
  const answer = await chain
    .request("eth_simulateV1", [
      {
        blockStateCalls: [
          {
            blockOverrides: { number, time },
            calls: [{ from: ZeroAddress, to: PROBE, data: "0x" }],
          },
        ],
      },
      numberToHexString(head.number),
    ])
    .catch(otherwise(undefined));
  if (answer === undefined) {
    return missing("not there");
  }
  const found = ["number", "timestamp"].map((key) =>
    quantityOf(readingAt(listOf(answer), ["0", key])),
  );
  // Some nodes execute it in another block than they were asked to.
  return found.every((value, index) => value === wanted[index])
    ? ok("there")
    : missing("answers, but for another block than it was asked for");
}

function quantityOf(value: unknown): number {
  return typeof value === "string" ? Number(value) : NaN;
}

async function examineGasCap(chain: Chain): Promise<Finding> {
  const answer = await chain.request("eth_call", [
    { from: ZeroAddress, to: PROBE, data: "0x" },
    "latest",
    { [PROBE]: { code: RETURNS_GAS } },
  ]);
  if (!isHexString(answer, 32)) {
    return warn(
      "unknown, since overrides are not applied",
      "Nothing to do; requests adapt to what is refused.",
    );
  }
  const gas = BigInt(answer);
  const detail = `${gas.toLocaleString("en")} at most`;
  return gas < AMPLE_GAS
    ? warn(
        detail,
        "Ranges of orders are read in smaller pieces; a settlement that needs more cannot be rehearsed here.",
      )
    : ok(detail);
}

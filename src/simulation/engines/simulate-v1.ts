import { Buffer } from "node:buffer";

import { isHexString } from "ethers";
import { numberToHexString } from "@nomicfoundation/hardhat-utils/hex";

import { NOBODYS_ADDRESS, parseFacts } from "../../client/lens/facts.js";
import { lensCode } from "../../client/lens/lens.js";
import type { ReadCall } from "../../client/lens/lens.js";
import { fallbackTo } from "../../errors.js";
import type { VaultError } from "../../errors.js";
import type { VaultHost } from "../../host.js";
import { asRecord } from "../../json.js";
import { getBalance } from "../../rpc/accounts.js";
import { toBlockId } from "../../rpc/block-id.js";
import type { Block, BlockInfo } from "../../rpc/blocks.js";
import type { CallResult } from "../../rpc/calls.js";
import { isRefusal } from "../../rpc/errors.js";
import { requireSameBranch } from "../../rpc/pinned-block.js";
import { ResponseParser } from "../../rpc/response-parser.js";
import { fewRetries } from "../../rpc/retry.js";
import { decodeRevertReason, invalidOpcode } from "../../rpc/revert-reason.js";
import type { RpcClient } from "../../rpc/rpc-client.js";
import { usesAllGas } from "../../guard/outcome.js";
import {
  INTRINSIC_GAS,
  isCalledOnly,
  settlementCall,
} from "../../guard/call.js";
import { accountIn, readsOf } from "../watch-list.js";
import { gainOf, transfersIn } from "../tokens.js";
import type { Transfer } from "../types.js";
import { beforeRefunds, isOutOfGas } from "./engine.js";
import type { Attempt, Run, Unavailable, Watched } from "./engine.js";

const METHOD = "eth_simulateV1";

/** A node may give a read less: Geth shares 50,000,000 gas among all calls of a request. */
const READ_GAS = 10_000_000n;

/** Error texts of nodes that lack the method or do not allow it. */
const missingMethod =
  /(?:method|eth_\w+).*(?:not (?:found|supported|available|allowed|exist|implemented)|does(?: not|n't) exist|unsupported|disabled)|(?:unknown|unsupported) method/iu;

/**
 * Simulates with `eth_simulateV1`: the reads, the settlement and the reads again are calls
 * of one block. Callers and price are exact; gas and logs, too.
 */
export async function simulateOnNode(
  vault: VaultHost,
  attempt: Attempt,
  watched: Watched,
): Promise<Run | Unavailable> {
  const { node } = vault.rpc;
  if (node.simulatesNot !== undefined) {
    return { unavailable: node.simulatesNot };
  }
  const run = await execute(vault, attempt, watched);
  const { route, gas, gasPrice = 0n, next } = attempt;
  const fee = gas * gasPrice;
  if (
    fee === 0n ||
    ("unavailable" in run ? run.isForGood === true : !run.isContract)
  ) {
    return run;
  }
  if (!("unavailable" in run)) {
    // A contract pays for nothing.
    const facts = parseFacts(run.before[0], watched.accounts);
    return facts === undefined
      ? run
      : await execute(vault, attempt, watched, {
          balance: accountIn(facts, route.from).balance,
          fee,
          isContract: true,
        });
  }
  // A node refuses what the sender cannot pay for.
  const balance = await getBalance(vault.rpc, route.from, next.latest).catch(
    fallbackTo(undefined),
  );
  return balance === undefined || balance >= fee
    ? run
    : await execute(vault, attempt, watched, { balance, fee });
}

/** The sender's balance, and what is lent to it in addition, in wei. */
interface Loan {
  readonly balance: bigint;
  readonly fee: bigint;
  /** True if the sender is known to be one. */
  readonly isContract?: boolean;
}

async function execute(
  vault: VaultHost,
  attempt: Attempt,
  watched: Watched,
  loan?: Loan,
): Promise<Run | Unavailable> {
  const { rpc, networkName } = vault;
  const { route, gas, gasPrice = 0n, next } = attempt;
  const { number, timestamp, baseFeePerGas = 0n } = next;
  const reads = readsOf(watched, NOBODYS_ADDRESS);
  const { from: reader } = vault.readContext({});
  const asked = toBlock(attempt, reads, reader, loan);
  const answer = await request(rpc, next.latest, asked);
  if ("unavailable" in answer) {
    return answer;
  }
  const [block, ...more] = parseSimulated(answer.result, networkName);
  const settle = block?.calls[reads.length];
  if (
    block === undefined ||
    settle === undefined ||
    more.length > 0 ||
    block.calls.length !== 2 * reads.length + 1 ||
    settle.gasUsed < INTRINSIC_GAS ||
    (settle.maxUsedGas ?? settle.gasUsed) < settle.gasUsed
  ) {
    // One backend of a gateway may have garbled it.
    return { unavailable: `${METHOD} answers something else than it should` };
  }
  const before = block.calls.slice(0, reads.length);
  const after = block.calls.slice(reads.length + 1);
  const failed = settle.succeeded ? undefined : { ...settle, gasGiven: gas };
  // Geth shares 50,000,000 gas among all calls of a request.
  if (failed !== undefined && isOutOfGas(failed) && !usesAllGas(failed)) {
    return {
      unavailable: `the node gives ${METHOD} ${failed.gasUsed} gas for settleAll, which uses it up`,
    };
  }
  const starved = [...before, ...after].find(isStarved);
  if (starved !== undefined) {
    const orElse =
      starved.message === undefined
        ? ", or one hits an invalid instruction"
        : "";
    return {
      unavailable: `the gas that the node gives ${METHOD} does not suffice for the readings${orElse}`,
    };
  }
  const [factsBefore, factsAfter] = [before, after].map(([facts]) =>
    facts === undefined
      ? undefined
      : parseFacts(toResult(facts), watched.accounts),
  );
  if (factsBefore === undefined || factsAfter === undefined) {
    return unsupported(rpc, `${METHOD} does not apply state overrides`);
  }
  // The contracts may see another block than the answer states.
  for (const { number: n, timestamp: t } of [block, factsBefore.block]) {
    if (n !== number || t !== timestamp) {
      return unsupported(
        rpc,
        `asked for block ${number} at ${timestamp}, ${METHOD} executes in block ${n} at ${t}`,
      );
    }
  }
  const { gasUsed, maxUsedGas = beforeRefunds(gasUsed), transfers } = settle;
  const earlier = accountIn(factsBefore, route.from);
  const later = accountIn(factsAfter, route.from);
  // Some nodes charge nothing in a simulation.
  const gain = failed === undefined ? gainOf(route.from, transfers) : 0n;
  const isFree = later.balance - earlier.balance === gain;
  const { baseFee } = factsBefore.block;
  return {
    engine: "simulateV1",
    before: before.map(toResult),
    after: after.map(toResult),
    lent: loan?.fee ?? 0n,
    feePaid: isFree ? 0n : gasUsed * gasPrice,
    isContract:
      loan?.isContract ??
      (earlier.hasCode && (await isCalledOnly(rpc, route.from, next.latest))),
    block: { number, timestamp },
    failed,
    gasUsed,
    gasNeeded: maxUsedGas,
    transfers,
    logs: settle.logs,
    notes:
      baseFee === baseFeePerGas
        ? []
        : [
            `The node simulates with a base fee of ${baseFee} wei instead of ${baseFeePerGas}: a contract that reads block.basefee can do something else when it is mined.`,
          ],
  };
}

/** The block to simulate: the reads, the settlement, and the reads again. */
function toBlock(
  { route, gas, gasPrice = 0n, next }: Attempt,
  reads: readonly ReadCall[],
  reader: string,
  loan: Loan | undefined,
): object {
  const { number, timestamp, baseFeePerGas } = next;
  const readCalls = reads.map(({ target: to, data }) => ({
    from: reader,
    to,
    input: data,
    gas: numberToHexString(READ_GAS),
  }));
  const { data: input, ...call } = settlementCall(route);
  const settlement = {
    ...call,
    input,
    gas: numberToHexString(gas),
    gasPrice: numberToHexString(gasPrice),
  };
  return {
    blockOverrides: {
      number: numberToHexString(number),
      time: numberToHexString(timestamp),
      ...(baseFeePerGas !== undefined && {
        baseFeePerGas: numberToHexString(baseFeePerGas),
      }),
      // The gas limits of all calls together must fit into the block's.
      gasLimit: numberToHexString(gas + READ_GAS * BigInt(2 * reads.length)),
    },
    stateOverrides: {
      [NOBODYS_ADDRESS]: { code: lensCode },
      ...(loan !== undefined && {
        [route.from]: { balance: numberToHexString(loan.balance + loan.fee) },
      }),
    },
    calls: [...readCalls, settlement, ...readCalls],
  };
}

/**
 * Makes the request on the branch of a block: by its hash, or by its number, and compares
 * the hash afterwards.
 *
 * @returns The answer, not checked.
 * @throws VaultError VAULT_REORGED
 */
async function request(
  rpc: RpcClient,
  base: Block,
  block: object,
): Promise<{ readonly result: unknown } | Unavailable> {
  const send = async (at: unknown) =>
    await rpc
      .withRetries(fewRetries)
      .requestOrRevert(METHOD, [
        { blockStateCalls: [block], traceTransfers: true },
        at,
      ]);
  const byNumber = async () => {
    const answer = await send(toBlockId(base));
    rpc.node.simulatesByNumber = true;
    await requireSameBranch(rpc, base);
    return answer;
  };
  try {
    const answer = await (base.hash === undefined || rpc.node.simulatesByNumber
      ? byNumber()
      : send({ blockHash: base.hash, requireCanonical: true }).catch(
          async (error: unknown) => {
            if (!isRefusal(error) || lacksMethod(error) || lacksFunds(error)) {
              throw error;
            }
            return await byNumber();
          },
        ));
    return "reverted" in answer
      ? // The method never reverts: some nodes report "out of gas" this way.
        {
          unavailable: `${METHOD} as a whole reverts: ${answer.reverted.text}`,
        }
      : answer;
  } catch (error) {
    if (!isRefusal(error)) {
      throw error;
    }
    const refused = `the node refuses ${METHOD}: ${String(error.details["problem"])}`;
    return lacksMethod(error) || error.details["rpcCode"] === INVALID_PARAMS
      ? unsupported(rpc, refused)
      : { unavailable: refused };
  }
}

/** Code of JSON-RPC. */
const INVALID_PARAMS = -32_602;

function lacksMethod({ details }: VaultError): boolean {
  return missingMethod.test(String(details["problem"]));
}

/** True if the sender cannot pay, by the words of the node: the block is not the reason. */
function lacksFunds({ details }: VaultError): boolean {
  return /insufficient (?:funds|balance)|lack of funds/iu.test(
    String(details["problem"]),
  );
}

/** Keeps later simulations from asking this node. */
function unsupported(rpc: RpcClient, problem: string): Unavailable {
  rpc.node.simulatesNot = problem;
  return { unavailable: problem, isForGood: true };
}

interface SimulatedCall {
  readonly succeeded: boolean;
  /** Return or revert data, 0x hex. */
  readonly data: string;
  readonly gasUsed: bigint;
  /** Before refunds; undefined if the node does not return it. */
  readonly maxUsedGas: bigint | undefined;
  readonly transfers: readonly Transfer[];
  readonly logs: unknown;
  readonly message: string | undefined;
}

/** True for a read that ended because the node gave it too little gas. */
function isStarved(call: SimulatedCall): boolean {
  return !call.succeeded && isOutOfGas({ ...call, gasGiven: READ_GAS });
}

function toResult({ succeeded, data, message }: SimulatedCall): CallResult {
  return succeeded
    ? { data: Buffer.from(data.slice(2), "hex") }
    : { reverted: invalidOpcode(message ?? "") ?? decodeRevertReason(data) };
}

/** @returns An empty list if the answer has another form. */
export function parseSimulated(
  answer: unknown,
  network: string,
): ReadonlyArray<BlockInfo & { readonly calls: readonly SimulatedCall[] }> {
  const read = new ResponseParser(network, METHOD);
  try {
    return read.list(answer).map((item) => {
      const { number, timestamp, calls } = asRecord(item);
      return {
        number: read.number(number),
        timestamp: read.number(timestamp),
        calls: read.list(calls).map((call) => parseCall(call, read)),
      };
    });
  } catch (error) {
    return fallbackTo(
      [],
      ({ code }) => code === "VAULT_RPC_INVALID_RESPONSE",
    )(error);
  }
}

function parseCall(item: unknown, read: ResponseParser): SimulatedCall {
  const { status, returnData, gasUsed, maxUsedGas, logs, error } =
    asRecord(item);
  const transfers = transfersIn(logs ?? []);
  const { data, message, code } = asRecord(error);
  if (!isHexString(returnData, true) || transfers === undefined) {
    throw read.invalid("a call without data or logs");
  }
  return {
    succeeded: read.quantity(status) === 1n,
    data:
      // Geth returns revert data in the error, anvil in the result.
      [data, returnData].find(
        (hex): hex is string => isHexString(hex, true) && hex !== "0x",
      ) ?? "0x",
    gasUsed: read.quantity(gasUsed),
    maxUsedGas: read.optional(maxUsedGas, (value) => read.quantity(value)),
    transfers,
    logs,
    message:
      typeof message === "string" &&
      // Code 3 means a revert.
      code !== 3 &&
      !/^(?:VM )?execution (?:failed|reverted|error)\.?$/iu.test(message)
        ? message
        : undefined,
  };
}

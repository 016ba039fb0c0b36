import { numberToHexString } from "@nomicfoundation/hardhat-utils/hex";

import { decodeAnswer } from "../client/answer.js";
import { encodeCall } from "../client/codec.js";
import type { VaultHost } from "../host.js";
import type { VaultRound } from "../protocol/index.js";
import {
  READ_GAS,
  parseSimulated,
  simulateParams,
  toReadAnswer,
} from "../rehearsal/engines/simulate-v1.js";
import type { SimulatedCall } from "../rehearsal/engines/simulate-v1.js";
import { parseLogs } from "../rehearsal/transfers.js";
import { Chain } from "../rpc/node.js";
import type { Receipt } from "../rpc/node.js";
import { lessPatient } from "../rpc/patient.js";

/** Others carry what a call cannot be given: blobs, authorisations, deposits. */
const plainTypes: ReadonlySet<unknown> = new Set([
  undefined,
  "0x0",
  "0x1",
  "0x2",
]);

/**
 * Executes a block again up to a transaction, with `eth_simulateV1` on the block
 * before it, and reads the round on either side of it. No debug methods are
 * needed, and two requests are made.
 *
 * It is believed only where it went the same way: the earlier transactions used
 * the same gas together, and this one the same gas by itself and left the same
 * logs. What differs between the two, and could go unnoticed, is `tx.gasprice`,
 * which is 0 in the replay, and what the block's maker is paid.
 *
 * @returns Undefined where the node cannot do that, or it went another way.
 * @throws VaultError VAULT_BLOCK_NOT_FOUND, VAULT_RPC_INVALID_RESPONSE and those
 * of a failed request
 */
export async function replaySettlement(
  vault: VaultHost,
  { hash, blockNumber, gasUsed, place, logs }: Receipt,
): Promise<Record<"before" | "after", VaultRound> | undefined> {
  const block = await vault.chain.mined(blockNumber);
  const transactions = block.transactions.slice(0, (place?.index ?? -1) + 1);
  const last = transactions.at(-1);
  if (
    place === undefined ||
    last?.["hash"] !== hash ||
    transactions.some(({ type }) => !plainTypes.has(type))
  ) {
    return undefined;
  }
  const call = encodeCall("getLatestRoundInfo", []);
  const factory = await vault.addressOf(call.role, "getLatestRoundInfo");
  const read = {
    from: vault.readContext({}).from,
    to: factory.address,
    input: call.data,
    gas: numberToHexString(READ_GAS),
  };
  const calls = transactions.map(toCall);
  const simulated = new Chain(lessPatient(vault.provider), vault.networkName);
  const params = simulateParams(
    // The readings have to fit in, too.
    { ...block, gasLimit: block.gasLimit + 2n * READ_GAS },
    {
      blockOverrides: { feeRecipient: block.miner, prevRandao: block.mixHash },
      calls: [...calls.slice(0, -1), read, ...calls.slice(-1), read],
    },
  );
  const answer = await simulated.request("eth_simulateV1", params);
  const [replayed] = parseSimulated(answer, vault.networkName);
  const results = replayed?.calls ?? [];
  const earlier = results.slice(0, place.index);
  const [before, settle, after, ...more] = results.slice(place.index);
  if (
    before === undefined ||
    settle === undefined ||
    after === undefined ||
    more.length > 0 ||
    replayed?.number !== blockNumber ||
    earlier.reduce((sum, { gasUsed: used }) => sum + used, 0n) !==
      place.gasBefore ||
    settle.gasUsed !== gasUsed ||
    !settle.succeeded ||
    JSON.stringify(settle.logs).toLowerCase() !==
      JSON.stringify(parseLogs(logs)).toLowerCase()
  ) {
    return undefined;
  }
  const roundOf = (seen: SimulatedCall): VaultRound =>
    // eslint-disable-next-line @typescript-eslint/consistent-type-assertions -- the decoder follows the table entry that makes the type
    decodeAnswer({
      call,
      target: factory,
      network: vault.networkName,
      answer: toReadAnswer(seen),
      hasCode: true,
    }) as VaultRound;
  return { before: roundOf(before), after: roundOf(after) };
}

/** Without its price: a replay pays nobody. */
function toCall({
  from,
  to,
  input,
  value,
  gas,
  accessList,
}: Readonly<Record<string, unknown>>): object {
  return {
    from,
    input,
    value,
    gas,
    ...(to === null ? {} : { to }),
    ...(accessList === undefined || accessList === null ? {} : { accessList }),
  };
}

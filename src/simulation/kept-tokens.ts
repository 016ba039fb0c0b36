import { isHexString } from "ethers";

import { checksumAddress } from "../client/inputs.js";
import { asRecord, listOf } from "../json.js";
import type { Address } from "../protocol/index.js";

/** `Transfer(address,address,uint256)` of ERC-20 and ERC-721. */
export const TRANSFER_TOPIC =
  "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef";

/** Address of the logs of native transfers in `eth_simulateV1`. */
export const NATIVE_LOG_ADDRESS = "0xeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee";

interface Event {
  readonly contract: Address;
  readonly name: string;
  /** Number of indexed arguments. */
  readonly indexed: number;
  /** Arguments, the indexed ones first, as hex digits. */
  readonly words: readonly string[];
}

/** @param logs As a node has them, not checked. */
function eventsIn(logs: unknown): readonly Event[] {
  return listOf(logs).flatMap((log) => {
    const { address, topics, data } = asRecord(log);
    const [name = "", ...indexed] = listOf(topics).map((topic) =>
      String(topic).toLowerCase(),
    );
    const inData = String(data).slice(2).toLowerCase().match(/.{64}/gu) ?? [];
    const from = String(address).toLowerCase();
    return from === NATIVE_LOG_ADDRESS || !isHexString(from, 20)
      ? []
      : [
          {
            contract: checksumAddress(from),
            name,
            indexed: indexed.length,
            words: [...indexed.map((topic) => topic.slice(2)), ...inData],
          },
        ];
  });
}

const wordOf = (account: Address): string =>
  account.slice(2).toLowerCase().padStart(64, "0");

/** Finds the contracts with an event that names an account: it may have got a token. */
export function contractsNaming(
  account: Address,
  logs: unknown,
): readonly Address[] {
  const found = eventsIn(logs).flatMap(({ contract, words }) =>
    words.includes(wordOf(account)) ? contract : [],
  );
  return [...new Set(found)];
}

/**
 * Sums what an account has gained of each token, by `Transfer` events with any number of
 * indexed arguments. If one is indexed, nobody knows which: then the account counts as the
 * receiver of something.
 */
export function gainsIn(
  account: Address,
  logs: unknown,
): ReadonlyMap<Address, bigint> {
  const gains = new Map<Address, bigint>();
  const own = wordOf(account);
  for (const { contract, name, indexed, words } of eventsIn(logs)) {
    const [from, to, value = "0"] = words;
    if (name === TRANSFER_TOPIC && words.length === 3) {
      // The last argument of ERC-721, whose are all indexed, is an id.
      const amount = indexed === 3 ? 1n : BigInt(`0x${value}`);
      const gain =
        indexed === 1
          ? BigInt(words.includes(own))
          : (to === own ? amount : 0n) - (from === own ? amount : 0n);
      gains.set(contract, (gains.get(contract) ?? 0n) + gain);
    }
  }
  return gains;
}

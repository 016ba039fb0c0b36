import { decodeAnswer } from "../client/answer.js";
import { encodeCall } from "../client/codec.js";
import { tryLens } from "../client/lens/lens.js";
import { entryAnswer } from "../client/lens/lens-answer.js";
import type { VaultReader } from "../client/reader.js";
import type { VaultRound } from "../protocol/index.js";

/** The chain at one block, as far as a settlement depends on it. */
export interface Observation {
  /** @throws VaultError those of a failed request */
  readonly chainId: () => Promise<number>;
  /** Of the block, Unix seconds; undefined where it takes another request. */
  readonly timestamp: number | undefined;
  /** Whether the vault is a contract; undefined likewise. */
  readonly hasCode: boolean | undefined;
  /** @throws VaultError those of reading the round */
  readonly round: () => Promise<VaultRound>;
}

/**
 * Looks at a vault: with one `eth_call` where the node applies state overrides,
 * so that all of it is of the same moment, else with one request each.
 *
 * @param target Address of the vault contract.
 * @throws VaultError those of a failed request
 */
export async function observe(
  vault: VaultReader,
  target: string,
  block: number | "latest",
): Promise<Observation> {
  return (
    (await observeAtOnce(vault, target, block)) ?? {
      chainId: async () => await vault.chainId(),
      timestamp: undefined,
      hasCode: undefined,
      round: async () =>
        await vault.read("getLatestRoundInfo", [], { blockTag: block }),
    }
  );
}

async function observeAtOnce(
  vault: VaultReader,
  target: string,
  block: number | "latest",
): Promise<Observation | undefined> {
  const { provider, networkName: network } = vault;
  const context = vault.readContext({ blockTag: block });
  const call = encodeCall("getLatestRoundInfo", []);
  const factory = await vault.addressOf(call.role, "getLatestRoundInfo");
  const answer = await tryLens({ provider, network, ...context }, [
    // Whatever it answers: it tells whether there is code.
    { target, data: "0x" },
    { target: factory.address, data: call.data },
  ]);
  const [code, round] = answer?.entries ?? [];
  if (
    answer === undefined ||
    code === undefined ||
    round === undefined ||
    round.status === "unknown"
  ) {
    return undefined;
  }
  return {
    chainId: async () => await Promise.resolve(answer.chainId),
    timestamp: answer.block.timestamp,
    hasCode: code.hasCode,
    round: async () =>
      await Promise.resolve(
        // eslint-disable-next-line @typescript-eslint/consistent-type-assertions -- the decoder follows the table entry that makes the type
        decodeAnswer({
          call,
          target: factory,
          network,
          answer: entryAnswer(answer, round),
          hasCode: round.hasCode,
        }) as VaultRound,
      ),
  };
}

import { MockVaultFactory__factory } from "../src/bindings/factories/MockVaultFactory__factory.js";
import { VaultClient } from "../src/client/index.js";
import { MockVaultFactoryArtifact } from "../src/mocks/artifacts.js";
import type { Eip1193Provider } from "../src/rpc/eip1193.js";
import { startAnvil } from "../test/helpers/anvil.js";
import { collectAll } from "../test/helpers/collect.js";
import {
  historyProvider,
  pastRound,
  settledRound,
  writeHistory,
} from "../test/helpers/history-provider.js";
import { createTestHre, httpNetwork } from "../test/helpers/hre.js";
import { recordCalls } from "../test/helpers/recording-provider.js";
import { deployCode, sendTransaction } from "../test/helpers/transactions.js";
import { median, round, runInTurns, target } from "./measure.js";
import type { Extent, Section } from "./measure.js";

const BLOCKS_EACH_ON_NODE = 20;
const BLOCKS_EACH_AT_SCALE = 50_000;

const mock = MockVaultFactory__factory.createInterface();

/** Finds rounds of the past: on anvil, and in a history as long as a chain's. */
export async function benchRounds({
  rounds,
  pastRounds,
}: Extent): Promise<Section> {
  const roundsOnNode = pastRounds / 10;
  const blocksOnNode = roundsOnNode * BLOCKS_EACH_ON_NODE;
  const blocksAtScale = pastRounds * BLOCKS_EACH_AT_SCALE;
  const anvil = await startAnvil();
  try {
    const hre = await createTestHre({
      networks: { anvil: httpNetwork(anvil.url) },
    });
    const { provider } = await hre.network.create("anvil");
    const vaultFactory = await mineHistory(provider, roundsOnNode);
    const onNode = recordCalls(provider);
    const client = new VaultClient(onNode, { vaultFactory });
    const { history } = writeHistory(pastRounds, blocksAtScale);
    const atScale = historyProvider(history, blocksAtScale);
    const scaled = new VaultClient(atScale, { vaultFactory });
    const contestants = [
      {
        name: `${roundsOnNode} rounds in ${blocksOnNode} blocks of anvil`,
        expected: roundsOnNode,
        asked: onNode.calls,
        run: async () => await collectAll(client.rounds()),
      },
      {
        name: `${pastRounds} rounds in ${blocksAtScale} blocks of a provider in this process`,
        expected: pastRounds,
        asked: atScale.requests,
        run: async () => await collectAll(scaled.rounds()),
      },
    ];
    const requests = new Map<string, number>();
    const times = await runInTurns(contestants, rounds, (name, found) => {
      const { expected, asked } =
        contestants.find((contestant) => contestant.name === name) ?? {};
      if (found.length !== expected) {
        throw new Error(`${name}: ${found.length} rounds were found`);
      }
      requests.set(name, asked?.length ?? Number.NaN);
    });
    const figures = contestants.map(({ name, expected }) => ({
      name,
      milliseconds: median(times[name] ?? []),
      each: (requests.get(name) ?? Number.NaN) / expected,
    }));
    return {
      title: "Rounds of the past",
      rows: figures.map(({ name, milliseconds, each }) => ({
        history: name,
        "requests a round": round(each),
        ms: round(milliseconds),
      })),
      targets: [
        target(
          `rounds(), requests a round, ${pastRounds} in ${blocksAtScale} blocks`,
          figures[1]?.each ?? Number.NaN,
          "at most",
          // Blocks between two rounds; between the first and the last it would be 56.
          2 * Math.ceil(Math.log2(BLOCKS_EACH_AT_SCALE)) + 4,
          "",
        ),
        target(
          `rounds(), ${roundsOnNode} in ${blocksOnNode} blocks of anvil`,
          (figures[0]?.milliseconds ?? Number.NaN) / 1_000,
          "at most",
          10,
          "s",
        ),
      ],
    };
  } finally {
    await anvil.stop();
  }
}

/** Rounds at equal distances, each settled half-way, in real blocks. */
async function mineHistory(
  provider: Eip1193Provider,
  rounds: number,
): Promise<string> {
  const factory = await deployCode(provider, MockVaultFactoryArtifact.bytecode);
  const blocksEach = BLOCKS_EACH_ON_NODE / 2 - 1;
  for (let index = 1; index <= rounds; ++index) {
    const open = pastRound(index);
    for (const said of [open, settledRound(open)]) {
      await sendTransaction(provider, {
        to: factory,
        data: mock.encodeFunctionData("setRound", [said]),
      });
      await provider.request({
        method: "anvil_mine",
        params: [`0x${blocksEach.toString(16)}`],
      });
    }
  }
  return factory;
}

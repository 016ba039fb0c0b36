import { VaultFactory__factory } from "../src/bindings/factories/VaultFactory__factory.js";
import { VaultClient } from "../src/client/index.js";
import { startAnvil } from "../test/helpers/anvil.js";
import { createTestHre, httpNetwork } from "../test/helpers/hre.js";
import { recordCalls } from "../test/helpers/recording-provider.js";
import { startRpcServer } from "../test/helpers/rpc-server.js";
import { median, medianRatio, round, runInTurns, target } from "./measure.js";
import type { Extent, Section } from "./measure.js";

const READS_PER_ROUND = 100;

/** Takes snapshots over HTTP, beside plain calls. */
export async function benchSnapshot({ rounds }: Extent): Promise<Section> {
  const anvil = await startAnvil();
  const server = await startRpcServer({ upstream: anvil.url });
  try {
    const hre = await createTestHre({
      networks: {
        anvil: httpNetwork(anvil.url),
        counted: httpNetwork(server.url),
      },
    });
    const { vault, provider } = await hre.network.create("anvil");
    const { addresses } = await vault.deployMocks();
    const counted = await hre.network.create("counted");
    await counted.vault.at(addresses).snapshot();

    const repeat = async (read: () => Promise<unknown>): Promise<void> => {
      for (let count = 0; count < READS_PER_ROUND; ++count) {
        await read();
      }
    };
    const recorder = recordCalls(provider);
    await new VaultClient(recorder, addresses).snapshot();
    const [request] = recorder.calls;
    if (request === undefined || recorder.calls.length !== 1) {
      throw new Error("a snapshot is not one request");
    }
    const contestants = {
      "snapshot()": async () => await vault.snapshot(),
      // What no client could be faster than.
      "its one eth_call, not decoded": async (): Promise<unknown> =>
        await provider.request({
          ...request,
          params: [...(request.params ?? [])],
        }),
      "one plain eth_call, not decoded": async (): Promise<unknown> =>
        await provider.request({
          method: "eth_call",
          params: [
            { to: addresses.vaultFactory, data: "0x2016e80b" },
            "latest",
          ],
        }),
      "getLatestRoundInfo()": async () => await vault.getLatestRoundInfo(),
      "the eight readings, one call each": async () =>
        await Promise.all([
          vault.getFundingFeeRate("call"),
          vault.getFundingFeeRate("put"),
          vault.getLatestRoundInfo(),
          vault.getLPAmountInfo("public"),
          vault.getLPAmountInfo("private"),
          vault.queryVolume(),
          vault.queryMarginBalance(),
          vault.minXMargin(),
        ]),
    };
    const strikePrices = [
      (await vault.snapshot()).round,
      await vault.getLatestRoundInfo(),
      VaultFactory__factory.createInterface().decodeFunctionResult(
        "getLatestRoundInfo",
        String(await contestants["one plain eth_call, not decoded"]()),
      ),
    ].map((found) => String(Reflect.get(found, "strikePrice")));
    if (new Set(strikePrices).size !== 1) {
      throw new Error(`not the same round: ${strikePrices.join(", ")}`);
    }
    const times = await runInTurns(
      Object.entries(contestants).map(([name, read]) => ({
        name,
        run: async () => await repeat(read),
      })),
      rounds * 3,
    );
    const snapshot = times["snapshot()"] ?? [];
    return {
      title: "A snapshot over HTTP, from anvil on the same machine",
      rows: Object.keys(contestants).map((name) => ({
        contestant: name,
        "ms each": round(median(times[name] ?? []) / READS_PER_ROUND),
      })),
      targets: [
        target(
          "snapshot(), HTTP requests",
          server.httpRequests.length,
          "at most",
          1,
          "",
        ),
        target(
          "snapshot(), time of one plain eth_call",
          medianRatio(snapshot, times["one plain eth_call, not decoded"] ?? []),
          "at most",
          1.5,
          "x",
        ),
      ],
    };
  } finally {
    await server.stop();
    await anvil.stop();
  }
}

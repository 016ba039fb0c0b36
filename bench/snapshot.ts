import { setTimeout as sleep } from "node:timers/promises";

import { VaultFactory__factory } from "../src/bindings/factories/VaultFactory__factory.js";
import { VaultClient } from "../src/client/index.js";
import { startAnvil } from "../test/helpers/anvil.js";
import { createTestHre, httpNetwork } from "../test/helpers/hre.js";
import { recordCalls } from "../test/helpers/recording-provider.js";
import { startRpcServer } from "../test/helpers/rpc-server.js";
import { median, medianRatio, round, runInTurns, target } from "./measure.js";
import type { Extent, Section } from "./measure.js";

const SINGLE_READS_PER_ROUND = 40;
const READS_IN_A_ROW = 100;
/** Between single reads, so that each finds the node at rest. */
const PAUSE_MS = 5;

const plainCall = "one plain eth_call, not decoded";

/**
 * Takes snapshots over HTTP, beside plain calls: each by itself, and a hundred
 * in a row.
 */
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
      [plainCall]: async (): Promise<unknown> =>
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
        String(await contestants[plainCall]()),
      ),
    ].map((found) => String(Reflect.get(found, "strikePrice")));
    if (new Set(strikePrices).size !== 1) {
      throw new Error(`not the same round: ${strikePrices.join(", ")}`);
    }
    const named = Object.entries(contestants);
    const single = await runInTurns(
      named.map(([name, run]) => ({ name, run })),
      rounds * SINGLE_READS_PER_ROUND,
      undefined,
      async () => {
        await sleep(PAUSE_MS);
      },
    );
    const inARow = await runInTurns(
      named.map(([name, read]) => ({
        name,
        run: async () => {
          for (let count = 0; count < READS_IN_A_ROW; ++count) {
            await read();
          }
        },
      })),
      rounds * 3,
    );
    const ofPlainCall = (times: typeof single, name: string): number =>
      medianRatio(times[name] ?? [], times[plainCall] ?? []);
    return {
      title: "A snapshot over HTTP, from anvil on the same machine",
      rows: named.map(([name]) => ({
        contestant: name,
        "by itself, ms": round(median(single[name] ?? [])),
        "plain calls": round(ofPlainCall(single, name)),
        "in a row, ms each": round(median(inARow[name] ?? []) / READS_IN_A_ROW),
        "plain calls in a row": round(ofPlainCall(inARow, name)),
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
          ofPlainCall(single, "snapshot()"),
          "at most",
          1.4,
          "x",
        ),
      ],
    };
  } finally {
    await server.stop();
    await anvil.stop();
  }
}

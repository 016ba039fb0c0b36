import { setTimeout as sleep } from "node:timers/promises";

import { VaultFactory__factory } from "../src/bindings/factories/VaultFactory__factory.js";
import { isFailedReading } from "../src/client/failed-reading.js";
import { VaultClient } from "../src/client/index.js";
import { recordCalls } from "../test/helpers/recording-node.js";
import { medianRatio, rowsOf, runInTurns, target, timeOf } from "./measure.js";
import type { Extent, Section } from "./measure.js";
import { onAnvil } from "./on-anvil.js";

/** A snapshot takes milliseconds: single rounds say little. */
const ROUNDS_EACH = 40;
/** Before each read, so that it finds the node at rest. */
const PAUSE_MS = 5;

const factory = VaultFactory__factory.createInterface();

const OURS = "snapshot()";
const PLAIN_CALL = "one plain eth_call, not decoded";

/** Takes snapshots over HTTP, beside plain calls. */
export async function benchSnapshot({ rounds }: Extent): Promise<Section> {
  return await onAnvil(async ({ connection: { vault, provider } }) => {
    const { addresses } = await vault.deployMocks();
    const recorder = recordCalls(provider);
    const counted = new VaultClient(recorder, addresses);
    // The first also asks for the header, to see whether contracts count blocks alike.
    await counted.snapshot();
    const { length: first } = recorder.asked;
    await counted.snapshot();
    const contestants = {
      [OURS]: async () => await vault.snapshot(),
      [PLAIN_CALL]: async (): Promise<unknown> =>
        await provider.request({
          method: "eth_call",
          params: [
            {
              to: addresses.vaultFactory,
              data: factory.encodeFunctionData("getLatestRoundInfo"),
            },
            "latest",
          ],
        }),
    };
    const { round } = await contestants[OURS]();
    const [strikePrice] = factory.decodeFunctionResult(
      "getLatestRoundInfo",
      String(await contestants[PLAIN_CALL]()),
    );
    if (isFailedReading(round) || round.strikePrice !== strikePrice) {
      throw new Error("not the same round");
    }
    const times = await runInTurns(
      contestants,
      rounds * ROUNDS_EACH,
      async (run) => {
        await sleep(PAUSE_MS);
        return await timeOf(run);
      },
    );
    return {
      title: "A snapshot over HTTP, from anvil on the same machine",
      rows: rowsOf(times, {
        "plain calls": (own) => medianRatio(own, times[PLAIN_CALL]),
      }),
      targets: [
        target(
          "snapshot() after the first of a connection",
          recorder.asked.length - first,
          "at most",
          1,
          "requests",
        ),
        target(
          "snapshot(), time of one plain eth_call",
          medianRatio(times[OURS], times[PLAIN_CALL]),
          "at most",
          1.4,
          "x",
        ),
      ],
    };
  });
}

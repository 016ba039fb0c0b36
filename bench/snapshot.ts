import { setTimeout as sleep } from "node:timers/promises";

import { VaultFactory__factory } from "../src/bindings/factories/VaultFactory__factory.js";
import { isFailedReading } from "../src/client/read-at-block.js";
import { VaultClient } from "../src/client/index.js";
import { recordCalls } from "../test/helpers/recording-node.js";
import { ratios, runInTurns, timeOf } from "./measure.js";
import type { Extent, Figure } from "./measure.js";
import { onAnvil } from "./on-anvil.js";
import type { World } from "./worlds.js";

/** A snapshot takes milliseconds: single rounds say little. */
const ROUNDS_EACH = 100;
/** Before each read, so that it finds the node at rest. */
const PAUSE_MS = 5;
/** A snapshot reads none of them. */
const ORDERS = 40;

const factory = VaultFactory__factory.createInterface();

const OURS = "snapshot()";
const PLAIN_CALL = "a plain call";

/** Takes snapshots over HTTP, beside plain calls. */
export async function benchSnapshot(
  { rounds }: Extent,
  { deploy }: World,
): Promise<readonly Figure[]> {
  return await onAnvil(async ({ connection }) => {
    const { provider } = connection;
    const addresses = await deploy(connection.vault, ORDERS);
    const vault = connection.vault.at(addresses);
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
    return [
      { name: `${OURS}: ms`, values: times[OURS] },
      {
        name: `${OURS}: times a plain call, not decoded`,
        values: ratios(times[OURS], times[PLAIN_CALL]),
      },
      {
        name: "the second snapshot() of a connection: requests",
        values: [recorder.asked.length - first],
        // The header, then all readings at its hash.
        goal: { demand: "at most", limit: 2 },
      },
    ];
  });
}

import { VaultClient, VaultError } from "../../src/client/index.js";
import type { ContractRole } from "../../src/types.js";
import { useAnvil } from "../helpers/anvil.js";
import { callMethod } from "../helpers/call-method.js";
import { distinctState, expectedReads } from "../helpers/distinct-state.js";
import {
  readFaultKinds,
  startFaultyRpcServer,
} from "../helpers/faulty-rpc-server.js";
import { connectTo } from "../helpers/hre.js";
import { sample } from "../helpers/sample.js";
import {
  LATE_MS,
  REQUEST_TIMEOUT_MS,
  report,
  tryFault,
} from "../helpers/try-fault.js";

/** The reads of the API. */
const reads: ReadonlyArray<
  readonly [
    name: string,
    run: (client: VaultClient, timeout?: number) => Promise<unknown>,
  ]
> = [
  ...expectedReads.map(
    ({ operation, args }) =>
      [
        `${operation}(${JSON.stringify(args, (_key, value: unknown) => String(value))})`,
        async (client: VaultClient, timeout?: number): Promise<unknown> =>
          await callMethod(client, operation, ...args, { timeout }),
      ] as const,
  ),
  ["snapshot", async (client, timeout) => await client.snapshot({ timeout })],
  [
    "orders",
    async (client, timeout) =>
      await Array.fromAsync(client.orders({ firstId: 1, lastId: 3, timeout })),
  ],
  [
    "rounds",
    async (client, timeout) =>
      await Array.fromAsync(client.rounds({ timeout })),
  ],
];
/** Reads of the API at a time, each on a connection of its own. */
const LANES = 8;

describe("reads under faults", () => {
  const anvil = useAnvil();
  let contracts: Readonly<Record<ContractRole, string>>;

  before(async () => {
    const { vault } = await connectTo(anvil.url);
    ({ addresses: contracts } = await vault.deployMocks({
      scenario: "expired-round",
      overrides: { orders: distinctState.orders },
    }));
  });

  it("every read of the API returns the right value, or throws the code of the fault", async () => {
    const all = reads.flatMap(([name, read]) =>
      readFaultKinds.map((kind) => ({ name, read, kind })),
    );
    const queue = [...sample(all, 50)];
    const failures: string[] = [];
    let cases = 0;
    await Promise.all(
      Array.from({ length: LANES }, async () => {
        const server = await startFaultyRpcServer(anvil.url, LATE_MS);
        const { patient, hasty } = REQUEST_TIMEOUT_MS;
        const connections = {
          patient: await connectTo(server.url, { timeout: patient }),
          hasty: await connectTo(server.url, { timeout: hasty }),
        };
        const asked: Array<Promise<unknown>> = [];
        for (let one = queue.shift(); one !== undefined; one = queue.shift()) {
          const { name, read, kind } = one;
          const run: Parameters<typeof tryFault>[3] = async (
            timeout,
            patience = "patient",
          ) => {
            const { provider } = connections[patience];
            // A new provider: nothing is known of its node yet.
            const client = new VaultClient(
              {
                request: async ({ method, params = [] }): Promise<unknown> => {
                  const answer = provider.request({
                    method,
                    params: [...params],
                  });
                  asked.push(answer);
                  return await answer;
                },
              },
              contracts,
            );
            try {
              return { value: await read(client, timeout) };
            } catch (error) {
              return {
                code: VaultError.isVaultError(error)
                  ? error.code
                  : String(error),
              };
            } finally {
              // What was given up at a deadline may not have arrived yet, and
              // would meet the fault of the next case.
              await Promise.allSettled(asked.splice(0));
            }
          };
          const tried = await tryFault(server, name, kind, run, failures);
          cases += tried;
        }
        await server.stop();
      }),
    );
    report("operations", cases, failures);
  });
});

import { expect } from "chai";
import { Interface, toQuantity } from "ethers";
import pLimit from "p-limit";

import { simulateToShow } from "../../tasks/settle.js";
import { simulateSettleAll } from "../../src/simulation/simulate.js";
import { VaultError } from "../../src/errors.js";
import { useAnvil } from "../helpers/anvil.js";
import { fetchProvider } from "../helpers/fetch-provider.js";
import { fieldsOf } from "../helpers/fields.js";
import { connectTo } from "../helpers/hre.js";
import { startRpcServer } from "../helpers/rpc-server.js";
import type { RpcReply, RpcServer } from "../helpers/rpc-server.js";
import { deploySettlingVault } from "../helpers/settling-vaults.js";

const PRICE = 1_000n * 10n ** 18n;
/** More than a simulation with its tokens makes. */
const MOST_REQUESTS = 30;

const setters = new Interface([
  "function set(uint256)",
  "function setDecimals(uint8)",
]);

/** What a node answers to a hash in the place of a block's number. */
const noHash = { error: { code: -32_602, message: "invalid block" } };

function replyIn(answer: string): RpcReply {
  const { result, error } = fieldsOf(JSON.parse(answer));
  if (error === undefined) {
    return { result };
  }
  const { code, message, data } = fieldsOf(error);
  return { error: { code: Number(code), message: String(message), data } };
}

describe("a simulation while the chain replaces its newest block", () => {
  const anvil = useAnvil();
  let server: RpcServer;
  before(async () => {
    server = await startRpcServer({ upstream: anvil.url });
  });
  after(async () => {
    await server.stop();
  });

  for (const [node, refusesHash] of [
    ["takes hashes", () => false],
    [
      "takes hashes but in eth_simulateV1",
      (method: string) => method === "eth_simulateV1",
    ],
    ["takes no hashes", () => true],
  ] as const) {
    for (const [engine, isShown] of [
      ["simulateV1", false],
      ["simulateV1", true],
      ["fork", false],
    ] as const) {
      it(`${isShown ? "and its tokens are" : "is"} of one branch, or VAULT_REORGED, before whichever request the block is replaced, by the engine ${engine} and a node that ${node}`, async () => {
        const chain = fetchProvider(anvil.url);
        const ask = async (method: string, ...params: unknown[]) =>
          await chain.request({ method, params });
        const { ethers } = (await connectTo(anvil.url)).vault.connection;
        const deployer = await ethers.provider.getSigner(0);
        const { contract, contracts, token } = await deploySettlingVault(
          deployer,
          "PayingVault",
        );
        const oracle: unknown = await contract
          .getFunction("oracle")
          .staticCall();
        await ask("anvil_mine", "0x2");
        let branches = 0;
        /** Price and decimals of the branches, by the hash of the newest block. */
        const known = new Map<unknown, readonly [bigint, number]>();
        const replace = async (): Promise<void> => {
          branches += 1;
          const values = [PRICE + BigInt(branches), branches] as const;
          const calls = [
            [oracle, setters.encodeFunctionData("set", [values[0]])],
            [
              await token.getAddress(),
              setters.encodeFunctionData("setDecimals", [values[1]]),
            ],
          ];
          await ask(
            "anvil_reorg",
            1,
            calls.map(([to, data]) => [
              { from: deployer.address, to, data, gas: toQuantity(100_000) },
              0,
            ]),
          );
          const block = fieldsOf(
            await ask("eth_getBlockByNumber", "latest", false),
          );
          known.set(block["hash"], values);
        };
        let replaced = 0;
        for (let place = 0; place < MOST_REQUESTS; place += 1) {
          await replace();
          // A new connection knows nothing of its node.
          const { vault } = await connectTo(server.url);
          let left = place;
          const seen = new Set<unknown>();
          // A node that is asked for a block while it replaces it mixes both.
          const turn = pLimit(1);
          server.handler = async ({ request, response, forward }) =>
            await turn(async () => {
              // The calls of a batch are one request.
              const isNext = !seen.has(response);
              seen.add(response);
              if (isNext && left-- === 0) {
                replaced += 1;
                await replace();
              }
              const isByHash = request.params.some(
                (one) => "blockHash" in fieldsOf(one),
              );
              return isByHash && refusesHash(request.method)
                ? noHash
                : replyIn(await forward());
            });
          const asked = { engine };
          const simulate = async (): Promise<
            Pick<
              Awaited<ReturnType<typeof simulateToShow>>,
              "base" | "simulation" | "tokens"
            >
          > =>
            isShown
              ? await simulateToShow(vault.at(contracts), asked)
              : {
                  ...(await simulateSettleAll(vault.at(contracts), asked)),
                  tokens: new Map(),
                };
          const shown = await simulate().catch((error: unknown) => {
            expect(VaultError.isVaultError(error) && error.code).to.match(
              /^VAULT_REORGED$/u,
            );
          });
          if (shown !== undefined) {
            const [price, decimals] = known.get(shown.base.hash) ?? [];
            const { changes, status } = shown.simulation;
            expect(status).to.equal("settled");
            const settled = changes.find(
              ({ field }) => field === "settledPrice",
            );
            expect(settled?.after, `request ${place}`).to.equal(price);
            const [described] = shown.tokens.values();
            expect([decimals, null, undefined]).to.include(described?.decimals);
          }
          await vault.connection.close();
          if (left >= 0) {
            break;
          }
        }
        expect(replaced).to.be.greaterThan(4);
      });
    }
  }
});

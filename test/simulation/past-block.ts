import { expect } from "chai";
import { toQuantity } from "ethers";

import type { HardhatVault } from "../../src/types.js";
import { useAnvil } from "../helpers/anvil.js";
import { expectVaultError } from "../helpers/assertions.js";
import { burnsGas } from "../helpers/bytecode.js";
import { fieldsOf } from "../helpers/fields.js";
import { deployTestGuard } from "../helpers/guard.js";
import { connectTo } from "../helpers/hre.js";
import { startRpcServer } from "../helpers/rpc-server.js";
import type { RpcServer } from "../helpers/rpc-server.js";
import { deployProtocol, directProvider } from "../helpers/world.js";
import type { MockProtocol } from "../helpers/world.js";

describe("simulateSettleAll on the state of a past block", () => {
  const anvil = useAnvil();
  let server: RpcServer;
  let provider: ReturnType<typeof directProvider>;
  let protocol: MockProtocol;
  let guard: string;

  before(async () => {
    provider = directProvider(anvil.url);
    const deployer = await provider.getSigner(2);
    protocol = await deployProtocol(deployer);
    guard = await deployTestGuard(deployer);
    server = await startRpcServer({ upstream: anvil.url });
  });

  after(async () => {
    provider.destroy();
    await server.stop();
  });

  beforeEach(() => {
    server.handler = () => undefined;
  });

  /** A vault, and a block before the newest of which no other fork has kept state. */
  async function openInPast(
    settings: { readonly guard?: string } = {},
  ): Promise<{ readonly vault: HardhatVault; readonly blockNumber: number }> {
    await provider.send("anvil_mine", ["0x2"]);
    const { vault } = await connectTo(server.url, {
      vault: { contracts: protocol.contracts, ...settings },
    });
    const { number } = await vault.block();
    return { vault, blockNumber: number - 1 };
  }

  /** Refuses these methods at that block, as a node that has pruned its state. */
  async function prune(
    blockNumber: number,
    methods: readonly string[],
  ): Promise<void> {
    const number = toQuantity(blockNumber);
    const { hash } = fieldsOf(
      await provider.send("eth_getBlockByNumber", [number, false]),
    );
    const message = "missing trie node 4f3c (path ) <nil>";
    server.handler = ({ request: { method, params } }) => {
      const isThere = params.some(
        (param) => param === number || fieldsOf(param)["blockHash"] === hash,
      );
      return methods.includes(method) && isThere
        ? { error: { code: -32_000, message } }
        : undefined;
    };
  }

  const readsOfState = [
    "eth_call",
    "eth_getBalance",
    "eth_getCode",
    "eth_getStorageAt",
    "eth_getTransactionCount",
    "eth_simulateV1",
  ];
  for (const [state, refused, asked] of [
    ["any state", readsOfState, { engine: "fork" }],
    // Some nodes answer code from another database than storage.
    ["storage", ["eth_getStorageAt"], { engine: "fork" }],
    // The settlement is not called then, only executed.
    ["storage", ["eth_getStorageAt"], { hardfork: "prague" }],
  ] as const) {
    it(`fork with ${Object.keys(asked).join()} asks for an archive node if ${state} of an old block is gone: VAULT_ARCHIVE_NODE_NEEDED`, async () => {
      const { vault, blockNumber } = await openInPast();
      await prune(blockNumber, refused);
      const error = await expectVaultError(
        vault.simulateSettleAll({ ...asked, blockNumber }),
        "VAULT_ARCHIVE_NODE_NEEDED",
      );
      expect(error.message).to.contain("archive node");
      expect(error.message).to.contain("missing trie node");
      expect(error.details["block"]).to.equal(blockNumber);
    });
  }

  it("simulateSettleAll asks for an archive node if a guard's code at an old block is gone: VAULT_ARCHIVE_NODE_NEEDED", async () => {
    const { vault, blockNumber } = await openInPast({ guard });
    await prune(blockNumber, readsOfState);
    const error = await expectVaultError(
      vault.simulateSettleAll({ blockNumber }),
      "VAULT_ARCHIVE_NODE_NEEDED",
    );
    expect(error.details["block"]).to.equal(blockNumber);
  });

  for (const message of [
    "out of gas",
    "execution aborted (timeout = 5s)",
  ] as const) {
    it(`fork asks for no archive node if the settlement is too much for a call of the node: ${message}`, async () => {
      const { vault, blockNumber } = await openInPast();
      const burns = burnsGas(40_000_000);
      await provider.send("anvil_setCode", [protocol.contracts.vault, burns]);
      await provider.send("anvil_mine", ["0x2"]);
      server.handler = ({ request: { method, params } }) =>
        method === "eth_call" && fieldsOf(params[0])["data"] === "0xa015aefe"
          ? { error: { code: -32_000, message } }
          : undefined;
      const simulation = await vault.simulateSettleAll({
        engine: "fork",
        blockNumber: blockNumber + 2,
      });
      expect(simulation).to.include({
        status: "reverted",
        code: "VAULT_OUT_OF_GAS",
      });
    });
  }
});

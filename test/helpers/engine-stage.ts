import { expect } from "chai";

import { checksumAddress } from "../../src/client/inputs.js";
import { explainRefusal } from "../../src/guard/refusal.js";
import type {
  Address,
  HardhatVault,
  Simulation,
  SimulateSettleAllOptions,
  Transfer,
} from "../../src/types.js";
import { useAnvil } from "./anvil.js";
import { flatten } from "./flatten.js";
import { connectTo, createTestHre } from "./hre.js";
import { deploySettlingVault } from "./settling-vaults.js";
import type { SettlingVaultName } from "./settling-vaults.js";
import { untilFound } from "./transactions.js";

const TRANSFER =
  "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef";

const engines = ["simulateV1", "fork", "in-process"] as const;
type Engine = (typeof engines)[number];

/** Before and after, by path as in `round.settled`, or by account and token. */
type Differences = ReadonlyMap<string, readonly [unknown, unknown]>;

/** A chain to simulate on with an engine, and to settle on really. */
class EngineStage {
  #connected: HardhatVault | undefined;

  constructor(private readonly engine: Engine) {}

  public get vault(): HardhatVault {
    return this.#connected ?? expect.fail("no test runs");
  }

  public async open(url: string): Promise<void> {
    this.#connected =
      this.engine === "in-process"
        ? await openInProcess()
        : (await connectTo(url)).vault;
  }

  public async simulate(
    vault: HardhatVault,
    options: SimulateSettleAllOptions = {},
  ): Promise<Simulation> {
    const { engine } = this;
    return await vault.simulateSettleAll(
      engine === "in-process" ? options : { engine, ...options },
    );
  }

  public async send(method: string, ...params: unknown[]): Promise<unknown> {
    return await this.vault.provider.request({ method, params });
  }

  public async accountOf(index: number): Promise<string> {
    const { provider } = this.vault.connection.ethers;
    return (await provider.getSigner(index)).address;
  }

  public async deploy(
    name: SettlingVaultName,
    set: Parameters<typeof deploySettlingVault>[2] = {},
  ) {
    const { provider } = this.vault.connection.ethers;
    const { contract, token, contracts } = await deploySettlingVault(
      await provider.getSigner(0),
      name,
      set,
    );
    return {
      vault: this.vault.at(contracts),
      contract,
      address: await contract.getAddress(),
      token: await token.getAddress(),
    };
  }

  public async settleReally(
    vault: HardhatVault,
    {
      from,
      token,
      time,
    }: {
      readonly from: string;
      readonly token?: string;
      readonly time: number | undefined;
    },
  ) {
    const { address: to } = await vault.addressOf("vault");
    const read = async () => await this.#readAll(vault, [from, to], token);
    const call = { from, to, data: "0xa015aefe" };
    const before = await read();
    if (time !== undefined) {
      await this.send("evm_setNextBlockTimestamp", time);
    }
    const called = await vault.rpc.requestOrRevert("eth_call", [
      call,
      "latest",
    ]);
    const hash = await this.send("eth_sendTransaction", {
      ...call,
      gas: token === undefined ? "0xf4240" : "0x1c9c380",
      maxFeePerGas: "0x174876e800",
      maxPriorityFeePerGas: await this.send("eth_maxPriorityFeePerGas"),
    });
    const { provider } = this.vault.connection.ethers;
    const receipt = await untilFound(
      async () => await provider.getTransactionReceipt(String(hash)),
    );
    const after = await read();
    const { gasUsed, gasPrice, status, logs } = receipt;
    return {
      succeeded: status === 1,
      reason:
        "reverted" in called
          ? (await explainRefusal(vault, called.reverted)).reason
          : null,
      gasUsed,
      gasPrice,
      fee: gasUsed * gasPrice,
      transfers: logs
        .filter(({ topics }) => topics[0] === TRANSFER)
        .map(({ address: of, topics, data }): Transfer => ({
          token: checksumAddress(of),
          from: addressOf(topics[1]),
          to: addressOf(topics[2]),
          amount: BigInt(data),
        })),
      changes: differences(before.values, after.values),
      balances: differences(before.balances, after.balances),
      block: after.block,
    };
  }

  /** Readings, three orders, and balances of native currency and a token. */
  async #readAll(vault: HardhatVault, accounts: readonly string[], token = "") {
    const { block, chainId: _chain, ...readings } = await vault.snapshot();
    const values = flatten(readings);
    const ids = [1n, 2n, 3n];
    for await (const { orderID, ...order } of vault.orders({ ids })) {
      for (const [path, value] of flatten(order, `orders.${orderID}.`)) {
        values.set(path, value);
      }
    }
    const balances = new Map<string, unknown>();
    for (const account of accounts) {
      const native = await this.send("eth_getBalance", account, "latest");
      balances.set(`${account} native`, BigInt(String(native)));
      if (token !== "") {
        const data = `0x70a08231${account.slice(2).padStart(64, "0")}`;
        const call = { to: token, data };
        const owned = await this.send("eth_call", call, "latest");
        balances.set(`${account} ${token}`, BigInt(String(owned)));
      }
    }
    return { values, balances, block };
  }
}

async function openInProcess(): Promise<HardhatVault> {
  const network = {
    type: "edr-simulated",
    throwOnTransactionFailures: false,
    // Without the gas cap of a transaction, as on anvil.
    hardfork: "prague",
  } as const;
  const hre = await createTestHre({ networks: { default: network } });
  return (await hre.network.create()).vault;
}

/** Describes in a suite what each engine does, on a chain that is after each test as before. */
export function describeEngines(
  describeTests: (engine: Engine, stage: EngineStage) => void,
): void {
  const anvil = useAnvil();
  for (const engine of engines) {
    describe(engine, () => {
      const stage = new EngineStage(engine);
      let checkpoint: unknown;
      before(async () => {
        await stage.open(anvil.url);
      });
      after(async () => {
        await stage.vault.connection.close();
      });
      beforeEach(async () => {
        checkpoint = await stage.send("evm_snapshot");
      });
      afterEach(async () => {
        await stage.send("evm_revert", checkpoint);
      });
      describeTests(engine, stage);
    });
  }
}

/** Compares what an engine said with what then happened. */
export function expectReality(
  { changes, balances, gasUsed }: Simulation,
  real: Awaited<ReturnType<EngineStage["settleReally"]>>,
): void {
  const said = new Map<string, readonly [unknown, unknown]>(
    changes.map(({ reading, field, before, after }) => [
      real.changes.has(reading) ? reading : `${reading}.${field}`,
      [before, after],
    ]),
  );
  expect(said).to.deep.equal(real.changes);
  const [sender] = balances;
  expect(balances).to.have.lengthOf(real.balances.size);
  expect(
    new Map(
      balances.map(({ account, token, before, after }) => [
        `${account} ${token}`,
        [
          before,
          // The same fee at another price of gas.
          account === sender?.account && token === "native"
            ? after + (gasUsed ?? 0n) * real.gasPrice - real.fee
            : after,
        ],
      ]),
    ),
  ).to.deep.equal(real.balances);
}

function differences(
  before: ReadonlyMap<string, unknown>,
  after: ReadonlyMap<string, unknown>,
): Differences {
  return new Map(
    [...before].flatMap(([key, value]) =>
      value === after.get(key) ? [] : [[key, [value, after.get(key)]]],
    ),
  );
}

function addressOf(topic = "0x"): Address {
  return checksumAddress(`0x${topic.slice(-40)}`);
}

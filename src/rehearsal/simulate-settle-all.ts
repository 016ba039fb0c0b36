import type { LocatedAddress } from "../client/addresses.js";
import { Chain } from "../rpc/node.js";
import type { BlockInfo } from "../rpc/node.js";
import { parseAddress, parseUint256 } from "../client/inputs.js";
import type { VaultHost } from "../host.js";
import { VaultError, vaultError } from "../errors.js";
import { contractRoles } from "../protocol/index.js";
import type { ContractRole } from "../protocol/index.js";
import {
  createFork,
  findFatalRevert,
  readUpstreamBlock,
} from "./engines/fork.js";
import type { ForkOptions, UpstreamBlock } from "./engines/fork.js";
import { readState, roundOf } from "./compare-readings.js";
import { MinedMeanwhile, rehearse } from "./execute-on-chain.js";
import type { Rehearsal } from "./execute-on-chain.js";
import { resolveAddresses } from "./resolved-addresses.js";
import type { ResolvedAddresses } from "./resolved-addresses.js";
import { exclusively, inSandbox } from "./engines/in-process.js";
import { SimulatedChain } from "./simulated-chain.js";
import { checkTime, targetTime } from "./target-time.js";
import type { SimulationTime } from "./target-time.js";
import type { Simulation } from "./types.js";

/** Options of `simulateSettleAll`. */
export interface SimulateSettleAllOptions extends ForkOptions {
  /**
   * Account that settles; any one, no key is needed. Else the network's `from`,
   * else its first account.
   */
  readonly as?: string | undefined;
  /**
   * When to settle: `end` for the round's `endTime`, a span from the chain's
   * clock (`+1h`), an ISO date, or Unix seconds; the chain's own time unless
   * given.
   */
  readonly atTime?: SimulationTime | undefined;
  /** Orders to read before and after. */
  readonly orders?: ReadonlyArray<bigint | number> | undefined;
  /** ERC-20 tokens whose balances are read before and after. */
  readonly tokens?: readonly string[] | undefined;
  /**
   * Gas limit of the transaction. Else the network's `gas`, else as much as the
   * block and the hardfork allow.
   */
  readonly gas?: bigint | number | undefined;
}

/** A simulation, and where and how it was made. */
export interface LocatedSimulation {
  readonly simulation: Simulation;
  readonly chainId: number;
  /** The block that it started from. */
  readonly block: BlockInfo;
  /** Who settled. */
  readonly sender: string;
  /** The contracts whose balances were read. */
  readonly contracts: ReadonlyArray<
    LocatedAddress & { readonly role: ContractRole }
  >;
}

/** The options, checked. */
interface CheckedOptions {
  readonly as: string | undefined;
  readonly orderIDs: readonly bigint[];
  readonly tokens: readonly string[];
  readonly atTime: SimulationTime | undefined;
  readonly gas: bigint | undefined;
}

/** What errors call the options that are looked at once the chain is known. */
export interface OptionNames {
  readonly atTime: string;
  readonly blockNumber: string;
  readonly hardfork: string;
}

const apiNames: OptionNames = {
  atTime: "atTime",
  blockNumber: "blockNumber",
  hardfork: "hardfork",
};

/** How often it is tried where blocks that come by themselves interfere. */
const ATTEMPTS = 10;

/** @see HardhatVault.simulateSettleAll */
export async function simulateSettleAll(
  vault: VaultHost,
  options: SimulateSettleAllOptions,
): Promise<Simulation> {
  return (await simulateLocated(vault, options)).simulation;
}

/** The same, with what a report has to say beside it. */
export async function simulateLocated(
  vault: VaultHost,
  options: SimulateSettleAllOptions,
  names = apiNames,
): Promise<LocatedSimulation> {
  const checked = checkOptions(vault, options, names);
  return vault.connection.networkConfig.type === "http"
    ? await simulateOnFork(vault, checked, options, names)
    : await exclusively(
        vault.provider,
        async () => await simulateInPlace(vault, checked, options, names),
      );
}

async function simulateOnFork(
  vault: VaultHost,
  options: CheckedOptions,
  { blockNumber, hardfork }: ForkOptions,
  names: OptionNames,
): Promise<LocatedSimulation> {
  const { provider, networkName } = vault;
  const [block, pendingTimestamp] = await Promise.all([
    readUpstreamBlock(vault, blockNumber),
    blockNumber === undefined
      ? new Chain(provider, networkName).pendingTimestamp()
      : undefined,
  ]);
  return await prepare(
    vault,
    block,
    { ...options, where: names.atTime },
    async (addresses, rehearsal) => {
      const [fork, fatalReason] = await Promise.all([
        createFork(vault, {
          block,
          chainId: rehearsal.chainId,
          addresses,
          hardfork,
          withAccounts: false,
        }),
        findFatalRevert(vault, rehearsal, block.number),
      ]);
      try {
        if (fatalReason !== undefined) {
          return { ...notExecuted, status: "reverted", reason: fatalReason };
        }
        const chain = new SimulatedChain(fork.vault);
        await chain.request("evm_setAutomine", false);
        await chain.request("hardhat_impersonateAccount", rehearsal.sender);
        return await rehearse(fork.vault, {
          ...rehearsal,
          blockTime:
            rehearsal.blockTime ??
            // The node's own clock where it tells, which may be far from ours.
            Math.max(pendingTimestamp ?? 0, block.timestamp + 1),
        });
      } finally {
        await fork.close();
      }
    },
  );
}

async function simulateInPlace(
  vault: VaultHost,
  options: CheckedOptions,
  { blockNumber, hardfork }: ForkOptions,
  names: OptionNames,
): Promise<LocatedSimulation> {
  const { networkName } = vault;
  if (blockNumber !== undefined || hardfork !== undefined) {
    throw vaultError("VAULT_INVALID_ARGUMENT", {
      where: blockNumber === undefined ? names.hardfork : names.blockNumber,
      problem: `network ${networkName} runs in process and is not forked, but simulated on as it is`,
    });
  }
  for (let attempt = 1; attempt <= ATTEMPTS; attempt += 1) {
    const block = await readUpstreamBlock(vault, undefined);
    try {
      return await prepare(
        vault,
        block,
        { ...options, where: names.atTime },
        async (_addresses, rehearsal) =>
          await inSandbox(
            new SimulatedChain(vault),
            rehearsal.sender,
            async () => await rehearse(vault, rehearsal),
          ),
      );
    } catch (error) {
      if (!(error instanceof MinedMeanwhile)) {
        throw error;
      }
    }
  }
  throw vaultError("VAULT_INVALID_ARGUMENT", {
    where: names.atTime,
    problem: `network ${networkName} mines by itself too often for a block of that date; stop it with evm_setIntervalMining`,
  });
}

/**
 * Reads what there is before the settlement, straight from the chain, and finds
 * out whether there is anything to rehearse before a fork is made for it.
 */
async function prepare(
  vault: VaultHost,
  block: UpstreamBlock,
  {
    as,
    orderIDs,
    tokens,
    atTime,
    gas,
    where,
  }: CheckedOptions & { readonly where: string },
  run: (
    addresses: ResolvedAddresses,
    rehearsal: Rehearsal & { readonly chainId: number },
  ) => Promise<Simulation>,
): Promise<LocatedSimulation> {
  const { networkName } = vault;
  const { number, timestamp } = block;
  const [addresses, { address: target, source }, sender] = await Promise.all([
    resolveAddresses(vault),
    vault.addressOf("vault", "settleAll"),
    as ?? vault.defaultSender(),
  ]);
  const contracts = addresses.known;
  const subjects = {
    accounts: unique([sender, ...contracts.map(({ address }) => address)]),
    tokens,
    orderIDs,
  };
  try {
    const [before] = await Promise.all([
      readState(vault, number, subjects),
      requireCode(vault, { address: target, source }, number),
    ]);
    const { chainId } = before.readings.snapshot;
    const located = {
      chainId,
      block: { number, timestamp },
      sender,
      contracts,
    };
    const round = roundOf(before.readings);
    const blockTime = targetTime(atTime, timestamp, round, where);
    if (round?.settled === true) {
      return {
        ...located,
        simulation: {
          ...notExecuted,
          status: "nothing-to-do",
          reason: "the round is settled already",
        },
      };
    }
    return {
      ...located,
      simulation: await run(addresses, {
        chainId,
        sender,
        target,
        subjects,
        before,
        blockTime,
        gas,
      }),
    };
  } catch (error) {
    throw toSimulationError(error, networkName, block);
  }
}

const notExecuted = {
  gasUsed: null,
  block: null,
  changes: [],
  balances: [],
} as const satisfies Partial<Simulation>;

function checkOptions(
  { connection }: VaultHost,
  { as, atTime, orders = [], tokens = [], gas }: SimulateSettleAllOptions,
  names: OptionNames,
): CheckedOptions {
  const { networkConfig } = connection;
  checkTime(atTime, names.atTime);
  return {
    as: as === undefined ? undefined : parseAddress(as, "as"),
    orderIDs: unique(orders.map((id) => parseUint256(id, "orders"))),
    tokens: unique(tokens.map((token) => parseAddress(token, "tokens"))),
    atTime,
    gas:
      gas !== undefined
        ? parseUint256(gas, "gas")
        : networkConfig.gas === "auto"
          ? undefined
          : networkConfig.gas,
  };
}

/**
 * A call to an address without code succeeds, which would look like a
 * settlement.
 */
async function requireCode(
  { provider, networkName }: VaultHost,
  { address, source }: LocatedAddress,
  blockNumber: number,
): Promise<void> {
  if (!(await new Chain(provider, networkName).hasCode(address, blockNumber))) {
    throw vaultError("VAULT_NO_CODE", {
      address,
      when: ` at block ${blockNumber}`,
      contract: contractRoles.vault.label,
      network: networkName,
      source,
    });
  }
}

/**
 * A node that knows a block but refuses its state is not an archive node; its
 * own words differ from node to node, and are kept.
 */
function toSimulationError(
  error: unknown,
  network: string,
  { number, isHead }: UpstreamBlock,
): unknown {
  return VaultError.isVaultError(error) &&
    error.code === "VAULT_RPC_ERROR" &&
    !isHead
    ? vaultError(
        "VAULT_ARCHIVE_NODE_NEEDED",
        { network, block: number, problem: String(error.details["problem"]) },
        error,
      )
    : error;
}

function unique<T>(values: readonly T[]): readonly T[] {
  return [...new Set(values)];
}

import type { LocatedAddress } from "../client/addresses.js";
import { encodeCall } from "../client/codec.js";
import type { VaultHost } from "../host.js";
import { vaultError } from "../errors.js";
import type { VaultRound } from "../protocol/index.js";
import { Chain } from "../rpc/node.js";
import type { Header } from "../rpc/node.js";
import { Deadline } from "../rpc/deadline.js";
import { Journal } from "./journal.js";
import { observe } from "./observe.js";
import type { Observation } from "./observe.js";
import { describeRound, isSameRound } from "../protocol/round.js";
import { SettlementStopped, refusal } from "./stopped.js";
import type { PreparedTransaction } from "./transaction.js";
import type { SettleAllOptions, SettlementEvent } from "./types.js";

const DEFAULT_TIMEOUT = { http: 300_000, "edr-simulated": 10_000 } as const;
const DEFAULT_POLLING_INTERVAL = { http: 1_000, "edr-simulated": 50 } as const;

/** What is known so far, also when the work ends early. */
export interface Progress {
  chainId?: number;
  header?: Header;
  round?: VaultRound;
  blockTimes?: ReadonlyMap<number, number>;
}

/** Everything that a settlement works with. */
export class SettlementContext {
  public readonly vault: VaultHost;
  public readonly chain: Chain;
  public readonly chainId: number;
  public readonly contract: LocatedAddress;
  /** The call data of settleAll. */
  public readonly data: string;
  /** Undefined in process, where nothing outlives the process. */
  public readonly journal: Journal | undefined;
  public readonly confirmations: number;
  public readonly pollingInterval: number;
  /** Unix seconds by block number, of the blocks that rounds were read at. */
  public readonly blockTimes = new Map<number, number>();
  readonly #timeout: number;
  readonly #onEvent: SettleAllOptions["onEvent"];

  private constructor(
    vault: VaultHost,
    options: SettleAllOptions,
    { chainId, contract }: { chainId: number; contract: LocatedAddress },
  ) {
    const { type } = vault.connection.networkConfig;
    this.vault = vault;
    this.chain = new Chain(vault.provider, vault.networkName);
    this.chainId = chainId;
    this.contract = contract;
    this.data = encodeCall("settleAll", []).data;
    this.journal =
      type === "http"
        ? new Journal(
            vault.context.config.paths.root,
            chainId,
            contract.address,
          )
        : undefined;
    this.confirmations = checkWhole(options.confirmations ?? 1);
    this.#timeout = checkDuration(
      "timeout",
      options.timeout ?? DEFAULT_TIMEOUT[type],
    );
    this.pollingInterval = checkDuration(
      "pollingInterval",
      options.pollingInterval ?? DEFAULT_POLLING_INTERVAL[type],
    );
    this.#onEvent = options.onEvent;
  }

  /**
   * @throws VaultError VAULT_WRONG_CHAIN, VAULT_CONTRACT_NOT_CONFIGURED,
   * VAULT_INVALID_ARGUMENT and those of a failed request
   */
  public static async create(
    vault: VaultHost,
    options: SettleAllOptions,
  ): Promise<SettlementContext> {
    const contract = await vault.addressOf("vault", "settleAll");
    const chainId = await vault.chainId();
    requireConfiguredChain(vault, chainId);
    return new SettlementContext(vault, options, { chainId, contract });
  }

  /**
   * The same, with a first look at the newest block, in fewer requests.
   *
   * @throws VaultError as `create` does
   */
  public static async createWithLook(
    vault: VaultHost,
    options: SettleAllOptions,
  ): Promise<{
    context: SettlementContext;
    header: Header;
    observation: Observation;
  }> {
    const contract = await vault.addressOf("vault", "settleAll");
    const header = await new Chain(vault.provider, vault.networkName).header();
    const observation = await observe(vault, contract.address, header.number);
    const chainId = await observation.chainId();
    requireConfiguredChain(vault, chainId);
    const context = new SettlementContext(vault, options, {
      chainId,
      contract,
    });
    return { context, header, observation };
  }

  /** The round at a block; the block's time is noted where it comes along. */
  public readonly readRound = async (block: number): Promise<VaultRound> => {
    const { round, timestamp } = await this.#observe(block);
    if (timestamp !== undefined) {
      this.blockTimes.set(block, timestamp);
    }
    return await round();
  };

  /** The round at one block, and that block. */
  public async readRoundNow(): Promise<{ header: Header; round: VaultRound }> {
    const header = await this.chain.header();
    return { header, round: await this.readRound(header.number) };
  }

  /**
   * Looks again, right before the transaction leaves.
   *
   * @returns Why it must not leave, or undefined.
   */
  public async checkRound(
    meant: VaultRound,
  ): Promise<SettlementStopped | undefined> {
    const seen = await this.#observe("latest");
    const chainId = await seen.chainId();
    if (chainId !== this.chainId) {
      return refusal("VAULT_CHAIN_CHANGED", {
        network: this.chain.network,
        expected: this.chainId,
        actual: chainId,
      });
    }
    // The round comes last: what happens after it was read, nobody can see.
    const round = await seen.round();
    if (!isSameRound(round, meant)) {
      return refusal("VAULT_ROUND_CHANGED", {
        expected: describeRound(meant),
        actual: describeRound(round),
      });
    }
    return round.settled
      ? new SettlementStopped(
          "nothing-to-do",
          "The round was settled by somebody else meanwhile.",
        )
      : undefined;
  }

  async #observe(block: number | "latest"): Promise<Observation> {
    return await observe(this.vault, this.contract.address, block);
  }

  public newDeadline(): Deadline {
    return new Deadline(this.#timeout);
  }

  /** Tells the caller; what the caller does with it is no reason to stop. */
  public readonly emit = (event: SettlementEvent): void => {
    try {
      this.#onEvent?.(event);
    } catch {
      // A listener that fails must not lose a transaction on its way.
    }
  };

  public announce({ hash, nonce }: PreparedTransaction): void {
    this.emit({ type: "sending", hash: hash ?? null, nonce });
  }

  /** Hash of the first block; "unknown" where nothing is journalled. */
  public async genesisHash(): Promise<string> {
    return (await this.vault.genesisHash()) ?? "unknown";
  }
}

function requireConfiguredChain(vault: VaultHost, actual: number): void {
  const { chainId: expected } = vault.connection.networkConfig;
  if (expected !== undefined && expected !== actual) {
    throw vaultError("VAULT_WRONG_CHAIN", {
      network: vault.networkName,
      expected,
      actual,
    });
  }
}

function checkWhole(confirmations: number): number {
  if (!Number.isSafeInteger(confirmations) || confirmations < 1) {
    throw vaultError("VAULT_INVALID_ARGUMENT", {
      where: "confirmations",
      problem: `a whole number of at least 1 is needed, got ${confirmations}`,
    });
  }
  return confirmations;
}

function checkDuration(where: string, milliseconds: number): number {
  if (!Number.isFinite(milliseconds) || milliseconds <= 0) {
    throw vaultError("VAULT_INVALID_ARGUMENT", {
      where,
      problem: `more than 0 milliseconds are needed, got ${milliseconds}`,
    });
  }
  return milliseconds;
}

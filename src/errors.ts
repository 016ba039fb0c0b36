import { keysOf } from "./protocol/keys-of.js";
import { escapeUntrusted } from "./untrusted-text.js";

/**
 * Errors by the party that has to act: `text` says what happened, `fix` what to
 * do; `{name}` marks an argument. `cli` is the fix for the command line, if it names
 * an option; `{--instance}` repeats that option there. `refuses`: the error ends a
 * settlement as `refused`, before anything is sent.
 */
type Errors = Readonly<
  Record<string, { refuses?: true; text: string; fix: string; cli?: string }>
>;

const errors = {
  /** An option or a setting is wrong; nothing was sent. */
  user: {
    VAULT_INVALID_ADDRESS: {
      text: "{where} is not a valid address: {value} ({problem}).",
      fix: "Give 0x and 40 hex digits, all lower case or with a correct checksum.",
    },
    VAULT_CONTRACT_NOT_CONFIGURED: {
      text: "{operation} needs the {contract} contract, which has no address on network {network}.",
      fix: "Set {path}, or pass {role} to `vault.at()`. {hint}",
      cli: "Set {path}, or pass --at {role}=0x…. {hint}",
    },
    VAULT_INVALID_DEPLOYMENT_FILE: {
      text: "{file} cannot be used: {problem}.",
      fix: "Delete it and run {command} again.",
    },
    VAULT_INVALID_INTEGER: {
      text: "{where} is not a whole number from 0 to 2^{bits} - 1: {value}.",
      fix: "Give a non-negative whole number in that range, in decimal or 0x hex.",
    },
    VAULT_INVALID_ENUM: {
      text: "{where} is not one of {allowed}: {value}.",
      fix: "Use one of the listed values; nothing was sent.",
    },
    VAULT_INVALID_DECIMAL: {
      text: "{where} is not a decimal number of at least 0, with at most {decimals} digits after the point, that fits 256 bits: {value}.",
      fix: "Write it with digits and at most one point, as in 12.5; it is never rounded silently.",
    },
    VAULT_INVALID_TIME: {
      text: "{where} is not {form}: {value}.",
      fix: "Use an ISO date (2026-01-31 or 2026-01-31T12:00:00Z), a span from the chain's clock (+7d, +12h, +30m) or Unix seconds.",
    },
    VAULT_TIME_IN_PAST: {
      text: "{where} is {value}, which is not after the chain's clock ({chainTime}).",
      fix: "Give a later time.",
    },
    VAULT_TOKEN_DECIMALS_NOT_CONFIGURED: {
      text: "{where} is an amount in tokens, and the token precision of network {network} is not configured.",
      fix: "Set networks.{network}.vault.tokenDecimals, or pass --raw and integers as on the wire.",
    },
    VAULT_INVALID_BLOCK: {
      text: "{where} is not a block: {value}.",
      fix: "Use a block number or one of latest, safe, finalized, earliest, pending.",
    },
    VAULT_INVALID_ARGUMENT: {
      text: "{where}: {problem}.",
      fix: "Correct that value.",
    },
    VAULT_MISSING_OPTION: {
      text: "{where} is required and was not given.",
      fix: "{form}.",
    },
    VAULT_NOT_DECODABLE: {
      text: "These bytes cannot be decoded: {problem}.",
      fix: "Check that they are whole; `npx hardhat build` writes the artifacts of the project's own contracts.",
    },
    VAULT_UNKNOWN_INSTANCE: {
      text: "The network {network} has no instance {instance}.",
      fix: "Those of this network, as networks.{network}.vault.instances has them: {known}.",
    },
    VAULT_CONFIG_VARIABLE: {
      text: "{where} could not be resolved: {problem}",
      fix: "Set the configuration variable, in the environment or with a keystore; correct it if it is set.",
    },
    VAULT_LIVE_NETWORK: {
      text: "Network {network} (chain id {chainId}, client {client}) does not look like a development node: {action}.",
      fix: "Choose anvil, `hardhat node` or an in-process network. {otherwise}",
    },
    VAULT_INVALID_FIXTURE: {
      text: "The fixture {file} cannot be used: {problem}.",
      fix: "Record it again with `npx hardhat vault capture --out {file}`.",
    },
    VAULT_WRONG_CHAIN: {
      refuses: true,
      text: "Network {network} is configured for chain id {expected}, but the node answers {actual}.",
      fix: "Correct networks.{network}.chainId or the URL. Nothing was sent.",
    },
    VAULT_NO_SIGNER: {
      refuses: true,
      text: "Network {network} has no account to {action}.",
      fix: "Set networks.{network}.accounts, or use a node that holds keys.",
    },
    VAULT_UNKNOWN_SIGNER: {
      refuses: true,
      text: "{from} is not an account of network {network}; its accounts are: {known}.",
      fix: "Give one of these with the option `from`, or add its key to networks.{network}.accounts. Nothing was sent.",
      cli: "Give one of these with --from, or add its key to networks.{network}.accounts. Nothing was sent.",
    },
    VAULT_INVALID_KEY: {
      text: "{where} is not valid: {problem}.",
      fix: "Correct it, or the configuration variable that it names.",
    },
    VAULT_INSUFFICIENT_FUNDS: {
      refuses: true,
      text: "{from} has {balance} wei on network {network}, and the settlement may cost {cost} wei.",
      fix: "Fund the account, or choose another one with the option `from`. Nothing was sent.",
      cli: "Fund the account, or choose another one with --from. Nothing was sent.",
    },
    VAULT_GAS_LIMIT_TOO_LOW: {
      refuses: true,
      text: "The settings of network {network} limit the settlement to {gas} gas, which is less than it uses.",
      fix: "Raise `gas` or `gasMultiplier` in networks.{network}, or omit both. Nothing was sent.",
    },
    VAULT_PENDING_TRANSACTIONS: {
      refuses: true,
      text: "{count} transactions of {from} are not mined yet on network {network}, from nonce {nonce} on; the settlement would wait behind them.",
      fix: "Wait for them, or replace them in the wallet that sent them. Nothing was sent.",
    },
    VAULT_NOT_CONFIRMED: {
      refuses: true,
      text: "The question was not answered with Yes.",
      fix: "Nothing was sent.",
    },
    VAULT_NO_TERMINAL: {
      refuses: true,
      text: "There is no terminal to ask on.",
      fix: "Pass --yes to settle without a question. Nothing was sent.",
    },
    VAULT_SETTLEMENT_UNFINISHED: {
      refuses: true,
      text: "The outcome of an earlier settlement is not known yet: transaction {transaction}.",
      fix: "Find it out with the option `resume` of settleAll(); the journal is {file}. Nothing was sent.",
      cli: "Find it out with `vault settle --resume{--instance}`; the journal is {file}. Nothing was sent.",
    },
    VAULT_NOTHING_TO_RESUME: {
      refuses: true,
      text: "There is no settlement of vault {vault} on network {network} to resume ({file}).",
      fix: "Start one with settleAll(). Nothing was sent.",
      cli: "Start one with `vault settle{--instance}`. Nothing was sent.",
    },
    VAULT_SETTLEMENT_LOST: {
      refuses: true,
      text: "The interrupted settlement never left, or the node lost it: no transaction of {from} with nonce {nonce} is mined, and none waits.",
      fix: "Settle again with the same account: the new transaction takes the same nonce, so that only one of the two can be mined.",
    },
    VAULT_INVALID_JOURNAL: {
      text: "The settlement journal {file} cannot be used: {problem}.",
      fix: "It may be the only record of a transaction that was sent: look at it, check the account on the chain, and delete it only then.",
    },
    VAULT_JOURNAL_NOT_WRITTEN: {
      text: "The settlement journal {file} could not be written: {problem}.",
      fix: "Make that folder writable, and room on its disk; without a journal nothing is sent.",
    },
    VAULT_OUTPUT_NOT_WRITTEN: {
      text: "What the task has to say could not be written: {problem}.",
      fix: "What it did is done. Make room where its output goes, and look at the chain before you run a task again that sends.",
    },
    VAULT_CANNOT_FORK_IN_PROCESS: {
      text: "Network {network} runs in process and cannot be forked: there is no node to fork from.",
      fix: "Call simulateSettleAll() on it, which undoes what it did; or fork a network of type http.",
    },
    VAULT_FORK_NETWORK_TAKEN: {
      text: "The configuration defines networks.{network} as something else than an edr-simulated network, and forks are made with that one.",
      fix: "Give that network another name.",
    },
    VAULT_MINED_MEANWHILE: {
      text: "Network {network} mined a block by itself while the settlement was simulated, with another date than was asked for.",
      fix: "Stop its interval mining meanwhile, with evm_setIntervalMining and 0.",
    },
    VAULT_NO_SENDER: {
      text: "It is not known who would settle on network {network}.",
      fix: "Name an account with the option `{option}`, or set networks.{network}.from; no key is needed for it.",
      cli: "Name an account with --{option}, or set networks.{network}.from; no key is needed for it.",
    },
    VAULT_NOT_A_TOKEN: {
      text: "{token} does not answer balanceOf as a token does on network {network}: {problem}.",
      fix: "Check the address; tokens are ERC-20 contracts.",
    },
    VAULT_HARDHAT_ERROR: {
      text: "Hardhat refused: {problem}",
      fix: "The text is Hardhat's own.",
    },
  },
  /** The contracts refused, or answered something else than documented. */
  chain: {
    VAULT_BLOCK_NOT_FOUND: {
      text: "Network {network} has no block {block}.",
      fix: "Check the number, and that the node is synchronised that far.",
    },
    VAULT_MOCK_SCRIPT_FAILED: {
      text: "The mocks on network {network} could not be scripted: {problem}.",
      fix: "Correct what the message names, and script the mocks again.",
    },
    VAULT_NOT_A_MOCK: {
      text: "The {contract} contract {address} on network {network} is not a mock, so it cannot be scripted.",
      fix: "Script what deployMocks(), mockAt() or `vault deploy-mocks` put there; after a snapshot was reverted, deploy again.",
    },
    VAULT_NO_CODE: {
      text: "There is no contract code at {address}{when}, the {contract} contract on network {network} (address from {source}).",
      fix: "Check that address, that network {network} is the chain it is deployed on, and that it was deployed by the block that was read.",
    },
    VAULT_CALL_REVERTED: {
      text: "{operation} reverted: {reason} ({contract} contract {address}).",
      fix: "{hint}",
    },
    VAULT_RETURN_DATA_MALFORMED: {
      text: "{operation} answered bytes that are not what the ABI says: {problem} ({contract} contract {address}).",
      fix: "The address probably belongs to another contract; check where it comes from: {source}.",
    },
    VAULT_ROUND_CHANGED: {
      refuses: true,
      text: "This was meant for {expected}, but the vault is in {actual} now.",
      fix: "Look at `vault round`, and start again if that is the round to settle.",
    },
    VAULT_SETTLEMENT_NEEDED: {
      refuses: true,
      text: "There is a round to settle: {round}.",
      fix: "settleAll() settles it. Nothing was sent.",
      cli: "`vault settle{--instance}` settles it. Nothing was sent.",
    },
    VAULT_OUT_OF_GAS: {
      text: "settleAll runs out of gas on network {network}: it uses all of the {gas} that {limit}.",
      fix: "{remedy}",
    },
    VAULT_NOT_SETTLED: {
      text: "The contract accepts the call on network {network}, but the round is not settled by it.",
      fix: "See what it does change: a contract that settles in several parts has to be called again, and another may need something else first.",
    },
  },
  /** The node, or the way to it, failed. */
  rpc: {
    VAULT_NETWORK_UNREACHABLE: {
      text: "Network {network} cannot be reached: {problem}.",
      fix: "{remedy}",
    },
    VAULT_RPC_TIMEOUT: {
      text: "Network {network} did not answer {method} in time{tried}.",
      fix: "Try again, or allow more time: networks.{network}.timeout for each request, the option `timeout` for a whole read.",
      cli: "Try again, or allow more time: networks.{network}.timeout for each request; if --timeout was given, that too.",
    },
    VAULT_RPC_ERROR: {
      text: "Network {network} refused {method}: {problem}",
      fix: "The text is the node's own.",
    },
    VAULT_RPC_INVALID_RESPONSE: {
      text: "Network {network} answered {method} with something that is not JSON-RPC: {problem}",
      fix: "Check that the configured URL is an Ethereum JSON-RPC endpoint.",
    },
    VAULT_CHAIN_CHANGED: {
      text: "Network {network} answered chain id {expected} at first and {actual} now.",
      fix: "Check what the configured URL points to.",
    },
    VAULT_ARCHIVE_NODE_NEEDED: {
      text: "Network {network} has block {block}, but not the state of the chain at that block: {problem}",
      fix: "Use an archive node, or a newer block.",
    },
    VAULT_ENGINE_UNAVAILABLE: {
      text: "A settlement cannot be simulated with engine {engine} on network {network}: {problem}.",
      fix: "Leave the engine open, and another one answers.",
    },
  },
  /** A state that this package believes impossible. */
  bug: {
    VAULT_INTERNAL: {
      text: "hardhat-vault failed in a way it should not: {problem}",
      fix: "Please report it, with what you ran.",
    },
  },
} as const satisfies Record<string, Errors>;

/** The party that has to act on an error; a `bug` is a mistake of this package. */
export type ErrorKind = keyof typeof errors;

export const errorsByKind: Readonly<Record<ErrorKind, Errors>> = errors;

const errorTable = {
  ...errors.user,
  ...errors.chain,
  ...errors.rpc,
  ...errors.bug,
};

export type VaultErrorCode = keyof typeof errorTable;

type TagsOf<Template extends string> =
  Template extends `${string}{${infer Tag}}${infer Rest}`
    ? Tag | TagsOf<Rest>
    : never;

export interface GivenValue {
  readonly value: string;
  readonly shown: string;
}

export type ErrorArgument = string | number | bigint | GivenValue;

type TextsOf<Entry> = Entry[keyof Entry & ("text" | "fix" | "cli")];

export type VaultErrorArguments<Code extends VaultErrorCode> = Record<
  Exclude<TagsOf<TextsOf<(typeof errorTable)[Code]> & string>, "--instance">,
  ErrorArgument
>;

const brand: unique symbol = Symbol.for("hardhat-vault.VaultError");

export class VaultError extends Error {
  public override readonly name = "VaultError";
  public readonly code: VaultErrorCode;
  public readonly kind: ErrorKind;
  /** Without the fix. */
  public readonly shortMessage: string;
  /** Says what to do. */
  public readonly fix: string;
  /** The values in the texts, by name; integers as decimal strings. */
  public readonly details: Readonly<Record<string, string | number>>;

  constructor(
    code: VaultErrorCode,
    args: Readonly<Record<string, ErrorArgument>>,
    cause?: unknown,
  ) {
    const shown = readArguments(args, "shown");
    const shortMessage = fill(errorTable[code].text, shown);
    const fix = fill(errorTable[code].fix, shown);
    super(
      `${shortMessage} ${fix}`,
      cause === undefined ? undefined : { cause },
    );
    this.code = code;
    this.kind =
      keysOf(errorsByKind).find((kind) => code in errorsByKind[kind]) ?? "bug";
    this.shortMessage = shortMessage;
    this.fix = fix;
    this.details = readArguments(args, "value");
    Object.defineProperties(this, {
      [brand]: { value: shown },
      // So Hardhat prints the message alone. The client must not load Hardhat.
      _isHardhatPluginError: { value: true },
      pluginId: { value: "hardhat-vault" },
    });
  }

  /**
   * Recognises a VaultError also of another copy of this package.
   *
   * @example
   * ```ts
   * const error: unknown = await vault
   *   .getOrderInfo(-1n)
   *   .catch((thrown: unknown) => thrown);
   * VaultError.isVaultError(error) && error.code;
   * // 'VAULT_INVALID_INTEGER'
   * ```
   */
  public static isVaultError(value: unknown): value is VaultError {
    return typeof value === "object" && value !== null && brand in value;
  }
}

function fill(
  template: string,
  shown: Readonly<Record<string, unknown>>,
): string {
  return template
    .replaceAll(/\{([\w-]+)\}/gu, (tag, name: string) => {
      const value = shown[name];
      return typeof value === "string" || typeof value === "number"
        ? String(value)
        : tag;
    })
    .trimEnd();
}

/**
 * The texts of an error for the command line, where an option is a flag.
 *
 * @param flags Flags in the place of arguments, by name.
 */
export function textsForCommandLine(
  error: VaultError,
  flags: Readonly<Record<string, string>> = {},
): Pick<VaultError, "shortMessage" | "fix"> {
  const entry: Errors[string] = errorTable[error.code];
  const given: unknown = Reflect.get(error, brand);
  const shown = {
    "--instance": "",
    ...(typeof given === "object" ? given : {}),
    ...flags,
  };
  return {
    shortMessage: fill(entry.text, shown),
    fix: fill(entry.cli ?? entry.fix, shown),
  };
}

export function vaultError<Code extends VaultErrorCode>(
  code: Code,
  args: VaultErrorArguments<Code>,
  cause?: unknown,
): VaultError {
  return new VaultError(code, args, cause);
}

/** True for an error that is the outcome `refused` of a settlement. */
export function refusesSettlement(error: unknown): error is VaultError {
  return VaultError.isVaultError(error) && "refuses" in errorTable[error.code];
}

export function invalidArgument(where: string, problem: string): VaultError {
  return vaultError("VAULT_INVALID_ARGUMENT", { where, problem });
}

export function assertInvariant(
  condition: boolean,
  problem: string,
): asserts condition {
  if (!condition) {
    throw vaultError("VAULT_INTERNAL", { problem });
  }
}

/** Handles a rejection: a value stands for expected errors, others are thrown. */
export function fallbackTo<Value>(
  value: Value,
  isExpected: (error: VaultError) => boolean = () => true,
): (error: unknown) => Value {
  return (error) => {
    if (VaultError.isVaultError(error) && isExpected(error)) {
      return value;
    }
    throw error;
  };
}

function readArguments(
  args: Readonly<Record<string, ErrorArgument>>,
  part: keyof GivenValue,
): Record<string, string | number> {
  return Object.fromEntries(
    Object.entries(args).map(([key, argument]) => {
      const value = typeof argument === "object" ? argument[part] : argument;
      return [
        key,
        typeof value === "number" ? value : escapeUntrusted(String(value)),
      ];
    }),
  );
}

// The codes of errors with their texts.

/**
 * `text`: what happened. `fix`: what to do. `{name}`: an argument. `cli`: the fix on
 * the command line, if more than an option's name differs; `{--network}` repeats the
 * options that choose the contracts there.
 */
export type Errors = Readonly<
  Record<string, { text: string; fix: string; cli?: string }>
>;

const others = {
  /** An option or a setting is wrong; nothing was sent. */
  user: {
    VAULT_INVALID_ADDRESS: {
      text: "{where} is not a valid address: {value} ({problem}).",
      fix: "Give 0x and 40 hex digits, all lower case or with a correct checksum.",
    },
    VAULT_CONTRACT_NOT_CONFIGURED: {
      text: "{operation} needs the {contract} contract, which has no address on network {network}.",
      fix: "{hint} For a deployed contract, set {path}, or pass {role} to `vault.at()`.",
      cli: "{hint} For a deployed contract, set {path}, or pass --at {role}=0x….",
    },
    VAULT_INVALID_DEPLOYMENT_FILE: {
      text: "{file} cannot be used: {problem}.",
      fix: "Delete the file, make its folder writable, and run {command} again.",
    },
    VAULT_INVALID_INTEGER: {
      text: "{where} is not a whole number from 0 to 2^{bits} - 1: {value}.",
      fix: "Give a non-negative whole number in that range, in decimal or 0x hex; in code, a bigint above 2^53 - 1.",
    },
    VAULT_TOKEN_DECIMALS_NOT_CONFIGURED: {
      text: "{where} is an amount of tokens, but network {network} has no tokenDecimals.",
      fix: "Set networks.{network}.vault.tokenDecimals, pass another --network, or pass --raw and unscaled integers.",
    },
    VAULT_INVALID_ARGUMENT: {
      text: "{where}: {problem}.",
      fix: "{remedy}",
    },
    VAULT_CONFIG_VARIABLE: {
      text: "{where} could not be resolved: {problem}",
      fix: "Set the configuration variable in the environment of this process or in a keystore, or correct its value. A scheduler such as cron has an environment of its own.",
    },
    VAULT_LIVE_NETWORK: {
      text: "Network {network} (chain id {chainId}, client {client}) is not a known development node, and mocks are for these.",
      fix: "Use anvil, `hardhat node` or an in-process network. Elsewhere, only deployMocks() with `allowLiveNetwork` and `npx hardhat vault deploy-mocks --yes` are possible; they cost money, and need a limit of the fee.",
    },
    VAULT_INVALID_FIXTURE: {
      text: "The fixture {file} cannot be used: {problem}.",
      fix: "Check the path, or record it again: `npx hardhat vault capture --network <name> --out '{file}'`.",
    },
    VAULT_GUARD_NOT_DEPLOYED: {
      text: "The guard could not be deployed on network {network}: {problem}.",
      fix: "Look for the transaction, if its hash was printed, before you try again.",
    },
    VAULT_INVALID_JOURNAL: {
      text: "The settlement journal {file} cannot be used: {problem}.",
      fix: "Do not delete it: it may be the only record of a transaction that was sent. If it belongs to another user, as after a run as root, give it to the one who runs this task (chown). Else read it, check the account on the chain, and then rename and keep it.",
    },
    VAULT_JOURNAL_NOT_WRITTEN: {
      text: "The settlement journal {file} could not be written: {problem}.",
      fix: "Correct what the system names; the folder has to be writable. Without a journal nothing is sent.",
    },
    VAULT_OUTPUT_NOT_WRITTEN: {
      text: "The task finished, but its output was not written: {problem}.",
      fix: "Free disk space for the output. If the task sends transactions, check the chain before you run it again.",
    },
    VAULT_MINED_MEANWHILE: {
      text: "Network {network} mined a block by itself during the simulation, with another time than the simulated one.",
      fix: "Turn interval mining off during the simulation: send evm_setIntervalMining with 0.",
    },
    VAULT_NO_SENDER: {
      text: "Network {network} has no account to settle with.",
      fix: "Name an account with the option `from`, or set networks.{network}.from. Its key is not needed.",
    },
    VAULT_HARDHAT_ERROR: {
      text: "{source} failed: {problem}",
      fix: "This message is not from the node: correct what it names.",
    },
  },
  /** A contract reverted, or did not behave as documented. */
  chain: {
    VAULT_BLOCK_NOT_FOUND: {
      text: "Network {network} has no block {block}.",
      fix: "Check the number, and that the node is synchronised to that block.",
    },
    VAULT_MOCK_SCRIPT_FAILED: {
      text: "The mocks on network {network} could not be scripted: {problem}.",
      fix: "Correct what the message names, and script the mocks again.",
    },
    VAULT_NOT_A_MOCK: {
      text: "The {contract} contract {address} on network {network} is not a mock, so it cannot be scripted.",
      fix: "Deploy mocks with deployMocks(), mockAt() or `vault deploy-mocks`. If a snapshot was reverted, deploy them again.",
    },
    VAULT_NO_CODE: {
      text: "There is no contract code at {address}{when}, the {contract} contract on network {network} (address from {source}).",
      fix: "Check the address, and that network {network} is its chain. Blocks before its deployment have no code.",
    },
    VAULT_CALL_REVERTED: {
      text: "{operation} reverted: {reason} ({contract} contract {address}).",
      fix: "{hint}",
    },
    VAULT_RETURN_DATA_MALFORMED: {
      text: "{operation} returned bytes that do not match its ABI: {problem} ({contract} contract {address}).",
      fix: "The address probably belongs to another contract. It comes from {source}: check it there.",
    },
    VAULT_ROUND_NOT_ENDED: {
      text: "The round has not ended yet: it ends at {time}.",
      fix: "Settle it after its end.",
    },
    VAULT_GUARD_REFUSED: {
      text: "The guard {guard} refuses the settlement: {problem}.",
      fix: "A guard does not fit this vault and this account: settle with another account, or remove `guard` from the settings.",
    },
    VAULT_OUT_OF_GAS: {
      text: "settleAll runs out of gas on network {network}: it uses all of the {gas} that {limit}.",
      fix: "{remedy}",
    },
  },
  /** The node or the connection to it failed. */
  rpc: {
    VAULT_NETWORK_UNREACHABLE: {
      text: "Network {network} cannot be reached: {problem}",
      fix: "{remedy}",
    },
    VAULT_RPC_TIMEOUT: {
      text: "Network {network} did not answer {method} in time.",
      fix: "Try again, or allow more time: raise networks.{network}.timeout for each request, or the option `timeout`, where there is one.",
    },
    VAULT_RPC_ERROR: {
      text: "Network {network} refused {method}: {problem}",
      fix: "This message is from the node: correct what it names, or use another node.",
    },
    VAULT_RPC_INVALID_RESPONSE: {
      text: "The answer of network {network} to {method} cannot be used: {problem}",
      fix: "Check that networks.{network}.url is an Ethereum JSON-RPC endpoint.",
    },
    VAULT_CHAIN_CHANGED: {
      text: "Network {network} returned chain id {expected} at first and {actual} now.",
      fix: "Check that every node behind networks.{network}.url is on the same chain.",
    },
    VAULT_ARCHIVE_NODE_NEEDED: {
      text: "Network {network} has block {block}, but not the state of the chain at that block: {problem}",
      fix: "Use an archive node, or a newer block.",
    },
    VAULT_REORGED: {
      text: "Network {network} replaced block {block} while it was read: its hash was {expected} and is {found} now.",
      fix: "Read again, or make the fork anew; at a finalized block if this happens again.",
    },
    VAULT_ENGINE_UNAVAILABLE: {
      text: "A settlement cannot be simulated with engine {engine} on network {network}: {problem}.",
      fix: "Use another engine, or another node.",
    },
  },
  /** A state that should be impossible. */
  bug: {
    VAULT_INTERNAL: {
      text: "hardhat-vault failed because of a bug: {problem}",
      fix: "Please report it, with the command or the code that you ran.",
    },
  },
} as const satisfies Record<string, Errors>;

/** They end a settlement as `refused`, before anything is sent. */
const refusals = {
  user: {
    VAULT_WRONG_CHAIN: {
      text: "Network {network} is configured for chain id {expected}, but the node returned {actual}.",
      fix: "Correct networks.{network}.chainId or networks.{network}.url. Nothing was sent.",
    },
    VAULT_NO_SIGNER: {
      text: "Network {network} has no account that can send a transaction.",
      fix: "Set networks.{network}.accounts, or use a node that holds keys.",
    },
    VAULT_UNKNOWN_SIGNER: {
      text: "{from} is not an account of network {network}; its accounts are: {known}.",
      fix: "Add the key of {from} to networks.{network}.accounts, or send from one of its accounts. Nothing was sent.",
    },
    VAULT_INVALID_GUARD: {
      text: "The guard {guard} on network {network} cannot be used: {problem} (address from {source}).",
      fix: "Deploy one with `npx hardhat vault deploy-guard{--network}`, and set the address that it prints. Nothing was sent.",
    },
    VAULT_INSUFFICIENT_FUNDS: {
      text: "{from} has {balance} wei on network {network}, and the settlement may cost {cost} wei.",
      fix: "Fund the account, or settle with another one. Nothing was sent.",
    },
    VAULT_FEE_ABOVE_LIMIT: {
      text: "The transaction needs {what} of {price} per gas on network {network}, which is above the limit of {limit} ({setting}).",
      fix: "Try again when gas is cheaper, or raise {setting}: an option only lowers a limit of the configuration. Nothing was sent.",
    },
    VAULT_FEE_LIMIT_NEEDED: {
      text: "Nobody is asked, network {network} is live, and no limit bounds the fee. A unit of gas costs {price} now.",
      fix: "Write `maxFeePerGasLimit: {limit}n,` into networks.{network}.vault: ten times that. Or pass `maxFeePerGas: {limit}n`, which settleAll() takes. Nothing was sent.",
      cli: "Write `maxFeePerGasLimit: {limit}n,` into networks.{network}.vault: ten times that. Or pass `--max-fee-per-gas {limit}wei`, which `settle` takes. Nothing was sent.",
    },
    VAULT_REVERTED_BEFORE: {
      text: "Transaction {hash} was to settle this round on network {network}, and reverted in block {block}. Another one may be paid for in vain, too.",
      fix: "Find out why it reverted. Then pass `confirm`, which asks a person, or `retryReverted: true`. Nothing was sent.",
      cli: "Find out why it reverted. Then settle without --yes, which asks you, or with --retry-reverted. Nothing was sent.",
    },
    VAULT_GAS_LIMIT_TOO_LOW: {
      text: "The settings of network {network} limit the settlement to {gas} gas, which is less than it uses.",
      fix: "Raise `gas` or `gasMultiplier` in networks.{network}, or omit both. Nothing was sent.",
    },
    VAULT_PENDING_TRANSACTIONS: {
      text: "Transactions of {from} on network {network} are not mined yet: {count}, from nonce {nonce} on. Another one cannot be mined before them.",
      fix: "Wait until they are mined, or replace them in the wallet that sent them. Nothing was sent.",
    },
    VAULT_NOT_CONFIRMED: {
      text: "Cancelled.",
      fix: "Nothing was sent.",
    },
    VAULT_NO_TERMINAL: {
      text: "The task cannot ask for confirmation, because there is no terminal.",
      fix: "Pass --yes to go on without a question. Nothing was sent.",
    },
    VAULT_PREVIEW_CHANGED: {
      text: "The settlement was simulated again before sending, and {change}.",
      fix: "Settle again to see the new preview. Nothing was sent.",
    },
    VAULT_SETTLEMENT_UNFINISHED: {
      text: "The outcome of an earlier settlement is not known yet: transaction {transaction}.",
      fix: "Check it with the option `resume` of settleAll(); the journal is {file}. Nothing was sent.",
      cli: "Check it with `npx hardhat vault settle --resume{--network}`; the journal is {file}. Nothing was sent.",
    },
    VAULT_NOTHING_TO_RESUME: {
      text: "There is no settlement of vault {vault} on network {network} to resume ({file}).",
      fix: "Start one with settleAll(), or `npx hardhat vault settle{--network}`. Nothing was sent.",
    },
    VAULT_SETTLEMENT_LOST: {
      text: "The interrupted settlement was never sent, or the node lost it: no transaction of {from} with nonce {nonce} is mined or pending.",
      fix: "Settle again with the same account. The new transaction has the same nonce, so only one of the two can be mined.",
    },
    VAULT_CANNOT_REPLACE: {
      text: "The settlement's transaction of {from} with nonce {nonce} cannot be replaced: {problem}.",
      fix: "{remedy}",
    },
    VAULT_JOURNAL_OF_OTHER_CHAIN: {
      text: "The journal {file} has an unfinished settlement ({transaction}) of chain {chainId} with the first block {genesis}, and the node answers {found} for its first block.",
      fix: "Use a node of that chain, which has its first block. If that chain is gone, check that account {from} has no transaction on its way, and delete the file. Nothing was sent.",
    },
  },
  chain: {
    VAULT_ROUND_CHANGED: {
      text: "The round changed. Expected: {expected}. Now: {actual}.",
      fix: "Start again if the current round is the one that you want.",
    },
    VAULT_SETTLEMENT_NEEDED: {
      text: "There is a round to settle: {round}.",
      fix: "Call settleAll() to settle it. Nothing was sent.",
      cli: "If a keeper settles it, look there: `npx hardhat vault status{--network}` and `npx hardhat vault doctor{--network}`. Nothing was sent.",
    },
    VAULT_WOULD_NOT_SETTLE: {
      text: "The contract accepts the call on network {network}, but the round is not settled by it.",
      fix: "Check that {contract} and {factory} belong together. If the contract settles in several transactions, pass the option `partial`. Nothing was sent.",
    },
    VAULT_NOT_SETTLER: {
      text: "{from} may not settle through the guard {guard}, which names another account.",
      fix: "Settle with the guard's account, or deploy a guard for this one: `npx hardhat vault deploy-guard{--network}`.",
    },
    VAULT_GUARD_KEEPS_TOKENS: {
      text: "The settlement would leave tokens in the guard {guard}, from which nobody can take them: {tokens}.",
      fix: "Name them, and the guard forwards them: set {setting} to {list}, or name {option} with the option `tokens`. It forwards ERC-20 tokens and native currency alone: for others, remove `guard` from the settings. Nothing was sent.",
    },
    VAULT_TOKENS_NOT_KNOWN: {
      text: "On network {network}, {problem}. So it is not known which tokens the vault pays to its caller, the guard {guard}, which forwards those alone that are named.",
      fix: "Name them with the option `tokens` or the setting `vault.tokens`; if there are none, say that there. Nothing was sent.",
    },
  },
  rpc: {
    VAULT_STALE_HEAD: {
      text: "The newest block of network {network} is {age} s old (block {block}), and the limit is {limit} s: the node may be behind.",
      fix: "Check that the node is synchronised, and this machine's clock. If the chain makes blocks on demand, set `maxHeadAge` in networks.{network}.vault. Nothing was sent.",
    },
  },
} as const satisfies Record<string, Errors>;

/** Cause of an error: user input, a contract, the node, or a bug of this package. */
export type ErrorKind = keyof typeof others;

const errorsOf = {
  user: { ...others.user, ...refusals.user },
  chain: { ...others.chain, ...refusals.chain },
  rpc: { ...others.rpc, ...refusals.rpc },
  bug: others.bug,
};

export const errorsByKind: Readonly<Record<ErrorKind, Errors>> = errorsOf;

export const errorTable = {
  ...errorsOf.user,
  ...errorsOf.chain,
  ...errorsOf.rpc,
  ...errorsOf.bug,
};

export type VaultErrorCode = keyof typeof errorTable;

export function isErrorCode(text: string): text is VaultErrorCode {
  return Object.hasOwn(errorTable, text);
}

/** True of the code of an error that ends a settlement as `refused`. */
export function isRefusalCode(code: VaultErrorCode): boolean {
  return Object.values(refusals).some((codes) => code in codes);
}

import type { Hex } from "../protocol/index.js";
import type { RequestedReplacement } from "./options.js";
import type { SendAnswer } from "./send.js";
import type {
  FoundTransaction,
  Look,
  Replacement,
  RoundSighting,
  Scan,
  Sighting,
} from "./sighting.js";
import { newestOf } from "./transaction.js";
import type { SentTransactions } from "./transaction.js";

/** The rules of a settlement. What is known of its transactions is the state. */
export interface Plan {
  readonly network: string;
  /** Latest block before the first transaction was sent. */
  readonly sentAfterBlock: number;
  /** True if another process may have sent a transaction: it is looked for first. */
  readonly isResumed: boolean;
  readonly confirmations: number;
  /** Replacement that a person asks for. */
  readonly requestedReplacement?: RequestedReplacement | undefined;
  /** Milliseconds; undefined: fees are never raised without a request. */
  readonly timeBeforeBumpingFees?: number | undefined;
  readonly maxFeeBumps: number;
}

/** Everything that a settlement knows of its transactions at one moment. */
export interface State {
  /** Oldest first; all have the same account and nonce. */
  readonly transactions: SentTransactions;
  /** Every hash that they had, oldest first. */
  readonly hashes: readonly Hex[];
  /** By the newest look; undefined before the first. */
  readonly transaction: Look["transaction"] | undefined;
  /** By the newest look that had an answer. */
  readonly known: FoundTransaction | undefined;
  /** Number of the newest block, as of that look. */
  readonly head: number | undefined;
  readonly scan: Scan | undefined;
  /** The round as last read. */
  readonly round: RoundSighting | undefined;
  /** True if the time of the settlement is over. */
  readonly isOver: boolean;
  /** True once a look found one of them, or their nonce used. */
  readonly wasSeen: boolean;
  /** Sends of this process, however they were answered. */
  readonly sends: number;
  /** Answer to the newest transaction; undefined if it was not sent here. */
  readonly answer: SendAnswer | undefined;
  /** Sends in a row that were answered with errors, since one was seen or accepted. */
  readonly refusals: number;
  /** Those of them that the node would repeat. */
  readonly lastingRefusals: number;
  /** The newest try to replace the transaction. */
  readonly replacement:
    | { readonly at: number; readonly tried: Replacement }
    | undefined;
  /** Looks since the newest try to send or to replace; Infinity if there was none. */
  readonly looks: number;
  /** Looks in a row that found nothing, since one was seen or sent. */
  readonly looksInVain: number;
}

/** State before the first look. */
export function begin(transactions: SentTransactions): State {
  return {
    transactions,
    hashes: hashesOf(transactions),
    transaction: undefined,
    known: undefined,
    head: undefined,
    scan: undefined,
    round: undefined,
    isOver: false,
    wasSeen: false,
    sends: 0,
    answer: undefined,
    refusals: 0,
    lastingRefusals: 0,
    replacement: undefined,
    looks: Infinity,
    looksInVain: 0,
  };
}

/** The state after a sighting. Pure: the only place where a state changes. */
export function step(state: State, sighting: Sighting): State {
  switch (sighting.kind) {
    case "look":
      return afterLook(state, sighting);
    case "round": {
      const { round } = sighting;
      const looks = round.kind === "open" ? state.looks : 0;
      return { ...state, round, looks };
    }
    case "sent":
      return afterSend(state, sighting.answer);
    case "replacement": {
      const { at, replacement: tried } = sighting;
      const answer = tried.kind === "made" ? undefined : state.answer;
      return { ...state, answer, replacement: { at, tried }, looks: 0 };
    }
    case "journal":
      return withTransactions(state, sighting.transactions);
  }
}

function afterLook(state: State, look: Look): State {
  const { transaction, isOver } = look;
  const scan = look.scan ?? state.scan;
  const round = look.round ?? state.round;
  const looks = state.looks + 1;
  if (transaction.kind === "unread") {
    return { ...state, transaction, isOver, scan, round, looks };
  }
  const isFound = transaction.kind !== "unknown";
  const seen = {
    ...{ transaction, known: transaction, head: look.head },
    ...{ isOver, scan, round, looks },
    wasSeen: state.wasSeen || isFound,
    looksInVain: isFound ? 0 : state.looksInVain + 1,
    refusals: isFound ? 0 : state.refusals,
    lastingRefusals: isFound ? 0 : state.lastingRefusals,
  };
  const hash = "hash" in transaction ? transaction.hash : undefined;
  return withHash({ ...state, ...seen }, hash);
}

function afterSend(state: State, answer: SendAnswer): State {
  const isRefused = answer.kind === "refused";
  const isLasting = isRefused && !answer.isTransient;
  const sent = {
    answer,
    sends: state.sends + 1,
    looks: 0,
    looksInVain: 0,
    refusals: isRefused ? state.refusals + 1 : 0,
    lastingRefusals: isRefused ? state.lastingRefusals + Number(isLasting) : 0,
  };
  const hash = answer.kind === "accepted" ? answer.hash : undefined;
  return withHash({ ...state, ...sent }, hash);
}

function withTransactions(state: State, transactions: SentTransactions): State {
  const hashes = new Set([...state.hashes, ...hashesOf(transactions)]);
  return { ...state, transactions, hashes: [...hashes] };
}

/** A wallet may change the hash; signed bytes keep the one that the journal has. */
function withHash(state: State, hash: Hex | undefined): State {
  if (hash === undefined || state.hashes.includes(hash)) {
    return state;
  }
  const [first, ...others] = state.transactions;
  const hashes = [...state.hashes, hash];
  return newestOf(state).raw === undefined
    ? { ...state, hashes, transactions: [{ ...first, hash }, ...others] }
    : { ...state, hashes };
}

function hashesOf(transactions: SentTransactions): readonly Hex[] {
  return transactions.flatMap(({ hash }) => hash ?? []);
}

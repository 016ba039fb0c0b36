import { concat, dataLength, encodeBytes32String, id, toBeHex } from "ethers";

// Contracts that do one odd thing, too small for a compiler.

/** Answers every call with as many words, each of them the block's number. */
export function answersBlockNumber(words: number): string {
  return concat([
    ...Array.from({ length: words }, (_, index) => storeBlockNumber(index)),
    returnWords(words),
  ]);
}

/**
 * Answers every call as `getOrderInfo` does: an empty string, and the block's
 * number in every other field.
 */
export function answersOrderOfBlockNumber(): string {
  const fields = 13;
  return concat([
    // The string's offset; its length, after the fields, stays 0.
    push2(fields * 32),
    "0x600052",
    ...Array.from({ length: fields - 1 }, (_, index) =>
      storeBlockNumber(index + 1),
    ),
    returnWords(fields + 1),
  ]);
}

const returnWord = "0x5f5260205ff3";

/** Emits Transfer(this, caller, 1). */
export const emitsTransfer = concat([
  concat(["0x60015f5233307f", id("Transfer(address,address,uint256)")]),
  "0x60205fa300",
]);

/**
 * Answers `symbol` with 32 bytes, as old tokens do, and `decimals`.
 *
 * @param otherwise What it does if it is called otherwise: returns the block's number.
 */
export function answersToken(
  symbol: string,
  decimals: number,
  otherwise = concat(["0x43", returnWord]),
): string {
  const symbolAt = 24 + dataLength(otherwise);
  return concat([
    "0x5f3560e01c",
    concat(["0x806395d89b411460", toBeHex(symbolAt, 1), "0x57"]),
    concat(["0x63313ce5671460", toBeHex(symbolAt + 40, 1), "0x57"]),
    otherwise,
    concat(["0x5b7f", encodeBytes32String(symbol), returnWord]),
    concat(["0x5b60", toBeHex(decimals, 1), returnWord]),
  ]);
}

/** Sends all that it has to whoever calls. */
export const paysItsCaller = "0x5f5f5f5f47335af100";

/** Runs an invalid instruction. */
export const failsInvalid = "0xfe";

/** Uses up about as much gas when it is called `settleAll`, and succeeds. */
export function burnsGas(gas: number): string {
  // Memory of n words costs 3 n + n² / 512: one store far out does it.
  const words = Math.floor((Math.sqrt(9 + gas / 128) - 3) * 256);
  return concat([
    // Of another function's call: stop.
    "0x5f3560e01c63a015aefe14600f57005b",
    "0x5f62",
    toBeHex((words - 1) * 32, 3),
    "0x5200",
  ]);
}

function storeBlockNumber(index: number): string {
  return concat(["0x43", push2(index * 32), "0x52"]);
}

function returnWords(words: number): string {
  return concat([push2(words * 32), "0x6000f3"]);
}

function push2(value: number): string {
  return concat(["0x61", toBeHex(value, 2)]);
}

/** Returns the block's number, and reverts if its caller has code. */
export const refusesCode = "0x333b15600957" + "5f5ffd" + "5b435f5260205ff3";

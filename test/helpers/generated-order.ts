import { toBeHex } from "ethers";

import { checksumAddress } from "../../src/client/inputs.js";
import { ContractType, OrderState } from "../../src/protocol/index.js";
import type { VaultOrder } from "../../src/types.js";

const ONE = 10n ** 18n;
const DISTINCT_ORDERS = 1_000_000n;
const FIRST_HOLDER = 0x1000000000000000000000000000000000000001n;
const tickers = ["BTC", "ETH", "BNB", "SOL", "XRP"];

/** The order of an id in a generated range, by the formula of `MockTrading._generatedOrder`. */
export function generatedOrder(orderID: bigint): VaultOrder {
  const n = orderID % DISTINCT_ORDERS;
  const number = ((n + 1n) * ONE) / 100n;
  const newLockFee = number / 10_000n;
  const openPrice = (100n + (n % 997n)) * ONE;
  const marginAmount = (number * openPrice) / (10n * ONE);
  const isClosed = n % 3n === 0n;
  return {
    exType: `${tickers[Number(n % 5n)] ?? ""}-USDT`,
    holder: checksumAddress(toBeHex(FIRST_HOLDER + (n % 7n), 20)),
    number,
    exFee: number / 1_000n,
    lockFee: newLockFee * (n % 10n),
    newLockFee,
    openPrice,
    marginAmount,
    marginFee: marginAmount / 100n,
    startTime: 1_700_000_000n + n * 60n,
    closePrice: isClosed ? (openPrice * 102n) / 100n : 0n,
    contractType: n % 2n === 0n ? ContractType.put : ContractType.call,
    state: isClosed ? OrderState.closed : OrderState.open,
  };
}

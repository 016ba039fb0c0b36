// Checked by tsc and never run: the types of `hardhat-vault/client`. What other tests use
// compiles there; here is what has to be refused, and the exact types.
/* eslint-disable @typescript-eslint/no-unsafe-call, @typescript-eslint/restrict-plus-operands -- never run: values stand for their types, and wrong uses are the point */
import { VaultClient } from "../../src/client/index.js";
import type {
  Address,
  AddressResolver,
  Eip1193Provider,
  FailedReading,
  LocatedAddress,
  MarginAmounts,
  Order,
  StrictVaultSnapshot,
  VaultOrder,
  PoolAmounts,
  ReadOptions,
  VaultContracts,
  VaultErrorCode,
  VaultRound,
  VaultSnapshot,
} from "../../src/client/index.js";
import type { Address as ViemAddress } from "viem";
import type { MockVault, Vault } from "../../src/bindings/index.js";
import type { VaultError } from "../../src/errors.js";
import type { MockOrder } from "../../src/mocks/types.js";
import { expectAssignable, expectType } from "./expect-type.js";
import type { Same } from "./expect-type.js";

declare const client: VaultClient;
declare const provider: Eip1193Provider;

export function addresses(
  plain: string,
  { holder }: VaultOrder,
  { address }: LocatedAddress,
): void {
  expectType<Same<typeof holder, Address>>();
  expectAssignable<ViemAddress>(holder);
  expectAssignable<ViemAddress>(address);
  // An address that is passed in may be any string.
  client.at({ vault: plain });
  client.orders({ holder: plain });
  expectAssignable<ReadOptions>({ from: plain });
  expectAssignable<AddressResolver>(
    async () => await Promise.resolve({ address: plain, source: "" }),
  );
  expectAssignable<MockOrder["holder"]>(plain);
}

type Result<Method extends (...args: never) => unknown> = Awaited<
  ReturnType<Method>
>;

export async function reads(): Promise<void> {
  expectType<Same<Result<VaultClient["getFundingFeeRate"]>, bigint>>();
  expectType<Same<Result<VaultClient["getLatestRoundInfo"]>, VaultRound>>();
  expectType<Same<Result<VaultClient["getOrderInfo"]>, VaultOrder>>();
  expectType<Same<Result<VaultClient["calMargins"]>, MarginAmounts>>();
  expectType<Same<Result<VaultClient["getLPAmountInfo"]>, PoolAmounts>>();
  const named = await client.read("getLPAmountInfo", ["public"]);
  expectType<Same<typeof named, PoolAmounts>>();
}

export async function refusedReads(): Promise<void> {
  // @ts-expect-error -- neither call nor put
  await client.getFundingFeeRate(3);
  // @ts-expect-error -- an id is a number, not a text
  await client.getOrderInfo("1");
  // @ts-expect-error -- three values of one type would be too easy to swap
  await client.calMargins(1n, 2n, 3n);
  // @ts-expect-error -- there are two pools
  await client.getLPAmountInfo("secret");
  // @ts-expect-error -- no such tag
  await client.queryVolume({ blockTag: "newest" });
  // @ts-expect-error -- no such option
  await client.queryVolume({ block: 1 });
  // @ts-expect-error -- a client over a bare provider does not settle
  await client.settleAll();
  // @ts-expect-error -- settleAll is not a read
  await client.read("settleAll", []);
  // @ts-expect-error -- the arguments of another operation
  await client.read("queryVolume", [1n]);
}

export function construction(): void {
  // @ts-expect-error -- no such contract
  new VaultClient(provider, { pool: "0x" });
  // @ts-expect-error -- addresses are needed, if only an empty object
  new VaultClient(provider);
}

export async function snapshots(): Promise<void> {
  const snapshot = await client.snapshot({ blockTag: "safe" });
  expectType<Same<typeof snapshot, VaultSnapshot>>();
  expectType<Same<VaultSnapshot["volume"], bigint | FailedReading>>();
  expectType<
    Same<VaultSnapshot["pools"]["public"], PoolAmounts | FailedReading>
  >();
  // @ts-expect-error -- it may have failed
  snapshot.volume + 1n;
  const strict = await client.snapshot({ strict: true });
  expectType<Same<typeof strict, StrictVaultSnapshot>>();
  expectType<Same<typeof strict.volume, bigint>>();
  const unknown = await client.snapshot({ strict: Boolean(strict) });
  expectType<Same<typeof unknown, VaultSnapshot>>();
  client.at(await client.addresses);
}

export async function contracts(): Promise<void> {
  expectType<Same<VaultContracts["vault"], Vault>>();
  // @ts-expect-error -- the trading contract does not settle
  await client.contracts.trading.settleAll();
  // @ts-expect-error -- only a mock can be scripted
  expectAssignable<MockVault>(client.contracts.vault);
}

export async function orders(): Promise<void> {
  for await (const order of client.orders({ firstId: 1, lastId: 9n })) {
    expectType<Same<typeof order.orderID, bigint>>();
    if (!("error" in order)) {
      expectType<Same<typeof order.exType, string>>();
    }
  }
  for await (const order of client.orders({ strict: true })) {
    expectType<Same<typeof order, Order>>();
  }
  // @ts-expect-error -- no state is called so
  client.orders({ state: "close" });
  // @ts-expect-error -- ids are whole numbers
  client.orders({ ids: ["1"] });
}

export function errors(error: VaultError): void {
  expectType<Same<typeof error.code, VaultErrorCode>>();
  // @ts-expect-error -- no such code
  expectAssignable<VaultErrorCode>("VAULT_OOPS");
  // @ts-expect-error -- an error is not to be changed
  error.code = "VAULT_INTERNAL";
}

// Checked by tsc and never run: the types of `hardhat-vault/client`.
/* eslint-disable @typescript-eslint/no-unsafe-call, @typescript-eslint/restrict-plus-operands -- never run: values stand for their types, and wrong uses are the point */
import {
  ContractType,
  OrderState,
  VaultClient,
} from "../../src/client/index.js";
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

export function results(): void {
  expectType<
    Same<PoolAmounts, { deposit: bigint; availabe: bigint; locked: bigint }>
  >();
  expectType<Same<typeof ContractType.call, 1>>();
  expectType<Same<typeof OrderState.closed, 2>>();
}

export async function reads(): Promise<void> {
  const options: ReadOptions = { from: "0x", blockTag: "latest" };
  const rate = await client.getFundingFeeRate(ContractType.call, options);
  expectType<Same<typeof rate, bigint>>();
  await client.getFundingFeeRate("put");
  await client.getFundingFeeRate(2, {});
  const round = await client.getLatestRoundInfo({ blockTag: 5 });
  expectType<Same<typeof round, VaultRound>>();
  const order = await client.getOrderInfo(1n, { blockTag: 5n });
  expectType<Same<typeof order, VaultOrder>>();
  await client.getOrderInfo(1);
  const margins = await client.calMargins({
    maxVolume: 1n,
    APY: 2,
    endTime: 3,
  });
  expectType<Same<typeof margins, MarginAmounts>>();
  const pool = await client.getLPAmountInfo("private", { from: undefined });
  expectType<Same<typeof pool, PoolAmounts>>();
  expectType<Same<Awaited<ReturnType<VaultClient["queryVolume"]>>, bigint>>();
  expectType<Same<Awaited<ReturnType<VaultClient["minXMargin"]>>, bigint>>();
  const balance = await client.queryMarginBalance();
  expectType<Same<typeof balance, MarginAmounts>>();
  const named = await client.read("getLPAmountInfo", ["public"]);
  expectType<Same<typeof named, PoolAmounts>>();
}

export async function refusedReads(): Promise<void> {
  // @ts-expect-error -- neither call nor put
  await client.getFundingFeeRate(3);
  // @ts-expect-error -- an id is a number, not a text
  await client.getOrderInfo("1");
  // @ts-expect-error -- endTime is missing
  await client.calMargins({ maxVolume: 1n, APY: 2n });
  // @ts-expect-error -- three values of one type would be too easy to swap
  await client.calMargins(1n, 2n, 3n);
  // @ts-expect-error -- there are two pools
  await client.getLPAmountInfo("secret");
  // @ts-expect-error -- no such tag
  await client.queryVolume({ blockTag: "newest" });
  // @ts-expect-error -- no such option
  await client.queryVolume({ block: 1 });
  // @ts-expect-error -- the wire's name is not the API's
  await client.minSLDMargin();
  // @ts-expect-error -- a client over a bare provider does not settle
  await client.settleAll();
  // @ts-expect-error -- settleAll is not a read
  await client.read("settleAll", []);
  // @ts-expect-error -- the arguments of another operation
  await client.read("queryVolume", [1n]);
  // @ts-expect-error -- spelled as the protocol spells it
  (await client.getLPAmountInfo("public")).available;
}

export function construction(): void {
  new VaultClient(provider, {});
  new VaultClient(provider, { vault: "0x", trading: undefined });
  new VaultClient(provider, {}, { from: "0x", networkName: "mainnet" });
  client.at({ vaultFactory: "0x" });
  // @ts-expect-error -- no such contract
  new VaultClient(provider, { pool: "0x" });
  // @ts-expect-error -- no such contract
  client.at({ factory: "0x" });
  // @ts-expect-error -- addresses are needed, if only an empty object
  new VaultClient(provider);
  new VaultClient({ request: async () => await Promise.resolve(null) }, {});
}

export async function snapshots(): Promise<void> {
  const snapshot = await client.snapshot({ blockTag: "safe" });
  expectType<Same<typeof snapshot, VaultSnapshot>>();
  expectType<Same<VaultSnapshot["volume"], bigint | FailedReading>>();
  expectType<Same<keyof VaultSnapshot["pools"], "public" | "private">>();
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
  expectType<
    Same<Awaited<typeof client.addresses>["vault"], Address | undefined>
  >();
  client.at(await client.addresses);
  await client.queryVolume({ from: client.contracts.vault });
}

export async function contracts(): Promise<void> {
  expectType<Same<VaultContracts["vault"], Vault>>();
  const order = await client.contracts.trading.getOrderInfo(1n);
  expectType<Same<typeof order.state, bigint>>();
  expectType<Same<typeof order.exType, string>>();
  await client.contracts.vault.settleAll();
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
  client.orders();
  client.orders({ ids: [1, 2n], state: "closed" });
  client.orders({ state: OrderState.open });
  // @ts-expect-error -- no state is called so
  client.orders({ state: "close" });
  // @ts-expect-error -- ids are whole numbers
  client.orders({ ids: ["1"] });
}

export function errors(error: VaultError): void {
  expectType<Same<typeof error.code, VaultErrorCode>>();
  expectType<
    Same<typeof error.details, Readonly<Record<string, string | number>>>
  >();
  // @ts-expect-error -- no such code
  expectAssignable<VaultErrorCode>("VAULT_OOPS");
  // @ts-expect-error -- an error is not to be changed
  error.code = "VAULT_INTERNAL";
}

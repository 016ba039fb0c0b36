import { HDNodeWallet, ZeroAddress, computeAddress, isHexString } from "ethers";
import { bytesToHexString } from "@nomicfoundation/hardhat-utils/hex";
import type { NetworkConfig } from "hardhat/types/config";

import { describeInput, parseAccount, parseAddress } from "../client/inputs.js";
import type { AccountLike } from "../client/inputs.js";
import { invalidArgument } from "../errors.js";
import type { VaultHost } from "../host.js";
import type { CallRequest } from "../rpc/calls.js";
import { settlementCall } from "../settlement-call/route.js";
import { findRoute } from "../settlement-call/guarded.js";
import type { Needs } from "./warm.js";
import { findContracts, makeWatchList, readsOf } from "./watch-list.js";
import type { WatchList } from "./watch-list.js";

/** A call whose state a fork fetches beforehand. Nothing is executed on the fork. */
export interface WarmCall {
  readonly to: string;
  /** Call data, 0x hex. */
  readonly data: string;
  /** Default: the sender of reads. */
  readonly from?: AccountLike | undefined;
}

type SimulatedNetwork = Extract<NetworkConfig, { type: "edr-simulated" }>;

const HARDHATS_PHRASE =
  "test test test test test test test test test test test junk";
const HARDHATS_PATH = "m/44'/60'/0'/0";

/** Of Hardhat's own phrase: to derive them takes longer than all else here. */
const hardhatsAccounts: readonly string[] = [
  "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266",
  "0x70997970C51812dc3A010C7d01b50e0d17dc79C8",
  "0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC",
  "0x90F79bf6EB2c4f870365E785982E1f101E93b906",
  "0x15d34AAf54267DB7D7c367839AAf71A00a2C6A65",
  "0x9965507D1a55bcC2695C58ba16FB37d819B0A4dc",
  "0x976EA74026E726554dB657fA54763abd0C3a0aa9",
  "0x14dC79964da2C08b23698B3D3cc7Ca32193d9955",
  "0x23618e81E3f5cdF7f54C3d65f7FBc0aBf5B21E8f",
  "0xa0Ee7A142d267C1f36714E4a8F75612F20a79720",
  "0xBcd4042DE499D14e55001CcbB24a551F3b954096",
  "0x71bE63f3384f5fb98995898A86B02Fb2426c5788",
  "0xFABB0ac9d68B0B445fB7357272Ff202C5651694a",
  "0x1CBd3b2770909D4e10f157cABC84C7264073C9Ec",
  "0xdF3e18d64BC6A983f673Ab319CCaE4f1a57C7097",
  "0xcd3B766CCDd6AE721141F452C550Ca635964ce71",
  "0x2546BcD3c84621e976D8185a91A922aE77ECEc30",
  "0xbDA5747bFD65F08deb54cb465eB87D40e51B197E",
  "0xdD2FD4581271e230360230F9337D5c0430Bf44C0",
  "0x8626f6940E2eb28930eFb4CeF49B2d1F2C9C1199",
];

/** The lens asks it for the number of the block, on any chain. */
const ARB_SYS = "0x0000000000000000000000000000000000000064";

type NamedCall = Omit<CallRequest, "from"> & Partial<CallRequest>;

/** The state that a snapshot, a settlement, and the calls of the caller read. */
export async function needsOfFork(
  vault: VaultHost,
  network: SimulatedNetwork,
  block: number,
  more: readonly NamedCall[],
): Promise<Needs> {
  const { from } = vault.readContext({});
  const [contracts, accounts] = await Promise.all([
    findContracts(vault),
    accountsOf(network),
  ]);
  // As the fork's vault finds it.
  const sender = vault.connection.networkConfig.from ?? accounts[0] ?? from;
  const target = contracts.find(({ role }) => role === "vault");
  const watched = makeWatchList(vault.networkName, contracts, sender, {
    holders: accounts,
  });
  const needs = needsOfReads(vault, network.coinbase, watched);
  const settlement =
    target === undefined
      ? []
      : [settlementCall(await findRoute(vault, sender, block))];
  const named = more.map((call) => ({ from, ...call }));
  return { ...needs, calls: [...needs.calls, ...settlement, ...named] };
}

/**
 * Addresses of the accounts that Hardhat gives a fork, whose state the simulator reads at
 * once. None if they cannot be found beforehand.
 */
async function accountsOf({
  accounts,
}: SimulatedNetwork): Promise<readonly string[]> {
  try {
    if ("mnemonic" in accounts) {
      const { path, initialIndex, count } = accounts;
      const phrase = await accounts.mnemonic.get();
      const passphrase = await accounts.passphrase.get();
      const isHardhats =
        phrase === HARDHATS_PHRASE &&
        passphrase === "" &&
        path === HARDHATS_PATH &&
        initialIndex + count <= hardhatsAccounts.length;
      if (isHardhats) {
        return hardhatsAccounts.slice(initialIndex, initialIndex + count);
      }
      const root = HDNodeWallet.fromPhrase(phrase, passphrase, path);
      return Array.from(
        { length: count },
        (_, index) => root.deriveChild(initialIndex + index).address,
      );
    }
    return await Promise.all(
      accounts.map(async ({ privateKey }) =>
        computeAddress(await privateKey.getHexString()),
      ),
    );
  } catch {
    // Hardhat reports a key that cannot be used.
    return [];
  }
}

export function needsOfReads(
  vault: VaultHost,
  coinbase: Uint8Array,
  watched: WatchList,
): Needs {
  const { from } = vault.readContext({});
  return {
    // The first read is of the lens, which only the simulator has.
    calls: readsOf(watched, from)
      .slice(1)
      .map(({ target: to, data }) => ({ from, to, data })),
    accounts: [
      ...watched.accounts,
      from,
      ZeroAddress,
      ARB_SYS,
      bytesToHexString(coinbase),
    ],
  };
}

/** @throws VaultError VAULT_INVALID_ADDRESS, VAULT_INVALID_ARGUMENT */
export function parseWarmCall({ to, data, from }: WarmCall): NamedCall {
  if (!isHexString(data, true)) {
    throw invalidArgument("warm", `${describeInput(data)} is not 0x hex data`);
  }
  return {
    data,
    to: parseAddress(to, "warm.to"),
    ...(from !== undefined && { from: parseAccount(from, "warm.from") }),
  };
}

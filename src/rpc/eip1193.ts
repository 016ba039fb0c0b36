import { invalidArgument } from "../errors.js";
import { asRecord } from "../json.js";

/** The part of an EIP-1193 provider that this package needs. */
export interface Eip1193Provider {
  request(args: {
    readonly method: string;
    readonly params?: readonly unknown[];
  }): Promise<unknown>;
}

/** @throws VaultError VAULT_INVALID_ARGUMENT for anything but an EIP-1193 provider */
export function requireProvider(provider: Eip1193Provider): Eip1193Provider {
  const given: unknown = provider;
  const { request, send } = asRecord(given);
  if (typeof request === "function") {
    return provider;
  }
  // A URL may hold a key, so a text is not shown.
  const found =
    typeof send === "function"
      ? "an object with send()"
      : given === null || given === undefined
        ? String(given)
        : `a value of type ${typeof given}`;
  throw invalidArgument(
    "provider",
    `an EIP-1193 provider, an object with request(), is needed, got ${found}`,
    "Pass the provider of a Hardhat connection, a client of viem, or window.ethereum. For ethers' JsonRpcProvider, pass { request: ({ method, params }) => provider.send(method, params ?? []) }.",
  );
}

import { Buffer } from "node:buffer";

import { isHexString } from "ethers";

import { vaultError } from "../errors.js";
import type { VaultError } from "../errors.js";
import type { Hex } from "../protocol/index.js";

/** Throws VAULT_RPC_INVALID_RESPONSE for a result of another type. */
export class ResponseParser {
  constructor(
    private readonly network: string,
    private readonly method: string,
  ) {}

  /** Takes a JSON number, too, which some nodes write. */
  public quantity(value: unknown): bigint {
    if (Number.isSafeInteger(value) && Number(value) >= 0) {
      return BigInt(Number(value));
    }
    if (typeof value === "string" && /^0x[0-9a-f]{1,64}$/iu.test(value)) {
      return BigInt(value);
    }
    throw this.invalid("a quantity was expected");
  }

  /** Never rounds: a number that is too large throws. */
  public number(value: unknown): number {
    const number = Number(this.quantity(value));
    if (!Number.isSafeInteger(number)) {
      throw this.invalid("a number above 2^53 - 1");
    }
    return number;
  }

  /** Undefined for a value that the node omits. */
  public optional<T>(
    value: unknown,
    parse: (given: unknown) => T,
  ): T | undefined {
    return value === undefined || value === null ? undefined : parse(value);
  }

  public bytes(value: unknown): Buffer {
    if (typeof value === "string" && value.startsWith("0x")) {
      const bytes = Buffer.from(value.slice(2), "hex");
      // Buffer.from stops at the first character that is not hex.
      if (bytes.length * 2 === value.length - 2) {
        return bytes;
      }
    }
    throw this.invalid("not hex data");
  }

  public hash(value: unknown): Hex {
    if (isHexString(value, 32)) {
      return value;
    }
    throw this.invalid("a hash was expected");
  }

  public list(value: unknown): readonly unknown[] {
    if (!Array.isArray(value)) {
      throw this.invalid("a list was expected");
    }
    return value;
  }

  public record(value: unknown): Readonly<Record<string, unknown>> {
    if (typeof value !== "object" || value === null || Array.isArray(value)) {
      throw this.invalid("an object was expected");
    }
    return { ...value };
  }

  public invalid(problem: string): VaultError {
    const { network, method } = this;
    const details = { network, method, problem };
    return vaultError("VAULT_RPC_INVALID_RESPONSE", details);
  }
}

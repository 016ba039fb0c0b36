import { VaultClient } from "../../src/client/index.js";
import type { Eip1193Provider } from "../../src/client/index.js";
import { VAULT } from "./scripted-contracts.js";

/** The answer to every call: 7. */
export const WORD = `0x${"7".padStart(64, "0")}`;

export const clientOf = (request: Eip1193Provider["request"]): VaultClient =>
  new VaultClient(
    { request },
    { vault: VAULT, trading: VAULT, vaultFactory: VAULT },
  );

/** A client whose node fails so many times, then answers. */
export function failing(
  times: number,
  failure: unknown,
): { client: VaultClient; asked: () => number } {
  let asked = 0;
  const client = clientOf(async () => {
    asked += 1;
    if (asked <= times) {
      throw failure;
    }
    return await Promise.resolve(WORD);
  });
  return { client, asked: () => asked };
}

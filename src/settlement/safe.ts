import { id } from "ethers";

import type { UnsignedSettlement } from "./calldata.js";

/** File that Safe's Transaction Builder imports. */
export interface SafeBatch extends Readonly<Record<string, unknown>> {
  readonly meta: Readonly<Record<string, string>>;
}

export function toSafeBatch({
  to,
  data,
  chainId,
  header,
  settles,
}: UnsignedSettlement): SafeBatch {
  const batch: SafeBatch = {
    version: "1.0",
    chainId: String(chainId),
    // Unix milliseconds.
    createdAt: header.timestamp * 1000,
    meta: {
      name: "settleAll",
      description: `Settles ${settles}`,
      txBuilderVersion: "1.18.0",
      createdFromSafeAddress: "",
      createdFromOwnerAddress: "",
    },
    transactions: [
      {
        to,
        value: "0",
        data,
        contractMethod: null,
        contractInputsValues: null,
      },
    ],
  };
  // If the checksum differs, Safe warns of a changed file.
  return { ...batch, meta: { ...batch.meta, checksum: safeChecksum(batch) } };
}

/** Hashes the batch as Safe does: keys sorted and before their values, the name as null. */
export function safeChecksum(batch: SafeBatch): string {
  return id(serialise({ ...batch, meta: { ...batch.meta, name: null } }));
}

function serialise(value: unknown): string {
  if (Array.isArray(value)) {
    return `[${value.map(serialise).join(",")}]`;
  }
  if (typeof value !== "object" || value === null) {
    return JSON.stringify(value);
  }
  const entries = Object.entries(value).sort(([one], [other]) =>
    one < other ? -1 : 1,
  );
  const keys = JSON.stringify(entries.map(([key]) => key));
  return `{${keys}${entries.map(([, inner]) => `${serialise(inner)},`).join("")}}`;
}

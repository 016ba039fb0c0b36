import { id } from "ethers";

import type { UnsignedSettlement } from "./calldata.js";

/** A batch of Safe's Transaction Builder, as it exports and imports one. */
export interface SafeBatch extends Readonly<Record<string, unknown>> {
  readonly meta: Readonly<Record<string, string>>;
}

/** The settlement as a batch to import. */
export function toSafeBatch({
  to,
  data,
  chainId,
  header,
}: UnsignedSettlement): SafeBatch {
  const batch: SafeBatch = {
    version: "1.0",
    chainId: String(chainId),
    // Unix milliseconds.
    createdAt: header.timestamp * 1000,
    meta: {
      name: "settleAll",
      description: "Settles the round that is current when it is executed",
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
  // Safe warns of a file that was changed where this is another one.
  return { ...batch, meta: { ...batch.meta, checksum: safeChecksum(batch) } };
}

/**
 * Hash of the batch in its own serialisation: keys sorted and listed before
 * their values, the batch's name left out.
 */
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

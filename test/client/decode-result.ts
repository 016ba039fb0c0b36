import { expect } from "chai";
import fc from "fast-check";

import { decodeResult } from "../../src/client/codec.js";
import {
  operationEntry,
  readOperationNames,
} from "../../src/protocol/index.js";
import type { ReadOperationName } from "../../src/protocol/index.js";
import { decodeGenerally } from "../helpers/general-decoder.js";

function decode(
  name: ReadOperationName,
  data: string,
): Readonly<Record<string, unknown>> | undefined {
  const result = decodeResult(name, Buffer.from(data.slice(2), "hex"));
  if (!("value" in result)) {
    return undefined;
  }
  const { value } = result;
  const [only, ...others] = operationEntry(name).outputs;
  if (only !== undefined && others.length === 0) {
    return { [only.name]: value };
  }
  return typeof value === "object" ? { ...value } : undefined;
}

/** Words as they may come: small, large, and just beyond a bool. */
const word = fc
  .oneof(
    fc.bigInt({ min: 0n, max: 3n }),
    fc.bigInt({ min: 0n, max: 2n ** 64n }),
    fc.bigInt({ min: 0n, max: 2n ** 256n - 1n }),
  )
  .map((value) => value.toString(16).padStart(64, "0"));

describe("client - decodeResult", () => {
  for (const name of readOperationNames) {
    const { length } = operationEntry(name).outputs;

    it(`should read ${name} as the general decoder does`, () => {
      fc.assert(
        fc.property(
          fc.array(word, { minLength: length - 1, maxLength: length + 1 }),
          (words) => {
            const data = `0x${words.join("")}`;
            expect(decode(name, data)).to.deep.equal(
              decodeGenerally(name, data),
            );
          },
        ),
        { numRuns: 200 },
      );
    });
  }
});

import { expect } from "chai";
import { AbiCoder, hexlify } from "ethers";
import fc from "fast-check";

import { decodeResult } from "../../src/client/codec.js";
import {
  operationEntry,
  readOperationNames,
  targetsOf,
} from "../../src/protocol/index.js";
import type { ReadOperationName } from "../../src/protocol/index.js";

const operations = readOperationNames.filter((name) =>
  operationEntry(name).outputs.every(({ type }) => type !== "string"),
);

/** The values by the general coder, where they encode to the same bytes. */
function decodeGenerally(
  name: ReadOperationName,
  data: string,
): readonly unknown[] | undefined {
  const { outputs } = operationEntry(name);
  const types = outputs.map(({ type }) => type);
  const coder = AbiCoder.defaultAbiCoder();
  try {
    const values: unknown[] = coder.decode(types, data).toArray();
    return coder.encode(types, values) === data
      ? values.map((value, index) =>
          types[index] === "uint8" ? Number(value) : value,
        )
      : undefined;
  } catch {
    return undefined;
  }
}

function decode(
  name: ReadOperationName,
  data: string,
): readonly unknown[] | undefined {
  const [target] = targetsOf(name);
  if (target === undefined) {
    throw new Error(`${name} has no contract`);
  }
  const result = decodeResult(
    name,
    target.role,
    Buffer.from(data.slice(2), "hex"),
  );
  if (!("value" in result)) {
    return undefined;
  }
  const { value } = result;
  const fields: unknown[] =
    typeof value === "object" && value !== null
      ? Object.values(value)
      : [value];
  return fields;
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
  for (const name of operations) {
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

    it(`should read ${name} from bytes of any number as that one does`, () => {
      fc.assert(
        fc.property(fc.uint8Array({ maxLength: length * 32 + 40 }), (bytes) => {
          const data = hexlify(bytes);
          expect(decode(name, data)).to.deep.equal(decodeGenerally(name, data));
        }),
        { numRuns: 100 },
      );
    });
  }
});

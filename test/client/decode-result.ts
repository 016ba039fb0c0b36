import { expect } from "chai";
import { hexlify } from "ethers";
import fc from "fast-check";

import { decodeResult, encodeCall } from "../../src/client/codec.js";
import {
  operationEntry,
  readOperationNames,
} from "../../src/protocol/index.js";
import type { ReadOperationName } from "../../src/protocol/index.js";
import { expectVaultError } from "../helpers/assertions.js";
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

describe("client - encodeCall", () => {
  it("should say which pools there are where another one is named", async () => {
    for (const [choice, shown] of [
      ["secret", "secret"],
      ["toString", "toString"],
      [1, "1"],
      [undefined, "undefined"],
    ] as const) {
      const { details } = await expectVaultError(
        () => encodeCall("getLPAmountInfo", [choice]),
        "VAULT_INVALID_ENUM",
      );
      expect(details).to.deep.equal({
        where: "pool",
        allowed: "public, private",
        value: shown,
      });
    }
  });

  it("should say which fields are needed where no object is given", async () => {
    for (const given of [undefined, null, 1n]) {
      const { details } = await expectVaultError(
        () => encodeCall("calMargins", [given]),
        "VAULT_INVALID_ARGUMENT",
      );
      expect(details["where"]).to.equal("calMargins");
      expect(details["problem"]).to.equal(
        `one object with maxVolume, APY, endTime is needed, got ${given}`,
      );
    }
  });
});

import { inspect } from "node:util";

import { expect } from "chai";
import fc from "fast-check";

import {
  describeInput,
  givenInput,
  parseAddress,
  MAX_DURATION_MS,
  parseBlockTag,
  parseDuration,
  parseEnum,
  parseUint256,
  readInteger,
} from "../../src/client/inputs.js";
import {
  notATime,
  parseTime,
  requireFuture,
} from "../../src/client/parse-time.js";
import {
  checkAnswer,
  checkValue,
  checkValues,
  requireObject,
} from "../../src/mocks/values.js";
import type { CheckedField } from "../../src/mocks/values.js";
import { operations } from "../../src/client/index.js";
import { expectVaultError } from "../helpers/assertions.js";

const CHECKSUMMED = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8";
const MAX = 2n ** 256n - 1n;
const NOW = 1_700_000_000;

describe("inputs", () => {
  it("parseAddress() gives an address its checksum", () => {
    for (const given of [
      CHECKSUMMED,
      CHECKSUMMED.toLowerCase(),
      `0x${CHECKSUMMED.slice(2).toUpperCase()}`,
    ]) {
      expect(parseAddress(given, "it")).to.equal(CHECKSUMMED);
    }
  });

  const addresses: ReadonlyArray<readonly [given: unknown, problem: string]> = [
    [CHECKSUMMED.replace("C8", "c8"), "its checksum is wrong"],
    [CHECKSUMMED.slice(0, -1), "not 0x and 40 hex digits"],
    // ethers would take an ICAP address and a name.
    ["XE65GB6LDNXYOFTX0NSV3FUWKOWIXAMJK36", "not 0x and 40 hex digits"],
    ["vault.eth", "not 0x and 40 hex digits"],
    [12, "not a string"],
  ];
  for (const [given, problem] of addresses) {
    it(`parseAddress() refuses ${inspect(given)}: VAULT_INVALID_ADDRESS`, async () => {
      const error = await expectVaultError(
        () => parseAddress(given, "The address of it"),
        "VAULT_INVALID_ADDRESS",
      );
      expect(error.details["problem"]).to.equal(problem);
      expect(error.message).to.match(/^The address of it is not/u);
    });
  }

  it("parseAddress() shows an address whose checksum is wrong, and in place of any other value what the caller shows", async () => {
    const mistyped = CHECKSUMMED.replace("C8", "c8");
    for (const [given, shown] of [
      [mistyped, `"${mistyped}"`],
      ["a secret", "the value of a variable"],
    ] as const) {
      const { message } = await expectVaultError(
        () => parseAddress(given, "it", "the value of a variable"),
        "VAULT_INVALID_ADDRESS",
      );
      expect(message).to.include(shown).and.not.include("a secret");
    }
  });

  it("parseUint256() takes the integers from 0 to 2^256 - 1, and throws VAULT_INVALID_INTEGER for others", async () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 0n, max: MAX }), (value) => {
        expect(parseUint256(value, "it")).to.equal(value);
      }),
    );
    expect(parseUint256(Number.MAX_SAFE_INTEGER, "it")).to.equal(
      2n ** 53n - 1n,
    );
    expect(parseUint256(MAX, "it")).to.equal(MAX);
    for (const value of [-1n, MAX + 1n, -1, 0.5, NaN, "1", undefined]) {
      await expectVaultError(
        () => parseUint256(value, "it"),
        "VAULT_INVALID_INTEGER",
      );
    }
  });

  it("parseUint256() asks for a bigint if a number may have been rounded: VAULT_INVALID_ARGUMENT", async () => {
    for (const value of [2 ** 53, 1e18]) {
      const { message } = await expectVaultError(
        () => parseUint256(value, "it"),
        "VAULT_INVALID_ARGUMENT",
      );
      expect(message).to.include(`pass a bigint, as in ${BigInt(value)}n`);
    }
  });

  it("readInteger() reads whole numbers as people type them, and no others", () => {
    for (const [text, value] of [
      ["0", 0n],
      ["1_000", 1_000n],
      ["65.5e18", 655n * 10n ** 17n],
      ["1e3", 1_000n],
      ["1.25e2", 125n],
      ["0x1F", 31n],
    ] as const) {
      expect(readInteger(text), text).to.equal(value);
    }
    const others = [
      ...["", "1.5", "1.55e1", "-1", "1e", "e3", "_1", "0x", " 1"],
      ...["10x1F", "0x1Fg"],
    ];
    for (const text of others) {
      expect(readInteger(text), text).to.equal(undefined);
    }
  });

  it("parseEnum() takes a contract type by number and by name, and throws VAULT_INVALID_ENUM for others", async () => {
    for (const call of [1, 1n, "call", "CALL"]) {
      expect(parseEnum("contractType", call, "it")).to.equal(1);
    }
    for (const put of [2, 2n, "put"]) {
      expect(parseEnum("contractType", put, "it")).to.equal(2);
    }
    // A list of one number is written like it.
    for (const other of [0, 3, 1.5, -1n, "", "calls", "1", null, {}, [1]]) {
      const { details } = await expectVaultError(
        () => parseEnum("contractType", other, "--type"),
        "VAULT_INVALID_ENUM",
      );
      expect(details["allowed"]).to.equal("call (1), put (2)");
    }
  });

  it("parseBlockTag() takes a tag or a number, and nothing else: VAULT_INVALID_BLOCK", async () => {
    expect(parseBlockTag(18n)).to.equal("0x12");
    expect(parseBlockTag(2n ** 64n - 1n)).to.equal(`0x${"f".repeat(16)}`);
    expect(parseBlockTag("safe")).to.equal("safe");
    for (const other of ["", "0x12", "LATEST", 1.5, -1, 2n ** 64n, null]) {
      await expectVaultError(
        () => parseBlockTag(other, "--block"),
        "VAULT_INVALID_BLOCK",
      );
    }
  });

  it("parseDuration() takes what a timer can wait: VAULT_INVALID_ARGUMENT", async () => {
    for (const milliseconds of [1, 1.5, MAX_DURATION_MS]) {
      expect(parseDuration("timeout", milliseconds)).to.equal(milliseconds);
    }
    for (const other of [0, 0.5, -1, MAX_DURATION_MS + 1, NaN]) {
      await expectVaultError(
        () => parseDuration("timeout", other),
        "VAULT_INVALID_ARGUMENT",
      );
    }
  });

  it("describeInput() returns one safe, short line", () => {
    expect(describeInput("a\u001b[31m\nb")).to.equal('"a\\u001b[31m\\nb"');
    expect(describeInput("x\u202ey")).to.equal('"x\\u{202e}y"');
    expect(describeInput("x".repeat(500))).to.have.lengthOf.below(130);
    expect(describeInput("x".repeat(118))).to.not.include("…");
    expect(describeInput({ a: 1 })).to.equal("an object");
    expect(describeInput(7)).to.equal("7");
  });

  it("givenInput() returns a text as it was given, and anything else as it is shown", () => {
    const long = "x".repeat(500);
    expect(givenInput(long)).to.deep.equal({
      shown: describeInput(long),
      value: long,
    });
    expect(givenInput(7)).to.deep.equal({ shown: "7", value: "7" });
    const key = "ab".repeat(32);
    const shown = describeInput(key);
    expect(givenInput(key)).to.deep.equal({ shown, value: shown });
  });

  it("VAULT_INVALID_ADDRESS never shows what may be a private key", async () => {
    const key =
      "4c0883a69102937d6231471b5dbb6204fe5129617082792ae468d01a3f362318";
    for (const given of [key, `0x${key}`, ` ${key}\n`]) {
      const { message } = await expectVaultError(
        () => parseAddress(given, "--from"),
        "VAULT_INVALID_ADDRESS",
      );
      expect(message).to.not.contain(key);
      expect(message).to.contain("private key");
    }
    // A transaction's data, say, is not hidden.
    for (const given of [`${key}0`, `0x${key}${key}`]) {
      expect(describeInput(given)).to.not.contain("private key");
    }
  });
});

describe("times", () => {
  const times: ReadonlyArray<readonly [given: string, seconds: bigint]> = [
    ["0", 0n],
    ["1800000000", 1_800_000_000n],
    ["+90s", 1_700_000_090n],
    ["+5m", 1_700_000_300n],
    ["+12h", 1_700_043_200n],
    ["+7d", 1_700_604_800n],
    ["+2w", 1_701_209_600n],
    ["2026-01-31", 1_769_817_600n],
    ["2026-01-31T12:00", 1_769_860_800n],
    ["2026-01-31T12:00:01Z", 1_769_860_801n],
    ["2026-01-31T12:00:00+02:00", 1_769_853_600n],
    ["2024-02-29", 1_709_164_800n],
    ["2024-02-29T00:00:01.999Z", 1_709_164_801n],
    ["2024-02-29T00:00:01.5", 1_709_164_801n],
    [new Date(1_709_164_801_999).toISOString(), 1_709_164_801n],
  ];
  for (const [given, seconds] of times) {
    it(`parseTime() reads ${given}`, () => {
      expect(parseTime(given, "--end-time", NOW)).to.equal(seconds);
    });
  }

  for (const given of [
    ...["", "tomorrow", "7d", "+7", "+7x", "1.5", "1969-12-31"],
    ...["2026-02-30", "2026-01-31T25:00", "2026-01-31 12:00"],
    ...["in +7d", "+7dx", "on 2026-01-31", "2026-01-31 or so"],
    "2026-01-31T12:00:00+99:99",
    "2026-01-31T12:00.5Z",
    "2026-01-31T12:00:00.Z",
  ]) {
    it(`parseTime() refuses "${given}": VAULT_INVALID_TIME`, async () => {
      const { message } = await expectVaultError(
        () => parseTime(given, "--end-time", NOW),
        "VAULT_INVALID_TIME",
      );
      expect(message).to.contain("--end-time").and.to.contain("+7d");
    });
  }

  it("parseTime() refuses milliseconds, and names both readings: VAULT_INVALID_ARGUMENT", async () => {
    const { message } = await expectVaultError(
      () => parseTime("1798761600000", "--end-time", NOW),
      "VAULT_INVALID_ARGUMENT",
    );
    expect(message).to.include(
      "1798761600000 is +058970-06-27T00:00:00Z in seconds, and 2027-01-01T00:00:00Z in milliseconds. Give seconds: 1798761600.",
    );
    for (const far of [10n ** 11n - 1n, 10n ** 14n, MAX]) {
      expect(parseTime(String(far), "--end-time", NOW)).to.equal(far);
    }
  });

  it("parseTime() names what else can be given: VAULT_INVALID_TIME", async () => {
    for (const [words, form] of [
      [[], "a time"],
      [["end", "now"], "end, now or a time"],
    ] as const) {
      expect(notATime("--at", words, "x").details["form"]).to.equal(form);
      const { details } = await expectVaultError(
        () => parseTime("x", "--at", NOW, words),
        "VAULT_INVALID_TIME",
      );
      expect(details["form"]).to.equal(form);
    }
  });

  it("requireFuture() refuses what the chain's clock has reached: VAULT_TIME_IN_PAST", async () => {
    requireFuture(BigInt(NOW) + 1n, "--end-time", NOW);
    for (const past of [0n, BigInt(NOW)]) {
      const { details } = await expectVaultError(() => {
        requireFuture(past, "--end-time", NOW);
      }, "VAULT_TIME_IN_PAST");
      expect(details["where"]).to.equal("--end-time");
    }
  });

  it("parseTime() refuses a time beyond 256 bits: VAULT_INVALID_INTEGER", async () => {
    for (const given of [`+${2n ** 256n}d`, String(2n ** 256n)]) {
      await expectVaultError(
        () => parseTime(given, "--end-time", NOW),
        "VAULT_INVALID_INTEGER",
      );
    }
  });
});

describe("values of operations", () => {
  const state = { type: "uint8", unit: "orderState" } as const;
  const plain = <T extends CheckedField["type"]>(type: T) =>
    ({ type, unit: "none" }) as const;
  const flag = plain("bool");
  const good = [
    [plain("uint256"), "1e3", 1_000n],
    [plain("uint256"), MAX, MAX],
    [state, "closed", 2],
    // A contract may return an unlisted number.
    [state, "255", 255],
    [state, 7n, 7],
    [plain("uint8"), "0x1f", 31],
    [plain("address"), CHECKSUMMED.toLowerCase(), CHECKSUMMED],
    [flag, true, true],
    [flag, "true", true],
    [flag, false, false],
    [flag, "false", false],
    [plain("string"), "0x41", "0x41"],
  ] as const;
  for (const [field, value, checked] of good) {
    it(`checkValue() takes ${inspect(value)} as ${field.type} ${field.unit}`, () => {
      expect(checkValue(field, value, "it")).to.deep.equal(checked);
    });
  }

  const bad = [
    [plain("uint256"), "1.5", "VAULT_INVALID_INTEGER"],
    [plain("uint256"), MAX + 1n, "VAULT_INVALID_INTEGER"],
    [state, "shut", "VAULT_INVALID_ENUM"],
    [state, "256", "VAULT_INVALID_INTEGER"],
    [plain("uint8"), "open", "VAULT_INVALID_INTEGER"],
    [plain("address"), "0x12", "VAULT_INVALID_ADDRESS"],
    [flag, "yes", "VAULT_INVALID_ENUM"],
    [flag, 1, "VAULT_INVALID_ENUM"],
    [plain("string"), 7, "VAULT_INVALID_ARGUMENT"],
    [plain("string"), { bytes: "0x41" }, "VAULT_INVALID_ARGUMENT"],
  ] as const;
  for (const [field, value, code] of bad) {
    it(`checkValue() throws ${code} for ${inspect(value)} as ${field.type} ${field.unit}`, async () => {
      await expectVaultError(() => checkValue(field, value, "it"), code);
    });
  }

  it("checkValues() throws VAULT_INVALID_ARGUMENT with the names of missing and unknown values", async () => {
    const two = operations.queryMarginBalance.outputs;
    const three = operations.getLPAmountInfo.outputs;
    const [first, second] = two.map(({ name }) => name);
    const partly = { [String(first)]: 1n, [String(second)]: undefined };
    for (const [fields, values, problem] of [
      [two, partly, `${second} is missing: give both`],
      [three, {}, `${three.map(({ name }) => name).join(", ")} are missing`],
      [
        two,
        { odd: 1 },
        `"odd" is not a field; the fields are ${first}, ${second}`,
      ],
    ] as const) {
      const { details } = await expectVaultError(
        () => checkValues(fields, values, "it"),
        "VAULT_INVALID_ARGUMENT",
      );
      expect(details["problem"]).to.equal(problem);
    }
    expect(checkValues(two, partly, "it", true)).to.deep.equal({
      [String(first)]: 1n,
    });
  });

  it("checkAnswer() takes the only value of an operation, or all of them by name, and throws VAULT_INVALID_ARGUMENT for others", async () => {
    expect(checkAnswer("queryVolume", "7", "it")).to.equal(7n);
    const both = Object.fromEntries(
      operations.queryMarginBalance.outputs.map(({ name }) => [name, 7n]),
    );
    expect(checkAnswer("queryMarginBalance", both, "it")).to.deep.equal(both);
    for (const value of [null, 7n, [7n]]) {
      const { details } = await expectVaultError(
        () => requireObject(value, "it"),
        "VAULT_INVALID_ARGUMENT",
      );
      expect(details["problem"]).to.include("an object is needed, got");
    }
  });
});

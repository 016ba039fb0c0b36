import { inspect } from "node:util";

import { expect } from "chai";
import { MaxUint256 } from "ethers";

import {
  describeInput,
  parseAccount,
  parseAddress,
  MAX_DURATION_MS,
  parseBlockTag,
  parseDuration,
  parseEnum,
  parseUint,
  readInteger,
  parseTime,
  requireFuture,
} from "../../src/client/inputs.js";
import { expectVaultError } from "../helpers/assertions.js";
import { SECOND } from "../helpers/names.js";

const MAX = 2n ** 256n - 1n;

describe("inputs", () => {
  it("parseAddress() gives an address its checksum", () => {
    for (const given of [
      SECOND,
      SECOND.toLowerCase(),
      `0x${SECOND.slice(2).toUpperCase()}`,
    ]) {
      expect(parseAddress(given, "it")).to.equal(SECOND);
    }
  });

  const addresses: ReadonlyArray<readonly [given: unknown, problem: string]> = [
    [SECOND.replace("C8", "c8"), "its checksum is wrong"],
    [SECOND.slice(0, -1), "not 0x and 40 hex digits"],
    // ethers would take an ICAP address.
    ["XE65GB6LDNXYOFTX0NSV3FUWKOWIXAMJK36", "not 0x and 40 hex digits"],
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

  for (const [kind, given] of [
    ["an address", SECOND],
    ["a contract of ethers or an account of viem", { address: SECOND }],
    ["a WalletClient of viem", { account: { address: SECOND } }],
  ] as const) {
    it(`parseAccount() takes ${kind}`, () => {
      expect(parseAccount(given, "from")).to.equal(SECOND);
    });
  }

  it("parseAddress() shows an address whose checksum is wrong, and in place of any other value what the caller shows", async () => {
    const mistyped = SECOND.replace("C8", "c8");
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

  it("parseUint() takes the integers from 0 to 2^256 - 1, and throws VAULT_INVALID_INTEGER for others", async () => {
    expect(parseUint(0n, "it")).to.equal(0n);
    expect(parseUint(Number.MAX_SAFE_INTEGER, "it")).to.equal(2n ** 53n - 1n);
    expect(parseUint(MAX, "it")).to.equal(MAX);
    for (const value of [-1n, MAX + 1n, -1, 0.5, "1"]) {
      await expectVaultError(
        () => parseUint(value, "it"),
        "VAULT_INVALID_INTEGER",
      );
    }
  });

  it("parseUint() asks for a bigint if a number may have been rounded: VAULT_INVALID_INTEGER", async () => {
    const { message } = await expectVaultError(
      () => parseUint(2 ** 53, "it"),
      "VAULT_INVALID_INTEGER",
    );
    expect(message).to.include("a bigint above 2^53 - 1");
  });

  it("readInteger() reads whole numbers as people type them, and no others", () => {
    for (const [text, value] of [
      ["0", 0n],
      ["1_000_000", 1_000_000n],
      ["65.5e18", 655n * 10n ** 17n],
      ["1e3", 1_000n],
      ["1.25e2", 125n],
      ["0x1F", 31n],
    ] as const) {
      expect(readInteger(text), text).to.equal(value);
    }
    for (const text of ["1.5", "1.55e1", "1e", "_1", "0x", "10x1F", "0x1Fg"]) {
      expect(readInteger(text), text).to.equal(undefined);
    }
  });

  it("parseEnum() takes a contract type by number and by name, and throws VAULT_INVALID_ARGUMENT for others", async () => {
    for (const call of [1, 1n, "call", "CALL"]) {
      expect(parseEnum("contractType", call, "it")).to.equal(1);
    }
    // A list of one number is written like it.
    for (const other of [0, 3, "calls", "1", "toString", null, [1]]) {
      const { message } = await expectVaultError(
        () => parseEnum("contractType", other, "--type"),
        "VAULT_INVALID_ARGUMENT",
      );
      expect(message).to.contain("is not one of call (1), put (2)");
    }
  });

  it("parseBlockTag() takes a tag or a number, and nothing else: VAULT_INVALID_ARGUMENT", async () => {
    expect(parseBlockTag(18n)).to.equal("0x12");
    expect(parseBlockTag(2n ** 64n - 1n)).to.equal(`0x${"f".repeat(16)}`);
    expect(parseBlockTag("safe")).to.equal("safe");
    for (const other of ["0x12", "LATEST", 1.5, -1, 2n ** 64n]) {
      await expectVaultError(
        () => parseBlockTag(other, "--block"),
        "VAULT_INVALID_ARGUMENT",
      );
    }
  });

  it("parseDuration() takes what a timer can wait: VAULT_INVALID_ARGUMENT", async () => {
    for (const milliseconds of [1, 1.5, MAX_DURATION_MS]) {
      expect(parseDuration("timeout", milliseconds)).to.equal(milliseconds);
    }
    for (const other of [0, 0.5, -1, MAX_DURATION_MS + 1, NaN]) {
      const { message } = await expectVaultError(
        () => parseDuration("timeout", other),
        "VAULT_INVALID_ARGUMENT",
      );
      expect(message).to.match(/^timeout: .*milliseconds/u);
    }
  });

  it("describeInput() returns one safe, short line", () => {
    expect(describeInput("a\u001b[31m\nb")).to.equal('"a\\u001b[31m\\nb"');
    expect(describeInput("x\u202ey")).to.equal('"x\\u{202e}y"');
    expect(describeInput("x".repeat(500))).to.have.lengthOf.below(130);
    expect(describeInput("x".repeat(118))).to.not.include("…");
    expect(describeInput({ a: 1 })).to.equal("an object");
    expect(describeInput(["a secret"])).to.equal("a list");
    expect(describeInput(7)).to.equal("7");
  });

  it("VAULT_INVALID_ADDRESS never shows what may be a private key", async () => {
    const key =
      "4c0883a69102937d6231471b5dbb6204fe5129617082792ae468d01a3f362318";
    for (const given of [key, `0x${key.toUpperCase()}`, ` ${key}\n`]) {
      const { message, details } = await expectVaultError(
        () => parseAddress(given, "--from"),
        "VAULT_INVALID_ADDRESS",
      );
      expect(message.toLowerCase()).to.not.contain(key);
      expect(inspect(details).toLowerCase()).to.not.contain(key);
      expect(message).to.contain("private key");
    }
    // A transaction's data, say, is not hidden.
    for (const given of [`${key}0`, `0x${key}${key}`]) {
      expect(describeInput(given)).to.not.contain("private key");
    }
  });
});

const NOW = 1_700_000_000;

describe("times", () => {
  const { TZ: zone = "UTC" } = process.env;
  // A date without a zone is no local time.
  before(() => {
    process.env["TZ"] = "Asia/Tokyo";
  });
  after(() => {
    process.env["TZ"] = zone;
  });

  for (const [given, seconds] of [
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
    ["2024-02-29T00:00:01.999Z", 1_709_164_801n],
    // As milliseconds, these are beyond the years that people mean.
    [String(10n ** 11n - 1n), 10n ** 11n - 1n],
    [String(10n ** 14n), 10n ** 14n],
    [String(MaxUint256), MaxUint256],
  ] as const) {
    it(`parseTime() reads ${given}`, () => {
      expect(parseTime(given, "--end-time", NOW)).to.equal(seconds);
    });
  }

  for (const [code, text, ...wrong] of [
    [
      "VAULT_INVALID_ARGUMENT",
      /--end-time.*\+7d/u,
      ...["", "tomorrow", "7d", "+7", "+7x", "1.5", "1969-12-31"],
      ...["2026-02-30", "2026-01-31T25:00", "2026-01-31 12:00"],
      ...["in +7d", "+7dx", "on 2026-01-31", "2026-01-31 or so"],
      ...["2026-01-31T12:00:00+99:99", "2026-01-31T12:00.5Z"],
      "2026-01-31T12:00:00.Z",
    ],
    [
      "VAULT_INVALID_ARGUMENT",
      /1798761600000 is \+058970-06-27T00:00:00Z in seconds, and 2027-01-01T00:00:00Z in milliseconds\. Give seconds: 1798761600\./u,
      "1798761600000",
    ],
    [
      "VAULT_INVALID_INTEGER",
      /--end-time/u,
      ...[`+${2n ** 256n}d`, String(2n ** 256n)],
    ],
  ] as const) {
    it(`parseTime() throws ${code} for ${wrong.map((one) => `"${one}"`).join(", ")}`, async () => {
      for (const given of wrong) {
        const { message } = await expectVaultError(
          () => parseTime(given, "--end-time", NOW),
          code,
        );
        expect(message, given).to.match(text);
      }
    });
  }

  it("parseTime() names what else can be given: VAULT_INVALID_ARGUMENT", async () => {
    for (const [words, form] of [
      [[], "is not a time"],
      [["end", "now"], "is not end or now or a time"],
    ] as const) {
      const { message } = await expectVaultError(
        () => parseTime("x", "--at", NOW, words),
        "VAULT_INVALID_ARGUMENT",
      );
      expect(message).to.contain(form);
    }
  });

  it("requireFuture() refuses what the chain's clock has reached: VAULT_INVALID_ARGUMENT", async () => {
    requireFuture(BigInt(NOW) + 1n, "--end-time", NOW);
    for (const past of [0n, BigInt(NOW)]) {
      const { details } = await expectVaultError(() => {
        requireFuture(past, "--end-time", NOW);
      }, "VAULT_INVALID_ARGUMENT");
      expect(details["where"]).to.equal("--end-time");
    }
  });
});

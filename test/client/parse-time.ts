import { expect } from "chai";
import { MaxUint256 } from "ethers";

import {
  notATime,
  parseTime,
  requireFuture,
} from "../../src/client/parse-time.js";
import { expectVaultError } from "../helpers/assertions.js";

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
      "VAULT_INVALID_TIME",
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
});

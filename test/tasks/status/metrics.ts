import { expect } from "chai";

import { vaultError } from "../../../src/errors.js";
import { renderMetrics, renderOutage } from "../../../tasks/status.js";
import { get } from "../../../src/protocol/index.js";
import { pathsOf, withOtherReadings } from "../../helpers/readings.js";
import type { KeeperState, VaultState } from "../../../tasks/status.js";

const ONE = 10n ** 18n;
const error = vaultError("VAULT_INTERNAL", { problem: "not read" });
const failed = { error };

const round = {
  ...{ strikePrice: 65_000n * ONE, APY: 185n * 10n ** 15n },
  ...{ maxVolume: 1_300n, filledVolume: 1_401n, minDeposit: 15n },
  ...{ startTime: 16n, endTime: 17n },
  ...{ settledPrice: 18n, settledAmount: 2n ** 256n - 1n, settled: true },
};
const known = {
  ...{ fundingFeeRate: { call: 25_000n, put: 2n }, round, volume: 450n },
  pools: {
    public: { deposit: 310n, availabe: 32n, locked: 33n },
    private: { deposit: 34n, availabe: 35n, locked: 36n },
  },
  marginBalance: { baseMarginAmount: 43n, xMarginAmount: 44n },
  minXMargin: 46n,
};
const readings = withOtherReadings(known, failed);
/** Of operations that are not in the lists below. */
const others = pathsOf().filter(
  (path) => get(known, path.split(".")) === undefined,
);
const keeper: KeeperState = {
  ...{ expired: false, secondsToEnd: 12, canBeSettled: true },
  canBeSettledBy: "0x70997970C51812dc3A010C7d01b50e0d17dc79C8",
  ...{ code: null, reason: null },
  openSettlement: { hash: null, nonce: 3, since: 1_700_000_000 },
};
const block = { number: 7, timestamp: 1_700_000_001 };
const state = (more: Partial<VaultState> = {}): VaultState => ({
  ...{ name: undefined, display: { tokenDecimals: 2 } },
  envelope: { network: "live", chainId: 56, block },
  pin: { number: 7, hash: undefined },
  ...{ readings, time: 5, keeper, failures: [], isUp: true },
  ...more,
});

/** The samples, without `vault_` and the labels that all of them have. */
const samplesOf = (more?: Partial<VaultState>): readonly string[] =>
  renderMetrics([state(more)])
    .split("\n")
    .filter((line) => line.startsWith("vault_"))
    .map((line) =>
      line
        .replace(/network="live",chain_id="56",instance="",?/u, "")
        .replace("vault_", ""),
    );
const all = samplesOf();
/** The samples that go and those that come. */
const changeOf = (more: Partial<VaultState>) => {
  const found = samplesOf(more);
  return [
    all.filter((line) => !found.includes(line)),
    found.filter((line) => !all.includes(line)),
  ];
};

describe("metrics of vault status", () => {
  it("renderMetrics has every value once, scaled by its unit, with the unit in the name", () => {
    expect(all).to.deep.equal([
      ...["up{} 1", "block_number{} 7"],
      "block_timestamp_seconds{} 1700000001",
      'reading_up{reading="fundingFeeRate.call"} 1',
      'reading_up{reading="fundingFeeRate.put"} 1',
      'reading_up{reading="round"} 1',
      'reading_up{reading="pools.public"} 1',
      'reading_up{reading="pools.private"} 1',
      'reading_up{reading="volume"} 1',
      'reading_up{reading="marginBalance"} 1',
      'reading_up{reading="minXMargin"} 1',
      ...others.map((path) => `reading_up{reading="${path}"} 0`),
      'funding_fee_rate_ratio{contract_type="call"} 0.00025',
      'funding_fee_rate_ratio{contract_type="put"} 0.00000002',
      // 18.5 %
      ...["round_strike_price{} 65000", "round_apy_ratio{} 0.185"],
      "round_max_volume_tokens{} 13",
      "round_filled_volume_tokens{} 14.01",
      "round_min_deposit_tokens{} 0.15",
      "round_start_timestamp_seconds{} 16",
      "round_end_timestamp_seconds{} 17",
      "round_settled_price{} 0.000000000000000018",
      `round_settled_amount_raw{} ${2n ** 256n - 1n}`,
      "round_settled{} 1",
      'pools_deposit_raw{pool="public"} 310',
      'pools_deposit_raw{pool="private"} 34',
      'pools_availabe_raw{pool="public"} 32',
      'pools_availabe_raw{pool="private"} 35',
      'pools_locked_raw{pool="public"} 33',
      'pools_locked_raw{pool="private"} 36',
      "volume_raw{} 450",
      "margin_balance_base_margin_amount_raw{} 43",
      "margin_balance_x_margin_amount_raw{} 44",
      ...["min_xmargin_raw{} 46", "round_expired{} 0"],
      ...["round_remaining_seconds{} 12", "can_be_settled{} 1"],
      "settlement_open{} 1",
      "settlement_open_since_timestamp_seconds{} 1700000000",
    ]);
  });

  it("renderMetrics scales by displayDecimals, and drops tokens from the name without tokenDecimals", () => {
    const displayDecimals = { volume: 0, "pools.deposit": 2 };
    expect(changeOf({ display: { displayDecimals } })[1]).to.deep.equal([
      ...["round_max_volume_raw{} 1300", "round_filled_volume_raw{} 1401"],
      "round_min_deposit_raw{} 15",
      'pools_deposit{pool="public"} 3.1',
      'pools_deposit{pool="private"} 0.34',
      "volume{} 450",
    ]);
  });

  it("renderMetrics has no value of a round that failed", () => {
    const [gone, come] = changeOf({ readings: { ...readings, round: failed } });
    expect(come).to.deep.equal(['reading_up{reading="round"} 0']);
    // Ten of the round, and that it was read.
    expect(gone).to.have.lengthOf(11);
  });

  const since = "settlement_open_since_timestamp_seconds{} 1700000000";
  const underWay = ["settlement_open{} 1", since];
  for (const [more, gone, come] of [
    [{ expired: true }, ["round_expired{} 0"], ["round_expired{} 1"]],
    [{ secondsToEnd: null }, ["round_remaining_seconds{} 12"], []],
    [{ canBeSettled: failed }, ["can_be_settled{} 1"], []],
    [{ canBeSettled: false }, ["can_be_settled{} 1"], ["can_be_settled{} 0"]],
    [{ openSettlement: null }, underWay, ["settlement_open{} 0"]],
    [{ openSettlement: failed }, underWay, []],
  ] satisfies ReadonlyArray<
    readonly [Partial<KeeperState>, readonly string[], readonly string[]]
  >) {
    const [[name, value] = []] = Object.entries(more);
    it(`renderMetrics replaces ${gone.join(" and ")} by [${come.join("")}] if ${name} is ${value === failed ? "a failure" : JSON.stringify(value)}`, () => {
      const changed = changeOf({ keeper: { ...keeper, ...more } });
      expect(changed).to.deep.equal([gone, come]);
    });
  }

  it("renderMetrics names a metric once, with the samples of every instance below it", () => {
    const text = renderMetrics([
      ...[state(), state({ name: "usdc", isUp: false })],
      state({ name: "eth", display: {} }),
    ]);
    const lines = text.split("\n");
    expect(lines.slice(0, 4)).to.deep.equal([
      "# TYPE vault_up gauge",
      'vault_up{network="live",chain_id="56",instance=""} 1',
      'vault_up{network="live",chain_id="56",instance="usdc"} 0',
      'vault_up{network="live",chain_id="56",instance="eth"} 1',
    ]);
    expect(text)
      .to.match(/[^\n]\n$/u)
      .and.not.include("\n\n");
    const named = lines.filter((line) => line.startsWith("# TYPE "));
    expect(new Set(named).size).to.equal(named.length);
  });

  it("renderOutage has one sample, with escaped labels", () => {
    const samples = renderOutage({
      ...{ network: '"a"b\\c\nd', chainId: undefined, instance: "usdc" },
    }).split("\n");
    expect(samples.slice(1)).to.deep.equal([
      'vault_up{network="\\"a\\"b\\\\c\\nd",chain_id="",instance="usdc"} 0',
      "",
    ]);
  });
});

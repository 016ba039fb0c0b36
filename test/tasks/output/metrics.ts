import { spawnSync } from "node:child_process";

import { expect } from "chai";

import { vaultError } from "../../../src/errors.js";
import { renderMetrics, renderOutage } from "../../../tasks/output/metrics.js";
import type { KeeperState, VaultState } from "../../../tasks/vault-state.js";

const ONE = 10n ** 18n;

/** A test that needs Prometheus's own tool. */
function itWithPromtool(title: string, test: () => void): void {
  const { status } = spawnSync("promtool", ["--version"]);
  if (status === 0) {
    it(title, test);
  } else {
    // eslint-disable-next-line project/no-skip -- the title says how to run it
    it.skip(`${title} (promtool, of the package prometheus, is not installed)`);
  }
}
const failed = {
  error: vaultError("VAULT_INTERNAL", { problem: "not read" }),
};

const round = {
  ...{ strikePrice: 65_000n * ONE, APY: 185n * 10n ** 15n },
  ...{ maxVolume: 1_300n, filledVolume: 1_401n, minDeposit: 15n },
  ...{ startTime: 16n, endTime: 17n },
  ...{ settledPrice: 18n, settledAmount: 2n ** 256n - 1n, settled: true },
};
const readings = {
  fundingFeeRate: { call: 25_000n, put: 2n },
  round,
  pools: {
    public: { deposit: 310n, availabe: 32n, locked: 33n },
    private: { deposit: 34n, availabe: 35n, locked: 36n },
  },
  volume: 450n,
  marginBalance: { baseMarginAmount: 43n, xMarginAmount: 44n },
  minXMargin: 46n,
};
const keeper: KeeperState = {
  expired: false,
  secondsToEnd: 12,
  canBeSettled: true,
  canBeSettledBy: "0x70997970C51812dc3A010C7d01b50e0d17dc79C8",
  openSettlement: { hash: null, nonce: 3, since: 1_700_000_000 },
};

const state = (more: Partial<VaultState> = {}): VaultState => ({
  ...{ name: undefined, settings: { tokenDecimals: 2 } },
  envelope: {
    network: "live",
    chainId: 56,
    block: { number: 7, timestamp: 1_700_000_001 },
  },
  pin: { number: 7, hash: undefined },
  ...{ readings, time: 5, keeper, reason: null, failures: [], isUp: true },
  ...more,
});

/** The samples, without the labels that all of them have. */
const samplesOf = (...states: readonly VaultState[]): readonly string[] =>
  renderMetrics(states)
    .split("\n")
    .filter((line) => line.startsWith("vault_"))
    .map((line) =>
      line.replace(/network="live",chain_id="56",instance="",?/u, ""),
    );

/** The names of the samples that are only in the first or only in the second list. */
const change = (
  before: readonly string[],
  after: readonly string[],
): ReadonlyArray<readonly string[]> => [
  before.filter((line) => !after.includes(line)),
  after.filter((line) => !before.includes(line)),
];

describe("metrics of vault status", () => {
  it("renderMetrics has every value once, scaled by its unit, with the unit in the name", () => {
    expect(samplesOf(state())).to.deep.equal([
      "vault_up{} 1",
      "vault_block_number{} 7",
      "vault_block_timestamp_seconds{} 1700000001",
      'vault_reading_up{reading="fundingFeeRate.call"} 1',
      'vault_reading_up{reading="fundingFeeRate.put"} 1',
      'vault_reading_up{reading="round"} 1',
      'vault_reading_up{reading="pools.public"} 1',
      'vault_reading_up{reading="pools.private"} 1',
      'vault_reading_up{reading="volume"} 1',
      'vault_reading_up{reading="marginBalance"} 1',
      'vault_reading_up{reading="minXMargin"} 1',
      'vault_funding_fee_rate_ratio{contract_type="call"} 0.00025',
      'vault_funding_fee_rate_ratio{contract_type="put"} 0.00000002',
      "vault_round_strike_price{} 65000",
      // 18.5 %
      "vault_round_apy_ratio{} 0.185",
      "vault_round_max_volume_tokens{} 13",
      "vault_round_filled_volume_tokens{} 14.01",
      "vault_round_min_deposit_tokens{} 0.15",
      "vault_round_start_timestamp_seconds{} 16",
      "vault_round_end_timestamp_seconds{} 17",
      "vault_round_settled_price{} 0.000000000000000018",
      `vault_round_settled_amount_raw{} ${2n ** 256n - 1n}`,
      "vault_round_settled{} 1",
      'vault_pools_deposit_raw{pool="public"} 310',
      'vault_pools_deposit_raw{pool="private"} 34',
      'vault_pools_availabe_raw{pool="public"} 32',
      'vault_pools_availabe_raw{pool="private"} 35',
      'vault_pools_locked_raw{pool="public"} 33',
      'vault_pools_locked_raw{pool="private"} 36',
      "vault_volume_raw{} 450",
      "vault_margin_balance_base_margin_amount_raw{} 43",
      "vault_margin_balance_x_margin_amount_raw{} 44",
      "vault_min_xmargin_raw{} 46",
      "vault_round_expired{} 0",
      "vault_round_remaining_seconds{} 12",
      "vault_can_be_settled{} 1",
      "vault_settlement_open{} 1",
      "vault_settlement_open_since_timestamp_seconds{} 1700000000",
    ]);
  });

  it("renderMetrics scales by displayDecimals, and drops tokens from the name without tokenDecimals", () => {
    const settings = { displayDecimals: { volume: 1, "pools.deposit": 2 } };
    const [, after] = change(
      samplesOf(state()),
      samplesOf(state({ settings })),
    );
    expect(after).to.deep.equal([
      "vault_round_max_volume_raw{} 1300",
      "vault_round_filled_volume_raw{} 1401",
      "vault_round_min_deposit_raw{} 15",
      'vault_pools_deposit{pool="public"} 3.1',
      'vault_pools_deposit{pool="private"} 0.34',
      "vault_volume{} 45",
    ]);
  });

  it("renderMetrics has no settled price or amount of an open round, nor of a round that failed", () => {
    const open = { ...readings, round: { ...round, settled: false } };
    expect(
      change(samplesOf(state()), samplesOf(state({ readings: open }))),
    ).to.deep.equal([
      [
        "vault_round_settled_price{} 0.000000000000000018",
        `vault_round_settled_amount_raw{} ${2n ** 256n - 1n}`,
        "vault_round_settled{} 1",
      ],
      ["vault_round_settled{} 0"],
    ]);
    const none = { ...readings, round: failed };
    const [gone, come] = change(
      samplesOf(state()),
      samplesOf(state({ readings: none })),
    );
    expect(come).to.deep.equal(['vault_reading_up{reading="round"} 0']);
    // Ten of the round, and that it was read.
    expect(gone).to.have.lengthOf(11);
  });

  it("renderMetrics leaves out what is not known of a settlement", () => {
    const without = (more: Partial<KeeperState>) =>
      change(
        samplesOf(state()),
        samplesOf(state({ keeper: { ...keeper, ...more } })),
      );
    for (const [more, gone, come] of [
      [{ expired: null }, ["round_expired{} 0"], []],
      [{ secondsToEnd: null }, ["round_remaining_seconds{} 12"], []],
      [{ canBeSettled: null }, ["can_be_settled{} 1"], []],
      [{ canBeSettled: failed }, ["can_be_settled{} 1"], []],
      [{ canBeSettled: false }, ["can_be_settled{} 1"], ["can_be_settled{} 0"]],
      [{ expired: true }, ["round_expired{} 0"], ["round_expired{} 1"]],
      [
        { secondsToEnd: -5 },
        ["round_remaining_seconds{} 12"],
        ["round_remaining_seconds{} -5"],
      ],
      [
        { openSettlement: null },
        [
          "settlement_open{} 1",
          "settlement_open_since_timestamp_seconds{} 1700000000",
        ],
        ["settlement_open{} 0"],
      ],
      [
        { openSettlement: failed },
        [
          "settlement_open{} 1",
          "settlement_open_since_timestamp_seconds{} 1700000000",
        ],
        [],
      ],
      [
        { openSettlement: { hash: "0x1", nonce: 1, since: null } },
        ["settlement_open_since_timestamp_seconds{} 1700000000"],
        [],
      ],
    ] as const) {
      expect(without(more), JSON.stringify(more)).to.deep.equal(
        [gone, come].map((names) => names.map((name) => `vault_${name}`)),
      );
    }
  });

  itWithPromtool("renderMetrics passes promtool check metrics", () => {
    const input = renderMetrics([
      state({ settings: { displayDecimals: { pools: 2 } } }),
      state({ name: "raw", settings: {} }),
    ]);
    const options = { input, encoding: "utf8" } as const;
    const checked = spawnSync("promtool", ["check", "metrics"], options);
    expect(checked.stdout + checked.stderr).to.equal("");
    expect(checked.status).to.equal(0);
  });

  it("renderMetrics names a metric once, with the samples of every instance below it", () => {
    const text = renderMetrics([
      state(),
      state({ name: "usdc", isUp: false }),
      state({ name: "eth", settings: {} }),
    ]);
    const lines = text.split("\n");
    expect(lines.slice(0, 5)).to.deep.equal([
      "# HELP vault_up 1 if the node answered, and every reading of a configured contract succeeded",
      "# TYPE vault_up gauge",
      'vault_up{network="live",chain_id="56",instance=""} 1',
      'vault_up{network="live",chain_id="56",instance="usdc"} 0',
      'vault_up{network="live",chain_id="56",instance="eth"} 1',
    ]);
    expect(text.endsWith("\n") && !text.includes("\n\n")).to.equal(true);
    const named = lines.filter((line) => line.startsWith("# TYPE "));
    expect(new Set(named).size).to.equal(named.length);
  });

  it("renderMetrics explains each metric, with its unit", () => {
    const settings = { tokenDecimals: 2, displayDecimals: { volume: 1 } };
    const helps = new Map(
      Array.from(
        renderMetrics([state({ settings })]).matchAll(
          /^# HELP vault_(\w+) (.*)$/gmu,
        ),
        ([, name, help]) => [name, help] as const,
      ),
    );
    for (const [name, help] of [
      ["block_number", "Block of the readings"],
      ["funding_fee_rate_ratio", "Funding fee rate, scaled"],
      ["round_strike_price", "Latest round: Strike price, scaled"],
      ["round_apy_ratio", "Latest round: APY, 1 is 100 %"],
      ["round_max_volume_tokens", "Latest round: Maximum volume, in tokens"],
      ["round_end_timestamp_seconds", "Latest round: End, Unix seconds"],
      ["round_settled", "Latest round: Settled, 1 if it is"],
      [
        "pools_locked_raw",
        "Liquidity pools: Locked, the contract's integer, unscaled",
      ],
      ["volume", "Volume, scaled as configured"],
    ] as const) {
      expect(helps.get(name), name).to.equal(help);
    }
  });

  it("renderOutage has one sample, its labels escaped, and no chain id if none is configured", () => {
    const samples = renderOutage('a"b\\c\nd', undefined, "usdc");
    expect(samples.split("\n").slice(2)).to.deep.equal([
      'vault_up{network="a\\"b\\\\c\\nd",chain_id="",instance="usdc"} 0',
      "",
    ]);
    expect(renderOutage("live", 9, undefined)).to.include(
      '{network="live",chain_id="9",instance=""} 0\n',
    );
  });
});

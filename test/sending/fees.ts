import { expect } from "chai";

import { RpcClient } from "../../src/rpc/rpc-client.js";
import {
  offerAtMost,
  parseFeeLimits,
  raiseFees,
  requireWithin,
  resolveFees,
  resolveGas,
} from "../../src/sending/fees.js";
import type { FeeLimits, GasPrice } from "../../src/sending/fees.js";
import { expectVaultError } from "../helpers/assertions.js";
import { codedError } from "../helpers/foreign-errors.js";
import { answering } from "../helpers/recording-node.js";
import { ScriptedNode } from "../helpers/scripted-node.js";

const price = (current: bigint, highest: bigint, tip: bigint): GasPrice => ({
  fees: { maxFeePerGas: highest, maxPriorityFeePerGas: tip },
  ...{ current, highest },
});
const gasPrice = (wei: bigint): GasPrice => ({
  fees: { gasPrice: wei },
  ...{ current: wei, highest: wei },
});

const eip1559 = (maxFeePerGas: bigint, maxPriorityFeePerGas: bigint) => ({
  maxFeePerGas,
  maxPriorityFeePerGas,
});

describe("parseFeeLimits()", () => {
  it("maxFeePerGas lowers the limit of the configuration, and keeps that of the tip", () => {
    const vault = { maxFeePerGasLimit: 9n, maxPriorityFeePerGasLimit: 2n };
    const limits = parseFeeLimits(
      new ScriptedNode().host({ settings: { vault } }),
      8n,
    );
    expect(limits).to.deep.equal({
      maxFeePerGas: { wei: 8n, setting: "maxFeePerGas" },
      maxPriorityFeePerGas: {
        ...{
          wei: 2n,
          setting: "networks.scripted.vault.maxPriorityFeePerGasLimit",
        },
      },
    });
  });
});

describe("resolveFees()", () => {
  const refuse = (): never => {
    throw Object.assign(new Error("no"), { code: -32_601 });
  };
  for (const [title, config, baseFeePerGas, tip, is] of [
    [
      "doubles the base fee and adds the tip that the node suggests",
      "auto",
      7n,
      () => "0x1",
      price(8n, 15n, 1n),
    ],
    [
      "takes a tip of 1 gwei if the node suggests none",
      "auto",
      7n,
      refuse,
      price(1_000_000_007n, 1_000_000_014n, 1_000_000_000n),
    ],
    [
      "takes the node's gas price on a chain without a base fee",
      "auto",
      undefined,
      refuse,
      gasPrice(1_000_000_000n),
    ],
    ["takes the configured gas price", 5n, 7n, refuse, gasPrice(5n)],
  ] as const) {
    it(title, async () => {
      const node = new ScriptedNode();
      node.on("eth_maxPriorityFeePerGas", tip);
      const rpc = new RpcClient(node, "scripted");
      const found = await resolveFees(
        rpc,
        { gasPrice: config },
        { baseFeePerGas },
      );
      expect(found).to.deep.equal(is);
    });
  }

  it("takes no tip of its own if the node cannot be reached: VAULT_NETWORK_UNREACHABLE", async () => {
    const asking = resolveFees(
      answering(codedError("ECONNREFUSED")),
      ...([{ gasPrice: "auto" }, { baseFeePerGas: 7n }] as const),
    );
    await expectVaultError(asking, "VAULT_NETWORK_UNREACHABLE");
  });
});

describe("fee limits", () => {
  const asked = price(8n, 15n, 2n);
  const of = (fee: bigint, tip = 2n): FeeLimits => ({
    maxFeePerGas: { wei: fee, setting: "a setting" },
    maxPriorityFeePerGas: { wei: tip, setting: "the tip's setting" },
  });
  for (const [most, is] of [
    [undefined, asked],
    [3n, price(8n, 8n, 2n)],
    [9n, price(8n, 9n, 2n)],
    [99n, asked],
  ] as const) {
    it(`lower the reserve for later blocks to ${most}, never below the current price`, () => {
      expect(offerAtMost(asked, most)).to.deep.equal(is);
    });
  }
  for (const [{ current, fees }, limits, says] of [
    [asked, {}, undefined],
    [asked, of(8n), undefined],
    [asked, of(7n), "a price of 8 wei"],
    [asked, of(15n, 1n), "a priority fee of 2 wei"],
    [gasPrice(9n), of(8n), "a price of 9 wei"],
  ] as const) {
    const accept = (): void => {
      requireWithin("live", current, fees, limits);
    };
    if (says === undefined) {
      it(
        `accept a price of ${current} wei${"maxFeePerGas" in limits ? " at its limit" : " without one"}`,
        accept,
      );
    } else {
      it(`refuse ${says} above its limit: VAULT_FEE_ABOVE_LIMIT`, () => {
        expect(accept)
          .to.throw(says)
          .with.property("code", "VAULT_FEE_ABOVE_LIMIT");
      });
    }
  }
});

describe("raiseFees()", () => {
  for (const [title, old, asked, raised] of [
    [
      "raises both fees by an eighth, rounded up",
      eip1559(1_001n, 1n),
      eip1559(0n, 0n),
      eip1559(1_127n, 2n),
    ],
    [
      "takes what the node asks for if that is more",
      eip1559(1_000n, 10n),
      eip1559(5_000n, 50n),
      eip1559(5_000n, 50n),
    ],
    [
      "never leaves the whole fee below the tip",
      eip1559(8n, 8n),
      eip1559(0n, 50n),
      eip1559(50n, 50n),
    ],
    ["raises a tip of 0", eip1559(8n, 0n), eip1559(0n, 0n), eip1559(9n, 1n)],
    [
      "keeps a gas price a gas price",
      { gasPrice: 9n },
      { gasPrice: 1n },
      { gasPrice: 11n },
    ],
    [
      "raises the whole fee to the gas price that the node asks for by now",
      eip1559(8n, 8n),
      { gasPrice: 500n },
      eip1559(500n, 9n),
    ],
    [
      "raises a gas price to the whole fee that the node asks for by now",
      { gasPrice: 9n },
      eip1559(500n, 1n),
      { gasPrice: 500n },
    ],
  ] as const) {
    it(title, () => {
      expect(raiseFees(old, asked)).to.deep.equal(raised);
    });
  }
});

describe("resolveGas()", () => {
  const call = {
    from: `0x${"a1".repeat(20)}`,
    ...{ to: `0x${"a2".repeat(20)}`, data: "0xa015aefe" },
  };
  const auto = { gas: "auto", gasMultiplier: 1 } as const;
  const nodeWith = (answer: () => unknown): ScriptedNode => {
    const node = new ScriptedNode();
    node.on("eth_estimateGas", answer);
    return node;
  };
  const resolve = async (
    node: ScriptedNode,
    settings: object,
    simulated?: { readonly used: bigint; readonly needed: bigint },
    gasLimit = 1_000_000n,
  ): Promise<unknown> =>
    await resolveGas(
      new RpcClient(node, "scripted"),
      { ...auto, ...settings },
      call,
      { gasLimit },
      simulated,
    );

  for (const [title, settings, estimate, gas] of [
    ["the configured gas, without a request", { gas: 5n }, 100_000, 5n],
    ["the estimate and a quarter", {}, 100_000, 125_000n],
    ["the estimate × 1.5", { gasMultiplier: 1.5 }, 100_001, 150_001n],
    ["at most 95 % of a block", { gasMultiplier: 2 }, 475_001, 950_000n],
  ] as const) {
    it(`gives ${title}: ${gas} for an estimate of ${estimate}`, async () => {
      const node = nodeWith(() => `0x${estimate.toString(16)}`);
      expect(await resolve(node, settings)).to.deep.equal({ gas });
      expect(node.asked.map(({ params }) => params)).to.deep.equal(
        "gas" in settings ? [] : [[call]],
      );
    });
  }

  const CAP = 16_777_216n;
  for (const [title, used, needed, block, gas] of [
    ["a quarter more than is needed", 60n, 80n, 1_000n, 100n],
    ["no more than 95 % of the block", 700n, 800n, 1_000n, 950n],
    ["what is needed above that", 700n, 970n, 1_000n, 970n],
    ["no more than the block has", 700n, 1_200n, 1_000n, 1_000n],
    ["the cap of a transaction", CAP, CAP, 10n * CAP, CAP],
    ["that cap if refunds do", CAP - 4n, CAP + 4n, 10n * CAP, CAP],
    ["more if the use does", CAP + 4n, CAP + 4n, 10n * CAP, 20_971_525n],
  ] as const) {
    it(`gives what a simulation used, without a request: ${title}`, async () => {
      const node = new ScriptedNode();
      const found = await resolve(node, {}, { used, needed }, block);
      expect(found).to.deep.equal({ gas });
      expect(node.asked).to.deep.equal([]);
    });
  }

  it("multiplies what a simulation needs", async () => {
    const found = await resolve(
      new ScriptedNode(),
      { gasMultiplier: 1.5 },
      { used: 60_000n, needed: 80_000n },
    );
    expect(found).to.deep.equal({ gas: 120_000n });
  });

  it("returns the revert of an estimate", async () => {
    const node = nodeWith(() => {
      const reverted = { code: 3, data: "0x" };
      throw Object.assign(new Error("execution reverted"), reverted);
    });
    expect(await resolve(node, {})).to.have.property("reverted");
  });
});

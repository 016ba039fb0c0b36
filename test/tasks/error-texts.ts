import { expect } from "chai";

import { invalidArgument, vaultError } from "../../src/errors.js";
import {
  inFlags,
  messageForCommandLine,
  repeatFlags,
  toDocument,
} from "../../tasks/error-texts.js";
import { parseGasPrice } from "../../tasks/parsers.js";

const late = vaultError("VAULT_RPC_TIMEOUT", {
  ...{ network: "live", method: "eth_call" },
});

describe("an error on the command line", () => {
  const typed = {
    ...{ fromBlock: "1", block: undefined, maxFeePerGas: "6wei" },
    ...{ instance: "usdc", network: "live" },
  };
  const wrong = "it is wrong";
  const dear = {
    ...{ what: "a fee", price: "7", limit: "6", network: "live" },
    setting: "maxFeePerGas",
  };
  const unfinished = { transaction: "0x12", file: "settlement.json" };
  for (const [error, where, text] of [
    [
      invalidArgument("fromBlock", wrong),
      "--from-block",
      "--from-block: it is",
    ],
    [invalidArgument("blockTag", wrong), "--block", "--block: it is wrong."],
    [invalidArgument("engine", wrong), "--fork", "--fork: it is wrong."],
    [invalidArgument("lastId", wrong), "--ids", "--ids: it is wrong."],
    [
      invalidArgument("networks.main.url", wrong),
      ...(["networks.main.url", "networks.main.url: it is wrong."] as const),
    ],
    [
      vaultError("VAULT_FEE_ABOVE_LIMIT", dear),
      ...(["--max-fee-per-gas", "or raise --max-fee-per-gas. Not"] as const),
    ],
    [
      vaultError("VAULT_SETTLEMENT_UNFINISHED", unfinished),
      undefined,
      " with `npx hardhat vault settle --resume --instance usdc --network live`; ",
    ],
  ] as const) {
    it(`an error names flags in place of API options: ${text}`, () => {
      expect(error.message).to.not.contain("--");
      const { shortMessage, fix, details } = inFlags(error, typed);
      expect(`${shortMessage} ${fix}`)
        .to.contain(text)
        .and.not.contain("option `");
      expect(details["where"] ?? details["setting"]).to.equal(where);
    });
  }

  it("the limit of the fee that an error tells to pass is one that --max-fee-per-gas takes", () => {
    const [price, limit] = ["1.2 gwei", 12_000_000_000n];
    const needed = { network: "live", price, limit };
    const error = vaultError("VAULT_FEE_LIMIT_NEEDED", needed);
    const [, text = ""] =
      /`--max-fee-per-gas ([^`]*)`/u.exec(messageForCommandLine(error)) ?? [];
    expect(parseGasPrice(text, "--max-fee-per-gas")).to.equal(limit);
  });

  it("a document has the advice of the command line for an error in it", () => {
    expect(toDocument({ volume: { error: late } }))
      .to.have.nested.property("volume.error.message")
      .that.includes("networks.live.timeout, or pass --timeout");
  });

  for (const [args, flags] of [
    [
      { at: "vault=0x1, trading=0x2", instance: "a", network: "b", json: true },
      " --at vault=0x1,trading=0x2 --instance a --network b",
    ],
    [{ at: undefined, network: "live" }, " --network live"],
  ] as const) {
    it(`a suggested command repeats${flags}, which choose the contracts`, () => {
      expect(repeatFlags(args)).to.equal(flags);
    });
  }
});

import { expect } from "chai";

import type { HardhatVault } from "../../src/plugin/hardhat-vault.js";
import { toJsonValue } from "../../src/json.js";
import { toSafeJson } from "../../src/untrusted-text.js";
import { settle } from "../../tasks/settle.js";
import { simulate } from "../../tasks/simulate.js";
import { createStyle } from "../../tasks/output/style.js";
import { fieldsOf, listOf } from "../helpers/fields.js";
import { directProvider } from "../helpers/world.js";
import { openLaneWithNode } from "../helpers/settlement-lane.js";
import type { LaneWithNode } from "../helpers/settlement-lane.js";
import { deploySettlingVault } from "../helpers/settling-vaults.js";

const POLLING = { pollingInterval: 20 };

/** What a task's document says of the token that moves first. */
function firstTransfer(document: string): object {
  const { simulation, settlement } = fieldsOf(JSON.parse(document));
  const { transfers } = fieldsOf(simulation ?? fieldsOf(settlement)["preview"]);
  const { token, symbol, decimals } = fieldsOf(listOf(transfers)[0]);
  return { token, symbol, decimals };
}

describe("the preview of what a settlement moves", () => {
  let lane: LaneWithNode;
  let provider: ReturnType<typeof directProvider>;

  before(async () => {
    lane = await openLaneWithNode();
    provider = directProvider(lane.node.url);
  });
  after(async () => {
    provider.destroy();
    await lane.close();
  });
  async function open(): Promise<{ vault: HardhatVault; token: string }> {
    const deployer = await provider.getSigner(4);
    const { contracts, token } = await deploySettlingVault(
      deployer,
      "PayingVault",
    );
    const vault = await lane.connect({ vault: { contracts } });
    return { vault, token: await token.getAddress() };
  }

  it("simulate and settle print symbols and decimals of tokens in JSON, escaped, and null if a token has none", async () => {
    const { vault, token } = await open();
    const code = await provider.getCode(token);
    const simulated = async (changed: string): Promise<string> => {
      await provider.send("anvil_setCode", [token, changed]);
      const { json } = await simulate(vault, {});
      return toSafeJson(toJsonValue(json));
    };

    const said = [
      // TST, which the compiler shifts by two bits, becomes an escape sequence.
      await simulated(code.replaceAll("1514d5", "06d6d2")),
      // It has neither symbol() nor decimals() any more.
      await simulated(
        code
          .replaceAll("95d89b41", "95d89b42")
          .replaceAll("313ce567", "313ce568"),
      ),
      await simulated(code),
    ];
    const { json } = await settle(vault, { yes: true }, POLLING, {
      err: {
        style: createStyle({}),
        write: async () => await Promise.resolve(true),
      },
      ask: undefined,
    });
    said.push(toSafeJson(toJsonValue(json)));

    expect(said.map(firstTransfer)).to.deep.equal([
      { token, symbol: "\u001b[H", decimals: 6 },
      { token, symbol: null, decimals: null },
      { token, symbol: "TST", decimals: 6 },
      { token, symbol: "TST", decimals: 6 },
    ]);
    expect(said.join()).not.to.include("\u001b");
  });
});

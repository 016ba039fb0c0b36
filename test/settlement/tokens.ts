import { expect } from "chai";
import type { Contract } from "ethers";

import type { HardhatVault } from "../../src/plugin/hardhat-vault.js";
import type { SettlementPreflight } from "../../src/settlement/types.js";
import { toJsonValue } from "../../src/json.js";
import { toSafeJson } from "../../src/untrusted-text.js";
import { settle } from "../../tasks/settle.js";
import { simulate } from "../../tasks/simulate.js";
import { renderText } from "../../tasks/output/render-text.js";
import { preflightBlocks } from "../../tasks/output/settlement.js";
import { createStyle } from "../../tasks/output/style.js";
import { fieldsOf, listOf } from "../helpers/fields.js";
import { directProvider } from "../helpers/world.js";
import { openLaneWithNode } from "../helpers/settlement-lane.js";
import type { LaneWithNode } from "../helpers/settlement-lane.js";
import { deploySettlingVault } from "../helpers/settling-vaults.js";
import type { SettlingVaultName } from "../helpers/settling-vaults.js";

const POLLING = { pollingInterval: 20 };

/** What a task's document says of the token that moves first. */
function firstTransfer(document: string): object {
  const { simulation, settlement } = fieldsOf(JSON.parse(document));
  const { transfers } = fieldsOf(simulation ?? fieldsOf(settlement)["preview"]);
  const { token, symbol, decimals } = fieldsOf(listOf(transfers)[0]);
  return { token, symbol, decimals };
}

const context = { tokenDecimals: undefined, chainTime: 0, raw: false };

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
  beforeEach(() => {
    lane.server.reset();
  });

  async function open(
    name: SettlingVaultName,
  ): Promise<{ vault: HardhatVault; token: string; contract: Contract }> {
    const deployer = await provider.getSigner(4);
    const { contracts, token, contract } = await deploySettlingVault(
      deployer,
      name,
    );
    const vault = await lane.connect({ vault: { contracts } });
    lane.server.reset();
    return { vault, token: await token.getAddress(), contract };
  }

  it("settle asks a token for its symbol and for its decimals, with two calls", async () => {
    const { vault, token } = await open("PayingVault");
    lane.server.afterwards(
      { method: "eth_sendRawTransaction", occurrence: 0 },
      async () => {
        await lane.world.mine();
      },
    );
    let shown: SettlementPreflight | undefined;

    const settlement = await vault.settleAll({
      ...POLLING,
      confirm: async (preflight) => {
        shown = preflight;
        return await Promise.resolve(true);
      },
    });

    const asked = lane.server.requests
      .map(({ params }) => JSON.stringify(params).toLowerCase())
      .filter((params) => params.includes(`"to":"${token.toLowerCase()}"`));
    expect(asked).to.have.length(2);
    expect(settlement).to.include({ status: "settled" });
    expect(settlement.preview?.differences).to.deep.equal([]);
    expect(shown?.tokens).to.deep.equal(
      new Map([[token, { symbol: "TST", decimals: 6 }]]),
    );
    if (shown === undefined) {
      throw new Error("nothing was shown");
    }
    const blocks = preflightBlocks(
      {
        ...shown,
        tokens: new Map([[token, { symbol: "T\u001b[2J", decimals: 6 }]]),
      },
      { network: "live", chainId: 31_337 },
      context,
    );
    const text = renderText(blocks, createStyle({}));
    expect(text).to.match(/0\.0000\d+ T\\u\{1b\}\[2J/u);
    expect(text).to.include("vault contract");
  });

  it("should say in JSON what tokens call themselves, escaped, and null where they do not tell", async () => {
    const { vault, token } = await open("PayingVault");
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

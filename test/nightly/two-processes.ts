import { execFile } from "node:child_process";
import { promisify } from "node:util";

import { expect } from "chai";

import { deployMocks } from "../../src/mocks/index.js";
import { useAnvil } from "../helpers/anvil.js";
import { fetchProvider } from "../helpers/fetch-provider.js";

const TIMES = 30;

describe("mocks that two processes script", () => {
  const anvil = useAnvil();

  it("set() loses no change that two processes make to the same round", async () => {
    const { addresses, vault } = await deployMocks(fetchProvider(anvil.url));
    const lost = await Promise.all(
      ["strikePrice", "APY"].map(async (field) => {
        const { stdout } = await promisify(execFile)(process.execPath, [
          ...["--import", "tsx", "test/helpers/script-mocks.ts"],
          ...[anvil.url, JSON.stringify(addresses), field, String(TIMES)],
        ]);
        return stdout;
      }),
    );
    expect(lost).to.deep.equal(["0", "0"]);
    expect(await vault.getLatestRoundInfo()).to.include({
      strikePrice: BigInt(TIMES),
      APY: BigInt(TIMES),
    });
  });
});

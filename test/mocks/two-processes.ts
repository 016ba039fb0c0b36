import { execFile } from "node:child_process";
import { promisify } from "node:util";

import { expect } from "chai";

import { connectMocks, deployMocks } from "../../src/mocks/index.js";
import type { Eip1193Provider } from "../../src/rpc/eip1193.js";
import { startAnvil } from "../helpers/anvil.js";
import { expectVaultError } from "../helpers/assertions.js";
import type { ServerProcess } from "../helpers/child-process.js";
import { fetchProvider } from "../helpers/fetch-provider.js";
import { recordCalls } from "../helpers/recording-provider.js";

const TIMES = 30;

describe("mocks that two processes script", () => {
  let anvil: ServerProcess;
  let provider: Eip1193Provider;

  before(async () => {
    anvil = await startAnvil();
    provider = fetchProvider(anvil.url);
  });

  after(async () => {
    await anvil.stop();
  });

  it("two processes lose no change that they make to the same round", async () => {
    const { addresses, vault } = await deployMocks(provider);
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

  it("set() retries when the nonce is too low, and fails after 20 times with VAULT_RPC_ERROR", async () => {
    const { addresses, vault } = await deployMocks(provider);
    let refusals = 2;
    const contended = recordCalls(provider, ({ method }) => {
      if (method === "eth_sendTransaction" && refusals > 0) {
        refusals -= 1;
        throw Object.assign(new Error("nonce too low"), { code: -32003 });
      }
    });
    const mocks = await connectMocks(contended, addresses);
    await mocks.set({ volume: 5n });
    expect(await vault.queryVolume()).to.equal(5n);
    refusals = 100;
    await expectVaultError(mocks.set({ volume: 6n }), "VAULT_RPC_ERROR");
    expect(refusals).to.equal(80);
  });
});

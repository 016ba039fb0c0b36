import { execFile } from "node:child_process";
import { promisify } from "node:util";

import { expect } from "chai";

import { connectMocks, deployMocks } from "../../src/mocks/index.js";
import { startAnvil } from "../helpers/anvil.js";
import type { ServerProcess } from "../helpers/child-process.js";
import { expectVaultError } from "../helpers/assertions.js";
import { fetchProvider } from "../helpers/fetch-provider.js";

const TIMES = 30;

describe("mocks that two processes script", () => {
  let anvil: ServerProcess;

  before(async () => {
    anvil = await startAnvil();
  });

  after(async () => {
    await anvil.stop();
  });

  it("keep what each of them sets in the same round", async () => {
    const { addresses, vault } = await deployMocks(fetchProvider(anvil.url));
    const fields = ["strikePrice", "APY"] as const;
    const lost = await Promise.all(
      fields.map(async (field) => {
        const { stdout } = await promisify(execFile)(process.execPath, [
          ...["--import", "tsx", "test/helpers/script-mocks.ts"],
          anvil.url,
          JSON.stringify(addresses),
          field,
          String(TIMES),
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

  for (const [refusals, outcome] of [
    [2, "succeed"],
    [Infinity, "fail"],
  ] as const) {
    it(`${outcome} where the nonce is too low ${refusals === Infinity ? "every time" : "twice"}`, async () => {
      const provider = fetchProvider(anvil.url);
      const { addresses, vault } = await deployMocks(provider);
      let sent = 0;
      const contended = {
        async request(call: { method: string; params?: unknown[] }) {
          if (call.method === "eth_sendTransaction") {
            sent += 1;
            if (sent <= refusals) {
              const error = new Error("nonce too low");
              throw Object.assign(error, { code: -32003 });
            }
          }
          return await provider.request(call);
        },
      };
      const mocks = await connectMocks(contended, addresses);
      if (outcome === "fail") {
        await expectVaultError(mocks.set({ volume: 5n }), "VAULT_RPC_ERROR");
        expect(sent).to.equal(20);
      } else {
        await mocks.set({ volume: 5n });
        expect(await vault.queryVolume()).to.equal(5n);
      }
    });
  }
});

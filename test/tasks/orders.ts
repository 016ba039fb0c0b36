import { expect } from "chai";

import { useAnvil } from "../helpers/anvil.js";
import { connectTo, hreOnLive } from "../helpers/hre.js";
import { startRpcServer } from "../helpers/rpc-server.js";
import { runVaultTask } from "../helpers/run-vault-task.js";
import { deployGeneratedOrders } from "../helpers/trading.js";

// What orders prints in each form is recorded: see sessions.ts.
describe("vault orders", () => {
  const anvil = useAnvil();

  it("orders stops reading, ends with exit code 0 and prints nothing if the reader has closed the pipe", async () => {
    const { provider } = await connectTo(anvil.url);
    const trading = await deployGeneratedOrders(provider, 1n, 10_000n);
    const server = await startRpcServer({ upstream: anvil.url });
    const remote = await hreOnLive(server.url);
    const closed = Object.assign(new Error("closed"), { code: "EPIPE" });
    const args = { ids: "1-10000", at: `trading=${trading}` };
    expect(
      await runVaultTask(
        remote,
        "orders",
        { ...args, format: "ndjson" },
        closed,
      ),
    ).to.deep.equal({ stdout: "", stderr: "", exitCode: 0 });
    const read = server.requests.length;
    await runVaultTask(remote, "orders", args);
    expect(server.requests.length - read).to.be.above(read);
    await server.stop();
  });
});

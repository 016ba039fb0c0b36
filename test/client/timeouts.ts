import { expect } from "chai";

import { VaultClient } from "../../src/client/index.js";
import { expectVaultError } from "../helpers/assertions.js";
import { speedUpTime } from "../helpers/deadlines.js";
import { StatusError } from "../helpers/foreign-errors.js";
import {
  documentedContracts,
  documentedNode,
} from "../helpers/scripted-node.js";

describe("client - time limits", () => {
  speedUpTime();

  for (const [title, read] of [
    ["a read", async (client: VaultClient) => await client.queryVolume()],
    ["snapshot()", async (client: VaultClient) => await client.snapshot()],
  ] as const) {
    it(`${title} ends after five minutes, retries included, if the caller gives no timeout: VAULT_NETWORK_UNREACHABLE`, async () => {
      const node = documentedNode();
      const slow = async (): Promise<never> => {
        await new Promise((resolve) => setTimeout(resolve, 70_000));
        throw new StatusError(429);
      };
      node.on("eth_call", slow);
      node.on("eth_getBlockByNumber", slow);
      const { message } = await expectVaultError(
        read(new VaultClient(node, documentedContracts)),
        "VAULT_NETWORK_UNREACHABLE",
      );
      expect(message).to.include("(tried 5 times in 300 s)");
    });
  }

  it("a read ends at its timeout if the address is never found: VAULT_RPC_TIMEOUT", async () => {
    const client = new VaultClient(
      documentedNode(),
      async () => await new Promise(() => undefined),
    );
    const longAfter = new Promise((resolve) => setTimeout(resolve, 60_000));
    await expectVaultError(
      Promise.race([client.queryVolume({ timeout: 1_000 }), longAfter]),
      "VAULT_RPC_TIMEOUT",
    );
  });
});

import { inspect } from "node:util";

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

  for (const [options, milliseconds] of [
    [{ timeout: 1_000 }, 1_000],
    [{}, 300_000],
  ] as const) {
    it(`a read with the options ${inspect(options)} ends after ${milliseconds} ms if the address is never found: VAULT_RPC_TIMEOUT`, async () => {
      const client = new VaultClient(
        documentedNode(),
        async () => await new Promise(() => undefined),
      );
      const longAfter = new Promise((resolve) =>
        setTimeout(resolve, milliseconds + 10_000),
      );
      await expectVaultError(
        Promise.race([client.queryVolume(options), longAfter]),
        "VAULT_RPC_TIMEOUT",
      );
    });
  }

  it("snapshot() ends after five minutes, retries included, if the caller gives no timeout: VAULT_NETWORK_UNREACHABLE", async () => {
    const node = documentedNode();
    const slow = async (): Promise<never> => {
      await new Promise((resolve) => setTimeout(resolve, 70_000));
      throw new StatusError(429);
    };
    node.on("eth_call", slow);
    node.on("eth_getBlockByNumber", slow);
    const { message } = await expectVaultError(
      new VaultClient(node, documentedContracts).snapshot(),
      "VAULT_NETWORK_UNREACHABLE",
    );
    expect(message).to.include("(tried 5 times in 300 s)");
  });
});

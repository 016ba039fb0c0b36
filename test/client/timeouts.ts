import { inspect } from "node:util";

import { VaultClient } from "../../src/client/index.js";
import { expectVaultError } from "../helpers/assertions.js";
import { speedUpTime } from "../helpers/deadlines.js";
import {
  documentedContracts,
  documentedNode,
} from "../helpers/documented-node.js";

describe("client - time limits", () => {
  speedUpTime();

  for (const [title, read] of [
    ["a read", "queryVolume"],
    ["snapshot()", "snapshot"],
  ] as const) {
    for (const [options, milliseconds] of [
      [{ timeout: 1_000 }, 1_000],
      [{}, 300_000],
    ] as const) {
      it(`${title} with the options ${inspect(options)} ends after ${milliseconds} ms if the address is never found: VAULT_RPC_TIMEOUT`, async () => {
        const client = new VaultClient(
          documentedNode(),
          async () => await new Promise(() => undefined),
        );
        const longAfter = new Promise((resolve) =>
          setTimeout(resolve, milliseconds + 10_000),
        );
        await expectVaultError(
          Promise.race([client[read](options), longAfter]),
          "VAULT_RPC_TIMEOUT",
        );
      });
    }
  }

  for (const method of ["orders", "rounds"] as const) {
    it(`${method}() ends at its timeout if the node never answers: VAULT_RPC_TIMEOUT`, async () => {
      const node = documentedNode();
      node.request = async () => await new Promise(() => undefined);
      const client = new VaultClient(node, documentedContracts);
      const longAfter = new Promise((resolve) => setTimeout(resolve, 10_000));
      await expectVaultError(
        Promise.race([client[method]({ timeout: 1_000 }).next(), longAfter]),
        "VAULT_RPC_TIMEOUT",
      );
    });
  }
});

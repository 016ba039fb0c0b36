import { expect } from "chai";
import type { HardhatRuntimeEnvironment } from "hardhat/types/hre";

import { operations } from "../../../src/protocol/index.js";
import { documentedContracts } from "../../helpers/documented-node.js";
import { fieldsOf } from "../../helpers/fields.js";
import { createTestHre, hreOnLive } from "../../helpers/hre.js";
import { NOBODY } from "../../helpers/names.js";
import { parseDocument, runTyped } from "../../helpers/run-vault-task.js";
import { itFails } from "../../helpers/use-tasks.js";

const OTHER = "0x00000000000000000000000000000000000000bb";
const ZERO = `0x${"0".repeat(40)}`;
/** An argument as it is encoded. */
const word = (value: number): string => value.toString(16).padStart(64, "0");

describe("vault request", () => {
  // No node listens: the task sends nothing.
  const URL = "http://127.0.0.1:1";
  let hre: HardhatRuntimeEnvironment;
  let inProcess: HardhatRuntimeEnvironment;
  before(async () => {
    const contracts = documentedContracts;
    const instances = { usdc: { contracts: { vault: NOBODY } } };
    const settings = { from: OTHER, vault: { contracts, instances } };
    hre = await hreOnLive(URL, settings);
    inProcess = await createTestHre({
      networks: { default: { type: "edr-simulated", ...settings } },
    });
  });
  const printed = async (typed: string, on = hre) => {
    const { stdout } = await runTyped(on, `request ${typed}`);
    return fieldsOf(JSON.parse(stdout));
  };

  for (const [typed, role, data] of [
    ["getFundingFeeRate put", "underlyingAsset", `0xc138aa5f${word(2)}`],
    ["getLatestRoundInfo", "vaultFactory", "0x2016e80b"],
    ["getOrderInfo 0x1f", "trading", `0xd311636b${word(31)}`],
    ["calMargins 1 2 3", "vault", `0xb6624fb0${word(1)}${word(2)}${word(3)}`],
    ["getLPAmountInfo --pool private", "privatePool", "0x53ac2d24"],
  ] as const) {
    it(`request ${typed} prints a call of ${role}, from the sender of the configuration`, async () => {
      expect(await printed(typed)).to.deep.include({
        ...{ jsonrpc: "2.0", id: 1, method: "eth_call" },
        params: [
          { from: OTHER, to: documentedContracts[role], data },
          "latest",
        ],
      });
    });
  }

  const { vault } = documentedContracts;
  for (const [options, from, to] of [
    [`--from ${NOBODY}`, NOBODY, vault],
    ["--instance usdc", OTHER, NOBODY],
    [`--at vault=${OTHER}`, OTHER, OTHER],
    [`--at trading=${OTHER}`, OTHER, vault],
  ] as const) {
    it(`request queryVolume ${options} prints a call from ${from} to ${to}, also in process`, async () => {
      for (const network of [hre, inProcess]) {
        const { params } = await printed(`queryVolume ${options}`, network);
        expect(params).to.have.deep.nested.property("[0].from", from);
        expect(params).to.have.deep.nested.property("[0].to", to);
      }
    });
  }

  it("request without a sender in the configuration calls from the zero address", async () => {
    const bare = await hreOnLive(URL, { vault: { contracts: { vault } } });
    const { params } = await printed("queryVolume", bare);
    expect(params).to.have.nested.property("[0].from", ZERO);
  });

  it("request settleAll prints the call data, and why it is no eth_call", async () => {
    const document = await printed("settleAll --json");
    expect(document)
      .to.include({
        ...{ operation: "settleAll", to: vault, data: "0xa015aefe" },
        value: "0x0",
      })
      .and.have.property("explanation")
      .that.includes("sent as a transaction");
    expect(await printed("settleAll")).to.deep.equal(document);
  });

  it("request --curl prints a command for a shell, without the URL, also as its document", async () => {
    const { stdout } = await runTyped(hre, "request queryVolume --curl");
    const { selector: data } = operations.queryVolume;
    const call = JSON.stringify([{ from: OTHER, to: vault, data }, "latest"]);
    expect(stdout).to.equal(
      `curl -sS -X POST -H 'Content-Type: application/json' --data '{"jsonrpc":"2.0","id":1,"method":"eth_call","params":${call}}' "$RPC_URL"\n`,
    );
    const document = await printed("queryVolume --json --curl");
    expect(document).to.deep.equal({ curl: stdout.trimEnd() });
  });

  const errorOf = async (typed: string) => {
    const result = await runTyped(hre, `${typed} --json`);
    expect(result.exitCode).to.equal(1);
    return fieldsOf(fieldsOf(parseDocument(result))["error"]);
  };
  itFails(
    { errorOf },
    `
    request getOrderInfo | VAULT_INVALID_ARGUMENT | getOrderInfo takes <orderID>, got 0 arguments
    request calMargins 1 2 | VAULT_INVALID_ARGUMENT | calMargins takes <maxVolume> <APY> <endTime>, got 2 arguments
    request calMargins 1 2 3 4 | VAULT_INVALID_ARGUMENT | got 4 arguments
    request queryVolume 1 | VAULT_INVALID_ARGUMENT | queryVolume takes no argument, got 1 argument
    request queryVolume --pool public | VAULT_INVALID_ARGUMENT | too many arguments
    request settleAll --curl | VAULT_INVALID_ARGUMENT | needs a signed transaction
    request getOrderInfo -1 | VAULT_INVALID_INTEGER | <orderID>
    request getLPAmountInfo | VAULT_INVALID_ARGUMENT | is not one of public, private
    `,
  );
});

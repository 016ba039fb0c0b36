import path from "node:path";
import { mkdir, writeFile } from "node:fs/promises";

import { expect } from "chai";
import { Interface } from "ethers";
import type { HardhatRuntimeEnvironment } from "hardhat/types/hre";
import type { NetworkConnection } from "hardhat/types/network";

import type { MockVaultHandle } from "../../src/plugin/hardhat-vault.js";
import { projectRedactor, redactorFor } from "../../src/plugin/project.js";
import { useAnvil } from "../helpers/anvil.js";
import { expectVaultError } from "../helpers/assertions.js";
import { fieldsOf, listOf } from "../helpers/fields.js";
import { useFixtureProject } from "../helpers/fixture-project.js";
import type { FixtureProject } from "../helpers/fixture-project.js";
import { createTestHre, httpNetwork, hreOnLive } from "../helpers/hre.js";
import { SECOND } from "../helpers/names.js";

const KEY = "11".repeat(32);
const OTHER_KEY = "22".repeat(32);
const MNEMONIC = "test test test test test test test test test test test junk";

describe("secrets of the configuration", () => {
  const project = async () =>
    await createTestHre({
      networks: {
        live: {
          ...httpNetwork("https://rpc.test/url-of-live"),
          httpHeaders: { first: "first-header", second: "second-header" },
          accounts: [`0x${KEY}`],
        },
        remote: { ...httpNetwork("https://rpc.test/"), accounts: "remote" },
        forked: {
          type: "edr-simulated",
          accounts: { mnemonic: MNEMONIC, passphrase: "pass-phr4se" },
          forking: {
            url: "https://rpc.test/url-of-fork",
            httpHeaders: { third: "third-header" },
          },
        },
        keyed: {
          type: "edr-simulated",
          accounts: [{ privateKey: OTHER_KEY, balance: "1" }],
        },
      },
    });

  for (const secret of [
    ...["url-of-live", "first-header", "second-header", KEY, OTHER_KEY],
    ...[MNEMONIC, "pass-phr4se", "url-of-fork", "third-header"],
  ]) {
    it(`the redactor of a project hides ${secret}`, async () => {
      const redactor = projectRedactor(await project());
      expect(redactor.hide(`is ${secret}.`)).to.equal("is <hidden>.");
    });
  }

  it("the redactor of a project keeps the word remote and the names of networks", async () => {
    const redactor = projectRedactor(await project());
    const text = "remote, live, forked, keyed";
    expect(redactor.hide(text)).to.equal(text);
  });

  it("the redactor of a connection hides URL and headers of an override, also those of a fork", async () => {
    const hre = await project();
    const { live, forked } = hre.config.networks;
    if (live?.type !== "http" || forked?.type !== "edr-simulated") {
      throw new Error("other networks");
    }
    const url = {
      ...live.url,
      getUrl: async () => await Promise.resolve("https://rpc.test/other-url"),
    };
    const httpHeaders = { first: "other-header" };
    for (const network of [
      { ...live, url, httpHeaders },
      { ...forked, forking: { enabled: true, url, httpHeaders, cacheDir: "" } },
    ]) {
      const redactor = await redactorFor(hre, network);
      expect(redactor.hide("other-url, other-header")).to.equal(
        "<hidden>, <hidden>",
      );
    }
  });
});

const keeper = new Interface([
  "error OnlyKeeper(address keeper, uint256 at, string why)",
]);
const abi: unknown = JSON.parse(keeper.formatJson());
const data = keeper.encodeErrorResult("OnlyKeeper", [
  SECOND,
  7n,
  "no\u001b[2J\u202e",
]);
const KNOWN = `OnlyKeeper(keeper: "${SECOND}", at: 7, why: "no\\u001b[2J\u202e")`;
const UNKNOWN = `unknown error ${data.slice(0, 10)} with 160 bytes of arguments: ${data}`;

describe("custom errors of the project's contracts", () => {
  const anvil = useAnvil();
  let project: FixtureProject;
  let hre: HardhatRuntimeEnvironment;
  let connection: NetworkConnection;
  let mocks: MockVaultHandle;
  let artifact: string;

  const writeArtifact = async (text: string): Promise<void> => {
    await mkdir(path.dirname(artifact), { recursive: true });
    await writeFile(artifact, text);
  };

  before(async () => {
    project = await useFixtureProject("plain");
    artifact = path.join(
      project.path,
      "artifacts/contracts/Keeper.sol/Keeper.json",
    );
    // Another tool may write types that ethers does not know.
    const strange = { type: "error", name: "Odd", inputs: [{ type: "(((" }] };
    const alike = { type: "error", name: "OnlyKeeper", inputs: [] };
    const found = [strange, ...listOf(abi), alike];
    await writeArtifact(JSON.stringify({ abi: found }));
    hre = await open();
    connection = await hre.network.getOrCreate();
    mocks = await connection.vault.deployMocks();
    for (const operation of ["settleAll", "queryVolume"] as const) {
      await mocks.fail(operation, { data });
    }
  });
  after(async () => {
    await connection.close();
    await project.remove();
  });

  const open = async (): Promise<HardhatRuntimeEnvironment> =>
    await hreOnLive(anvil.url, {}, project.path);

  const reads: Readonly<Record<string, () => Promise<unknown>>> = {
    "a read": async () =>
      (await expectVaultError(mocks.vault.queryVolume(), "VAULT_CALL_REVERTED"))
        .details["reason"],
    "a simulation by eth_simulateV1": async () =>
      (await mocks.vault.simulateSettleAll({ engine: "simulateV1" })).reason,
    "a simulation on a fork": async () =>
      (await mocks.vault.simulateSettleAll({ engine: "fork" })).reason,
    "a settlement": async () => (await mocks.vault.settleAll()).reason,
  };
  for (const [what, reasonOf] of Object.entries(reads)) {
    it(`${what} names a custom error and its arguments`, async () => {
      // In the text of an error it is escaped already.
      const escaped = KNOWN.replace("\u202e", "\\u{202e}");
      expect(await reasonOf()).to.be.oneOf([KNOWN, escaped]);
    });
  }

  it("a custom error that no artifact has is shown whole, also if artifacts cannot be read", async () => {
    await writeArtifact("{");
    const unreadable = (await open()).vault.at(mocks.addresses);
    const reason = (await unreadable.simulateSettleAll()).reason ?? "";
    expect(reason).to.include(UNKNOWN);

    // The same name and arguments, of a function.
    const functions = [{ ...fieldsOf(listOf(abi)[0]), type: "function" }];
    await writeArtifact(JSON.stringify({ abi: functions }));
    const other = (await open()).vault.at(mocks.addresses);
    expect((await other.simulateSettleAll()).reason).to.equal(UNKNOWN);
  });
});

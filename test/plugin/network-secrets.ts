import { expect } from "chai";

import {
  projectRedactor,
  redactorFor,
} from "../../src/plugin/network-secrets.js";
import { createTestHre, httpNetwork } from "../helpers/hre.js";

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

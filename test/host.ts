import { expect } from "chai";

import {
  configuredGasCap,
  hasHost,
  isInProcess,
  settingsPath,
} from "../src/host.js";
import { VaultClient } from "../src/client/index.js";
import { ScriptedNode } from "./helpers/scripted-node.js";

describe("the host of a vault", () => {
  const node = new ScriptedNode();
  const hostOf = (settings: object) => node.host({ settings: { ...settings } });

  it("hasHost() is true of a vault of Hardhat alone", () => {
    expect(hasHost(hostOf({}))).to.equal(true);
    expect(hasHost(new VaultClient(node, {}))).to.equal(false);
  });

  it("isInProcess() is true of a simulated network alone", () => {
    expect(isInProcess(hostOf({ type: "edr-simulated" }))).to.equal(true);
    expect(isInProcess(hostOf({ type: "http" }))).to.equal(false);
    expect(isInProcess(new VaultClient(node, {}))).to.equal(false);
  });

  for (const [type, transactionGasCap, cap] of [
    ["edr-simulated", 5n, 5n],
    ["edr-simulated", undefined, undefined],
    ["http", 5n, undefined],
  ] as const) {
    it(`configuredGasCap() of a network of type ${type} with ${String(transactionGasCap)} is ${String(cap)}`, () => {
      const host = hostOf({ type, transactionGasCap });
      expect(configuredGasCap(host)).to.equal(cap);
    });
  }

  it("settingsPath() names the settings of the network, of an instance, and of a fork's network", () => {
    expect(settingsPath("live")).to.equal("networks.live.vault");
    expect(settingsPath("live (fork)", "usdc")).to.equal(
      "networks.live.vault.instances.usdc",
    );
  });
});

import { expect } from "chai";
import { configVariable } from "hardhat/config";

import { createTestHre, httpNetwork } from "../helpers/hre.js";
import { runTyped } from "../helpers/run-vault-task.js";

describe("a configuration variable that is missing", () => {
  it("a task prints that the environment lacks the variable, and names cron", async () => {
    const url = configVariable("TEST_NOT_IN_CRON");
    const hre = await createTestHre(
      { networks: { live: { ...httpNetwork(""), url } } },
      { network: "live" },
    );
    const { stderr, exitCode } = await runTyped(hre, "volume");
    expect(exitCode).to.equal(1);
    expect(stderr.replaceAll(/\s+/gu, " "))
      .to.contain(
        "the configuration variable TEST_NOT_IN_CRON is missing from the environment of this process",
      )
      .and.contain("cron");
  });
});

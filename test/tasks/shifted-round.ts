import { expect } from "chai";
import { concat, toBeHex } from "ethers";

import { useTasks } from "../helpers/use-tasks.js";

/** Code that answers each call with these words. */
function returnsWords(words: readonly bigint[]): string {
  const stores = words.map((word, index) =>
    concat(["0x7f", toBeHex(word, 32), "0x61", toBeHex(32 * index, 2), "0x52"]),
  );
  return concat([...stores, "0x61", toBeHex(32 * words.length, 2), "0x5ff3"]);
}

describe("tasks on a factory that answers the round's id before its ten values", () => {
  const tasks = useTasks();
  let before = 0;

  beforeEach(async () => {
    const { vault, addresses } = tasks.mocks;
    const round = await vault.getLatestRoundInfo();
    const { number } = await vault.block();
    before = number;
    await tasks.rpc(
      "anvil_setCode",
      addresses.vaultFactory,
      // The end of the round that a reader would see is the start, which is past.
      returnsWords([12n, ...Object.values(round).map(BigInt)]),
    );
  });

  for (const typed of ["round", "settle --if-expired --yes"]) {
    it(`vault ${typed} refuses it with VAULT_RETURN_DATA_MALFORMED, and sends nothing`, async () => {
      const error = await tasks.errorOf(typed);
      expect(error).to.include({ code: "VAULT_RETURN_DATA_MALFORMED" });
      expect(error["message"]).to.include("352 bytes instead of 320");
      expect((await tasks.mocks.vault.block()).number).to.equal(before);
    });
  }

  it("vault doctor finds it", async () => {
    const { stdout, exitCode } = await tasks.run("doctor");
    expect(exitCode).to.equal(1);
    expect(stdout).to.include("352 bytes instead of 320");
  });
});

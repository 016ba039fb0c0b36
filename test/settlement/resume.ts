import { expect } from "chai";

import { VaultError } from "../../src/client/index.js";
import { useStage } from "../helpers/settlement-stage.js";

const resume = { resume: true } as const;

// What else resume finds is in the recorded session.
describe("settleAll: resume", () => {
  const stage = useStage();

  it("resume settles, or throws and keeps the journal, whatever request fails", async () => {
    await stage.interrupt();
    const unsent = await stage.journal();
    expect(await stage.settle(resume)).to.include({ status: "settled" });
    const requests = stage.chain.asked.length;
    let thrown = 0;
    for (let number = 1; number <= requests; number += 1) {
      await stage.reset();
      await stage.writeJournal(unsent);
      const { chain } = stage;
      const request = chain.request.bind(chain);
      let count = 0;
      chain.request = async (args) => {
        count += 1;
        return await (count === number
          ? Promise.reject(new Error("nope"))
          : request(args));
      };
      const { status } = await stage
        .settle(resume)
        .catch(async (error: unknown) => {
          thrown += 1;
          expect(error).to.be.instanceOf(VaultError);
          expect(stage.sends).to.equal(0);
          expect(await stage.journal()).to.deep.equal(unsent);
          return await stage.settle(resume);
        });
      expect(status, `request ${number}`).to.equal("settled");
      expect(stage.chain.mined).to.have.length(1);
    }
    expect(thrown).to.be.above(0);
  });
});

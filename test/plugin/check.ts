import { expect } from "chai";

import { invalidArgument } from "../../src/errors.js";
import { check, failed } from "../../src/plugin/check.js";

describe("a check of doctor", () => {
  it("check() warns of an error of this package, failed() fails for it, and both throw any other, which is a bug", async () => {
    const ours = invalidArgument("It", "no");
    expect((await check("it", Promise.reject(ours))).status).to.equal("warn");
    expect(failed("it", ours).status).to.equal("fail");
    const bug = new TypeError("bug");
    const [end] = await Promise.allSettled([check("it", Promise.reject(bug))]);
    expect(end).to.deep.equal({ status: "rejected", reason: bug });
    expect(() => failed("it", bug)).to.throw(bug);
  });
});

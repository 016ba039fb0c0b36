import { expect } from "chai";

import { runCommand } from "../helpers/consumers/run-command.js";

describe("consumers - run-command", () => {
  it("should kill a command that does not end, with what it started", async () => {
    const error: unknown = await runCommand(
      "sh",
      ["-c", "echo out; echo err >&2; sleep 600 & wait"],
      { cwd: import.meta.dirname, timeoutMs: 1_000 },
    ).catch((reason: unknown) => reason);
    const message = String(error);
    expect(message).to.match(/was killed after 1 s:\nout\n/u);
    expect(message).to.contain("err\n");
    // It ended only when nobody held its output any more: `sleep` is gone too.
  });

  it("should tell an end that is not 0, with the output", async () => {
    const error: unknown = await runCommand("sh", ["-c", "echo out; exit 3"], {
      cwd: import.meta.dirname,
    }).catch((reason: unknown) => reason);
    expect(String(error)).to.match(/ended with 3:\nout\n/u);
  });
});

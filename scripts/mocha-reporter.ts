/**
 * mocha's `spec` report, with the seed of the run and a plain last line that
 * scripts can read: `12 passed, 0 failed` (and `, 1 skipped`), from mocha's own
 * statistics.
 */
import Mocha from "mocha";

export default class SpecWithTotals extends Mocha.reporters.Spec {
  constructor(runner: Mocha.Runner, options: Mocha.MochaOptions) {
    super(runner, options);
    // Mocha sets it when the run has ended. If a worker is lost, the process may end before,
    // without totals, and must not look green.
    process.exitCode = 1;
    runner.once(Mocha.Runner.constants.EVENT_RUN_END, () => {
      // Hardhat still prints an empty line after mocha has ended.
      process.once("exit", () => {
        console.log(
          `SEED=${process.env["SEED"] ?? "1"} runs the same samples of the long tests again`,
        );
        const { passes, failures, pending } = this.stats;
        const skipped = pending > 0 ? `, ${pending} skipped` : "";
        console.log(`${passes} passed, ${failures} failed${skipped}`);
      });
    });
  }
}

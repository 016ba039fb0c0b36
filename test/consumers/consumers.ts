import { projectFolder } from "../helpers/consumers/consumer-project.js";
import { runStep, stepsOf } from "../helpers/consumers/consumer-run.js";
import { consumers } from "../helpers/consumers/definitions.js";
import type { ConsumerDefinition } from "../helpers/consumers/definitions.js";
import { packTarball } from "../helpers/tarball.js";
import type { Tarball } from "../helpers/tarball.js";

/** Consumers at a time: each is one busy process after another. */
const PARALLEL = 2;

/** How one step of a consumer went; nothing is thrown before it is asked for. */
type Outcome = { readonly error: unknown } | "passed" | "left out";

/**
 * The packed package in projects of users, each with node_modules of its own
 * outside this repository. `npm run build` must have run.
 */
describe("consumers", function () {
  this.timeout(600_000);

  const outcomes = new Map<string, Promise<Outcome>>();

  before(async () => {
    const tarball = await packTarball();
    const queues = Array.from({ length: PARALLEL }, async () => {
      await Promise.resolve();
    });
    consumers.forEach((definition, index) => {
      const lane = index % PARALLEL;
      queues[lane] = start(definition, tarball, queues[lane]);
    });
  });

  /** Runs the steps in order, the first one after `earlier`. */
  function start(
    definition: ConsumerDefinition,
    tarball: Tarball,
    earlier: Promise<void> | undefined,
  ): Promise<void> {
    let last: Promise<Outcome> = Promise.resolve(earlier).then(() => "passed");
    for (const step of stepsOf(definition)) {
      last = last.then(async (before): Promise<Outcome> => {
        if (before !== "passed") {
          return "left out";
        }
        try {
          await runStep(step, definition, tarball);
          return "passed";
        } catch (error) {
          return { error };
        }
      });
      outcomes.set(`${definition.name} ${step}`, last);
    }
    return last.then(() => undefined);
  }

  for (const definition of consumers) {
    describe(`${definition.name} (${projectFolder(definition)})`, () => {
      for (const step of stepsOf(definition)) {
        it(`should ${step}`, async () => {
          const outcome = await outcomes.get(`${definition.name} ${step}`);
          if (outcome === "left out" || outcome === undefined) {
            throw new Error("left out, since an earlier step failed");
          }
          if (outcome !== "passed") {
            throw outcome.error;
          }
        });
      }
    });
  }
});

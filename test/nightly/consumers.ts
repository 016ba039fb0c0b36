import { projectFolder } from "../helpers/consumers/consumer-project.js";
import { runStep, stepsOf } from "../helpers/consumers/consumer-run.js";
import { consumers } from "../helpers/consumers/definitions.js";
import { packTarball } from "../helpers/tarball.js";

/** Consumers at a time: each is one busy process after another. */
const PARALLEL = 2;

/**
 * The packed package in projects of users, each with node_modules of its own
 * outside this repository. `npm run build` must have run.
 */
describe("consumers", () => {
  const started = new Map<string, Promise<void>>();

  before(async () => {
    const tarball = await packTarball();
    const lanes = Array.from({ length: PARALLEL }, async () => {
      await Promise.resolve();
    });
    consumers.forEach((definition, index) => {
      const lane = index % PARALLEL;
      let last = lanes[lane] ?? Promise.resolve();
      for (const step of stepsOf(definition)) {
        last = last.then(async () => {
          await runStep(step, definition, tarball);
        });
        // Its test throws the error, as do those of the later steps.
        last.catch(() => undefined);
        started.set(`${definition.name} ${step}`, last);
      }
      lanes[lane] = last.catch(() => undefined);
    });
  });

  for (const definition of consumers) {
    describe(`${definition.name} (${projectFolder(definition)})`, () => {
      for (const step of stepsOf(definition)) {
        it(`the project ${definition.name} should ${step}`, async () => {
          await started.get(`${definition.name} ${step}`);
        });
      }
    });
  }
});

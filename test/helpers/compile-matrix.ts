import { expect } from "chai";

import {
  EIP_170_BYTES,
  describeSettings,
  everyCompilerSetting,
} from "./compiler-settings.js";
import type { CompilerSettings } from "./compiler-settings.js";
import { consumers } from "./consumers/definitions.js";
import { compile, contractSources } from "./solc.js";
import type { SolcVersion } from "./solc.js";

/** Where every setting is tried, which takes minutes; else those that matter most. */
const isWhole = process.env["COMPILE_MATRIX"] === "all";

/**
 * Defines the tests of one compiler: the settings that no project of
 * test/consumers/ compiles the contracts with, so that each of them is tried
 * once. Each compiler has a file of its own, since files run in parallel.
 */
export function describeCompiler(version: SolcVersion): void {
  describe(`contracts - in other people's projects, solc ${version}`, function () {
    this.timeout(300_000);

    const inProjects = new Set(
      consumers.flatMap(({ compiler }) =>
        compiler === undefined ? [] : describeSettings(compiler),
      ),
    );
    for (const settings of everyCompilerSetting) {
      const title = describeSettings(settings);
      if (
        settings.version !== version ||
        inProjects.has(title) ||
        // As slow as all the others, and hardly anybody's but the newest's.
        (!isWhole && settings.viaIR && !isUsual(settings))
      ) {
        continue;
      }
      it(`should compile with ${title}`, async () => {
        const { errors = [], contracts } = compile(
          version,
          await importableSources(),
          {
            optimizer: { enabled: settings.optimizer },
            viaIR: settings.viaIR,
          },
        );
        expect(
          errors.map(({ formattedMessage }) => formattedMessage),
          "errors and warnings",
        ).to.deep.equal([]);
        for (const [file, byName] of Object.entries(contracts)) {
          for (const [name, { evm }] of Object.entries(byName)) {
            expect(
              evm.bytecode.object.length / 2,
              `size of ${name} in ${file}`,
            ).to.be.below(EIP_170_BYTES);
          }
        }
      });
    }
  });
}

/** viaIR as projects have it: with the optimizer, of a compiler of today. */
function isUsual({ version, optimizer }: CompilerSettings): boolean {
  return optimizer && version === "0.8.37";
}

/** What other projects import; the lens is only ever compiled here. */
async function importableSources(): ReturnType<typeof contractSources> {
  return Object.fromEntries(
    Object.entries(await contractSources()).filter(
      ([file]) => !file.startsWith("contracts/lens/"),
    ),
  );
}

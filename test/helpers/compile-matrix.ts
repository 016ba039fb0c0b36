import { expect } from "chai";

import { compile, contractSources } from "./solc.js";
import type { SolcVersion } from "./solc.js";

const EIP_170_BYTES = 24_576;
const NEWEST_SOLC: SolcVersion = "0.8.37";

/**
 * Defines the tests of one compiler. Each compiler has a file of its own, since
 * files run in parallel.
 */
export function describeCompiler(version: SolcVersion): void {
  describe(`contracts - in other people's projects, solc ${version}`, function () {
    this.timeout(300_000);

    for (const optimizer of [false, true]) {
      for (const viaIR of [false, true]) {
        if (optimizer && viaIR && version !== NEWEST_SOLC) {
          // Half a minute for each older compiler, which differ least here.
          continue;
        }
        it(`should compile with optimizer ${optimizer ? "on" : "off"}, viaIR ${viaIR ? "on" : "off"}`, async () => {
          const { errors = [], contracts } = compile(
            version,
            await importableSources(),
            { optimizer: { enabled: optimizer }, viaIR },
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
    }
  });
}

/** What other projects import; the lens is only ever compiled here. */
async function importableSources(): ReturnType<typeof contractSources> {
  return Object.fromEntries(
    Object.entries(await contractSources()).filter(
      ([file]) => !file.startsWith("contracts/lens/"),
    ),
  );
}

import { expect } from "chai";

import {
  EIP_170_BYTES,
  describeSettings,
  everyCompilerSetting,
} from "../helpers/compiler-settings.js";
import { consumers } from "../helpers/consumers/definitions.js";
import { isFull, sample } from "../helpers/sample.js";
import { compile, contractSources } from "../helpers/solc.js";

describe("contracts in projects of others", () => {
  // The settings that no project of test/consumers/ compiles them with.
  const inProjects = new Set(
    consumers.flatMap(({ compiler }) =>
      compiler === undefined ? [] : describeSettings(compiler),
    ),
  );
  const others = everyCompilerSetting.filter(
    (settings) =>
      !inProjects.has(describeSettings(settings)) &&
      // It takes up to a minute.
      (isFull || !settings.viaIR),
  );
  for (const settings of sample(others, 1)) {
    it(`contracts compile with ${describeSettings(settings)}`, async () => {
      // Other projects do not import the lens.
      const importable = Object.entries(await contractSources()).filter(
        ([file]) => !file.startsWith("contracts/lens/"),
      );
      const { errors = [], contracts } = compile(
        settings.version,
        Object.fromEntries(importable),
        { optimizer: { enabled: settings.optimizer }, viaIR: settings.viaIR },
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

import { readFile, readdir } from "node:fs/promises";

import { expect } from "chai";

import * as constantAbis from "../../src/abi/index.js";
import { contractRoles } from "../../src/client/index.js";
import { keysOf } from "../../src/protocol/index.js";
import { isFull } from "../helpers/sample.js";
import { compile, contractSources, solcPackages } from "../helpers/solc.js";

/** What the EVM takes as one contract's code (EIP-170). */
const EIP_170_BYTES = 24_576;

/** All but viaIR without the optimizer on 0.8.20, which keeps each value on the stack. */
const everySetting = keysOf(solcPackages)
  .flatMap((version) =>
    [false, true].flatMap((optimizer) =>
      [false, true].map((viaIR) => ({ version, optimizer, viaIR })),
    ),
  )
  .filter(
    ({ version, optimizer, viaIR }) =>
      version !== "0.8.20" || optimizer || !viaIR,
  );

describe("contracts in projects of others", () => {
  // One takes ten seconds, and up to a minute with viaIR: the consumers' few are enough.
  for (const { version, optimizer, viaIR } of isFull ? everySetting : []) {
    it(`contracts compile with solc ${version}, optimizer ${optimizer}, viaIR ${viaIR}`, async () => {
      // Other projects do not import the lens.
      const importable = Object.entries(await contractSources()).filter(
        ([file]) => !file.startsWith("contracts/lens/"),
      );
      const { errors = [], contracts } = compile(
        version,
        Object.fromEntries(importable),
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
});

describe("ABIs and Solidity interfaces", () => {
  it("abi/ has five files, each with the functions of its interface and exported as a constant", async () => {
    const sources = Object.entries(await contractSources());
    const interfaces = sources.filter(([file]) =>
      file.startsWith("contracts/interfaces/"),
    );
    const abiNames = [
      ...new Set(Object.values(contractRoles).map(({ abi }) => abi)),
    ].sort();
    const output = compile("0.8.37", Object.fromEntries(interfaces), {});
    const files = await readdir("abi");
    expect(files.sort()).to.deep.equal(abiNames.map((name) => `${name}.json`));
    for (const name of abiNames) {
      const abi: unknown = JSON.parse(
        await readFile(`abi/${name}.json`, "utf8"),
      );
      const file = output.contracts[`contracts/interfaces/I${name}.sol`];
      const compiled = file?.[`I${name}`]?.abi ?? [];
      expect(abi, name).to.have.deep.members([...compiled]);
      const key = `${name.charAt(0).toLowerCase()}${name.slice(1)}Abi`;
      expect(Reflect.get(constantAbis, key), key).to.deep.equal(abi);
    }
  });
});

import { readFile, readdir } from "node:fs/promises";
import path from "node:path";

import { expect } from "chai";

import * as constantAbis from "../../src/abi/index.js";
import { contractRoles } from "../../src/client/index.js";
import { compile, contractSources } from "../helpers/solc.js";

const abiFolder = path.resolve(import.meta.dirname, "../../abi");

const abiNames = [
  ...new Set(Object.values(contractRoles).map(({ abi }) => abi)),
].sort();

describe("ABIs and Solidity interfaces", () => {
  it("abi/ has five files, each with the functions of its interface and exported as a constant", async () => {
    const sources = Object.entries(await contractSources());
    const interfaces = sources.filter(([file]) =>
      file.startsWith("contracts/interfaces/"),
    );
    const output = compile("0.8.37", Object.fromEntries(interfaces), {});
    const files = await readdir(abiFolder);
    expect(files.sort()).to.deep.equal(abiNames.map((name) => `${name}.json`));
    for (const name of abiNames) {
      const abi: unknown = JSON.parse(
        await readFile(path.join(abiFolder, `${name}.json`), "utf8"),
      );
      const file = output.contracts[`contracts/interfaces/I${name}.sol`];
      const compiled = file?.[`I${name}`]?.abi ?? [];
      expect(abi, name).to.have.deep.members([...compiled]);
      const key = `${name.charAt(0).toLowerCase()}${name.slice(1)}Abi`;
      expect(Reflect.get(constantAbis, key), key).to.deep.equal(abi);
    }
  });
});

import { readFile, readdir } from "node:fs/promises";
import path from "node:path";

import { expect } from "chai";
import { Interface, id } from "ethers";

import * as constantAbis from "../../src/abi/index.js";
import {
  contractRoleNames,
  contractRoles,
  operationEntry,
  operationNames,
  targetsOf,
  wireName,
} from "../../src/protocol/index.js";
import { compile, contractSources } from "../helpers/solc.js";
import type { CompilerOutput } from "../helpers/solc.js";

const abiFolder = path.resolve(import.meta.dirname, "../../abi");

/** Protocol, section 4.2; copied from there by hand. */
const documentedSelectors = {
  getFundingFeeRate: "0xc138aa5f",
  getLatestRoundInfo: "0x2016e80b",
  getOrderInfo: "0xd311636b",
  calMargins: "0xb6624fb0",
  getLPAmountInfo: "0x53ac2d24",
  queryVolume: "0xa69590a8",
  queryMarginBalance: "0xea17f924",
  minXMargin: "0x789f4b5a",
  settleAll: "0xa015aefe",
} as const;

const abiNames = [
  ...new Set(contractRoleNames.map((role) => contractRoles[role].abi)),
].sort();

const readAbi = async (name: string): Promise<string> =>
  await readFile(path.join(abiFolder, `${name}.json`), "utf8");

describe("ABIs and Solidity interfaces", () => {
  let output: CompilerOutput;

  before(async () => {
    const sources = Object.entries(await contractSources());
    const interfaces = sources.filter(([file]) =>
      file.startsWith("contracts/interfaces/"),
    );
    output = compile("0.8.37", Object.fromEntries(interfaces), {});
  });

  it("abi/ has five files, each with the functions of its interface and exported as a constant", async () => {
    const files = await readdir(abiFolder);
    expect(files.sort()).to.deep.equal(abiNames.map((name) => `${name}.json`));
    for (const name of abiNames) {
      const abi: unknown = JSON.parse(await readAbi(name));
      const file = output.contracts[`contracts/interfaces/I${name}.sol`];
      const compiled = file?.[`I${name}`]?.abi ?? [];
      expect(abi, name).to.have.deep.members([...compiled]);
      const key = `${name.charAt(0).toLowerCase()}${name.slice(1)}Abi`;
      expect(Reflect.get(constantAbis, key), key).to.deep.equal(abi);
    }
  });

  // Ten operations of nine functions: both pools have the same one.
  for (const operation of operationNames) {
    it(`${operation} has the documented selector`, async () => {
      const documented = documentedSelectors[operation];
      expect(operationEntry(operation).selector).to.equal(documented);
      const [abiName = "none", ...others] = new Set(
        targetsOf(operation).map(({ role }) => contractRoles[role].abi),
      );
      expect(others).to.deep.equal([]);
      const abi = new Interface(await readAbi(abiName));
      const { selector } = abi.getFunction(wireName(operation)) ?? {};
      expect(selector).to.equal(documented);
    });
  }

  it("minXMargin has the selector of minSLDMargin()", () => {
    expect(id("minXMargin()").slice(0, 10)).to.equal("0xfe6071c3");
    expect(id("minSLDMargin()").slice(0, 10)).to.equal(
      documentedSelectors.minXMargin,
    );
  });
});

/**
 * The parts of the mocks' build info with which Hardhat's network names contracts,
 * functions, lines and errors in stacks: a tenth of it.
 */
import fs from "node:fs";
import path from "node:path";
import { brotliCompressSync } from "node:zlib";

type Json = Record<string, unknown>;

const isKept = (source: string): boolean =>
  /^project\/contracts\/(?:mocks|interfaces)\//.test(source);

/** The paths that contracts import. */
const renamed = (source: string): string =>
  source.replace(/^project\//, "hardhat-vault/");

function isRecord(value: unknown): value is Json {
  return typeof value === "object" && value !== null;
}

function recordIn(value: Json, key: string): Json {
  const found = value[key];
  if (!isRecord(found)) {
    throw new Error(`a build info without ${key}`);
  }
  return found;
}

function keptSources(
  value: Json,
  map: (one: Json) => unknown = (one) => one,
): Json {
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, one]) =>
      isKept(name) && isRecord(one) ? [[renamed(name), map(one)]] : [],
    ),
  );
}

const unusedKeys = new Set([
  ...["documentation", "typeDescriptions", "exportedSymbols", "scope"],
  ...["nameLocation", "nameLocations", "keyLocation"],
]);

/** Without the statements of functions, which make up most of it. */
function slimTree(node: unknown): unknown {
  if (Array.isArray(node)) {
    return node.map(slimTree);
  }
  if (typeof node === "string") {
    return renamed(node);
  }
  if (!isRecord(node)) {
    return node;
  }
  return Object.fromEntries(
    Object.entries(node).flatMap(([key, value]) =>
      unusedKeys.has(key)
        ? []
        : [
            [
              key,
              key === "body" && isRecord(value)
                ? { ...value, statements: [] }
                : slimTree(value),
            ],
          ],
    ),
  );
}

function slimContract(contract: Json): Json {
  const evm = recordIn(contract, "evm");
  const code = (key: string): Json => ({
    ...recordIn(evm, key),
    opcodes: "",
    functionDebugData: undefined,
    generatedSources: undefined,
  });
  return {
    abi: contract["abi"],
    evm: {
      bytecode: code("bytecode"),
      deployedBytecode: code("deployedBytecode"),
      methodIdentifiers: evm["methodIdentifiers"],
    },
  };
}

/** @returns A compressed JSON text, as base64. */
export function mocksBuildInfo(root: string): string {
  // An earlier build info may lie next to theirs.
  const artifact = readJson(
    root,
    "artifacts/contracts/mocks/MockVault.sol/MockVault.json",
  );
  const file = `artifacts/build-info/${String(artifact["buildInfoId"])}`;
  const { solcVersion, input: given } = readJson(root, `${file}.json`);
  const input = recordIn({ given }, "given");
  const output = recordIn(readJson(root, `${file}.output.json`), "output");
  const slim = {
    solcVersion,
    input: { ...input, sources: keptSources(recordIn(input, "sources")) },
    output: {
      sources: keptSources(recordIn(output, "sources"), ({ id, ast }) => ({
        id,
        ast: slimTree(ast),
      })),
      contracts: keptSources(recordIn(output, "contracts"), (contracts) =>
        Object.fromEntries(
          Object.entries(contracts).map(([name, contract]) => [
            name,
            isRecord(contract) ? slimContract(contract) : contract,
          ]),
        ),
      ),
    },
  };
  return brotliCompressSync(JSON.stringify(slim)).toString("base64");
}

function readJson(root: string, file: string): Json {
  const text = fs.readFileSync(path.join(root, file), "utf8");
  return recordIn({ file: JSON.parse(text) }, "file");
}

import { globSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";

// eslint-disable-next-line @typescript-eslint/consistent-type-assertions -- the package's own types do not resolve
const solc = createRequire(import.meta.url)("solc") as {
  compile(input: string): string;
};

const root = path.dirname(import.meta.dirname);

/**
 * The creation code of MockTrading, optimised as contracts on a chain are. The
 * mock as it ships is not, and would have the benchmark measure the EVM.
 */
export function compileTrading(): string {
  const sources = Object.fromEntries(
    globSync(
      "contracts/{interfaces,mocks}/{ITrading,IMockErrors,MockBase,MockTrading}.sol",
      { cwd: root },
    ).map((file) => [
      file,
      { content: readFileSync(path.join(root, file), "utf8") },
    ]),
  );
  const file = "contracts/mocks/MockTrading.sol";
  const output = solc.compile(
    JSON.stringify({
      language: "Solidity",
      sources,
      settings: {
        viaIR: true,
        optimizer: { enabled: true, runs: 10_000 },
        outputSelection: { [file]: { MockTrading: ["evm.bytecode.object"] } },
      },
    }),
  );
  const bytecode = /"object":"([0-9a-f]+)"/u.exec(output)?.[1];
  if (bytecode === undefined) {
    throw new Error(output);
  }
  return `0x${bytecode}`;
}

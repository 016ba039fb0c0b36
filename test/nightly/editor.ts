import path from "node:path";

import { expect } from "chai";
import ts from "typescript";

import { repositoryRoot } from "../helpers/consumers/consumer-project.js";

/** A user's file; the cursor stands at the marks. */
const source = `import type {
  HardhatVault,
  VaultOrder,
  VaultRound,
} from "hardhat-vault";
declare const vault: HardhatVault;
declare const order: VaultOrder;
declare const round: VaultRound;
vault./*getLatestRoundInfo*/getLatestRoundInfo();
vault./*getOrderInfo*/getOrderInfo(1n);
vault./*calMargins*/calMargins;
order./*openPrice*/openPrice;
round./*strikePrice*/strikePrice;
`;

const file = path.join(repositoryRoot, "test/package/virtual.ts");

/** A language service that reads the declarations of `dist/`. */
function openEditor(): ts.LanguageService {
  return ts.createLanguageService({
    getCompilationSettings: () => ({
      module: ts.ModuleKind.NodeNext,
      target: ts.ScriptTarget.ES2023,
      strict: true,
      types: ["node"],
    }),
    getCurrentDirectory: () => repositoryRoot,
    getDefaultLibFileName: ts.getDefaultLibFilePath,
    getScriptFileNames: () => [file],
    getScriptVersion: () => "1",
    getScriptSnapshot: (name) =>
      ts.ScriptSnapshot.fromString(
        name === file ? source : (ts.sys.readFile(name) ?? ""),
      ),
    fileExists: (name) => name === file || ts.sys.fileExists(name),
    readFile: (name) => ts.sys.readFile(name),
  });
}

describe("declarations of the package in an editor", () => {
  const editor = openEditor();

  /** The type, the documentation and the tags that a hover shows. */
  function hover(mark: string): string {
    const text = `/*${mark}*/`;
    const at = source.indexOf(text) + text.length;
    const info = editor.getQuickInfoAtPosition(file, at);
    return [
      ts.displayPartsToString(info?.displayParts),
      ts.displayPartsToString(info?.documentation),
      ...(info?.tags ?? []).map(
        (tag) => `@${tag.name} ${ts.displayPartsToString(tag.text)}`,
      ),
    ].join("\n");
  }

  it("a hover shows named results, parameters by their names, scales, and an example", () => {
    expect(hover("getLatestRoundInfo")).to.match(
      /\(options\?: ReadOptions.*\): Promise<VaultRound>$/mu,
    );
    expect(hover("calMargins")).to.match(
      /values: CalMarginsParameters, .*Promise<MarginAmounts>$/mu,
    );
    expect(hover("getOrderInfo"))
      .to.match(
        /\(orderID: .*bigint.*, options\?: .*\): Promise<VaultOrder>$/mu,
      )
      .and.include("Reads one order (`ITrading.getOrderInfo`).")
      .and.include("@example")
      .and.include("holder: '0x7099");
    expect(hover("strikePrice")).to.include("real value times 1E18");
    expect(hover("openPrice")).to.include("scale is not documented");
  });
});

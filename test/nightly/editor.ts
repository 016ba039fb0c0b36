import path from "node:path";

import { assert, expect } from "chai";
import ts from "typescript";

import { repositoryRoot } from "../helpers/consumers/consumer-project.js";

/** The entries with code that is written by hand. */
const entries = ["", "/client", "/mocks", "/chai", "/assert", "/types"];

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
${entries.map((entry) => `import "hardhat-vault${entry}";`).join("\n")}
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

function is({ flags }: ts.Symbol, flag: number): boolean {
  return (flags & flag) !== 0;
}

function unaliased(
  checker: ts.TypeChecker,
  symbol: ts.Symbol | undefined,
): ts.Symbol | undefined {
  return symbol !== undefined && is(symbol, ts.SymbolFlags.Alias)
    ? checker.getAliasedSymbol(symbol)
    : symbol;
}

describe("declarations of the package in an editor", function () {
  let editor: ts.LanguageService;
  let checker: ts.TypeChecker;

  before(() => {
    editor = openEditor();
    const program = editor.getProgram();
    assert(program !== undefined);
    checker = program.getTypeChecker();
  });

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

  /** The exports of entries, for example "VaultClient" of "/client". */
  function exported(
    among: readonly string[] = entries,
  ): Array<{ entry: string; key: string; symbol: ts.Symbol }> {
    const statements = editor.getProgram()?.getSourceFile(file)?.statements;
    return among.flatMap((entry) => {
      const specifier = statements
        ?.filter((statement) => ts.isImportDeclaration(statement))
        .map(({ moduleSpecifier }) => moduleSpecifier)
        .findLast((each) => each.getText() === `"hardhat-vault${entry}"`);
      assert(specifier !== undefined);
      const module = checker.getSymbolAtLocation(specifier);
      assert(module !== undefined, entry);
      return checker.getExportsOfModule(module).map((symbol) => ({
        entry,
        key: symbol.name,
        symbol: unaliased(checker, symbol) ?? symbol,
      }));
    });
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

  it("every function or object that an entry declares can be imported, and every function has an example", async () => {
    const values = exported().filter(
      ({ symbol }) =>
        is(symbol, ts.SymbolFlags.Function | ts.SymbolFlags.Variable) &&
        !is(symbol, ts.SymbolFlags.Type),
    );
    expect(values.length).to.be.above(10);
    for (const { entry, key, symbol } of values) {
      const module: unknown = await import(`hardhat-vault${entry}`);
      expect(module, entry).to.have.property(key);
      const tags = symbol.getJsDocTags(checker).map(({ name }) => name);
      if (is(symbol, ts.SymbolFlags.Function)) {
        expect(tags, `${entry}: ${key}`).to.include("example");
      }
    }
  });

  it("the main entry has every type of the client", () => {
    const types = (entry: string): string[] =>
      exported([entry])
        .filter(({ symbol }) => is(symbol, ts.SymbolFlags.Type))
        .map(({ key }) => key);
    expect(types("/client").length).to.be.above(30);
    expect(types("")).to.include.members(types("/client"));
  });
});

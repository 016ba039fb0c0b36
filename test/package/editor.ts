import path from "node:path";

import { expect } from "chai";
import ts from "typescript";

import { repositoryRoot } from "../helpers/consumers/consumer-project.js";

/** What can be imported, but for what TypeChain and the ABIs have generated. */
const entries = ["", "/client", "/mocks", "/chai", "/assert", "/types"];

/** A file of somebody who has the package; the marks are where the cursor is. */
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
vault./*vault*/chainId;
${[...entries, "/bindings"].map((entry) => `import "hardhat-vault${entry}";`).join("\n")}
`;

const file = path.join(repositoryRoot, "test/package/virtual.ts");

/** What the package's declarations, as published, have TypeScript tell an editor. */
function openEditor(): ts.LanguageService {
  const options: ts.CompilerOptions = {
    module: ts.ModuleKind.NodeNext,
    target: ts.ScriptTarget.ES2023,
    strict: true,
    types: ["node"],
  };
  return ts.createLanguageService({
    getCompilationSettings: () => options,
    getCurrentDirectory: () => repositoryRoot,
    getDefaultLibFileName: ts.getDefaultLibFilePath,
    getScriptFileNames: () => [file],
    getScriptVersion: () => "1",
    getScriptSnapshot: (name) => {
      const text = name === file ? source : ts.sys.readFile(name);
      return text === undefined
        ? undefined
        : ts.ScriptSnapshot.fromString(text);
    },
    fileExists: (name) => name === file || ts.sys.fileExists(name),
    readFile: (name) => (name === file ? source : ts.sys.readFile(name)),
    directoryExists: (name) => ts.sys.directoryExists(name),
    getDirectories: (name) => ts.sys.getDirectories(name),
  });
}

function is({ flags }: ts.Symbol, flag: number): boolean {
  return (flags & flag) !== 0;
}

/** What others can name, if it is exported. */
const named =
  ts.SymbolFlags.Interface |
  ts.SymbolFlags.Class |
  ts.SymbolFlags.TypeAlias |
  ts.SymbolFlags.Enum;

/** Whether this package alone declares it. */
function isOurs(symbol: ts.Symbol | undefined): symbol is ts.Symbol {
  const folder = `${path.join(repositoryRoot, "dist")}/`;
  return (
    symbol?.declarations?.every((declaration) =>
      declaration.getSourceFile().fileName.startsWith(folder),
    ) === true
  );
}

/** The package's types that the declaration of one names, directly or not. */
function typesNamedBy(
  checker: ts.TypeChecker,
  root: ts.Symbol,
  leaves: ReadonlySet<ts.Symbol>,
): ReadonlySet<ts.Symbol> {
  const found = new Set([root]);
  const visit = (node: ts.Node): void => {
    // A private member is declared without its type.
    if (ts.isIdentifier(node)) {
      const symbol = unaliased(checker, checker.getSymbolAtLocation(node));
      if (isOurs(symbol) && is(symbol, named) && !leaves.has(symbol)) {
        found.add(symbol);
      }
    }
    ts.forEachChild(node, visit);
  };
  // The set grows while it is walked.
  for (const symbol of found) {
    symbol.declarations?.forEach(visit);
  }
  return found;
}

function unaliased(
  checker: ts.TypeChecker,
  symbol: ts.Symbol | undefined,
): ts.Symbol | undefined {
  return symbol !== undefined && is(symbol, ts.SymbolFlags.Alias)
    ? checker.getAliasedSymbol(symbol)
    : symbol;
}

describe("package - editor", function () {
  let editor: ts.LanguageService;

  before(() => {
    editor = openEditor();
  });

  function at(mark: string): number {
    const text = `/*${mark}*/`;
    return source.indexOf(text) + text.length;
  }

  function hover(mark: string): { text: string; documentation: string } {
    const info = editor.getQuickInfoAtPosition(file, at(mark));
    return {
      text: ts.displayPartsToString(info?.displayParts),
      documentation: [
        ts.displayPartsToString(info?.documentation),
        ...(info?.tags ?? []).map(
          ({ name, text }) => `@${name} ${ts.displayPartsToString(text)}`,
        ),
      ].join("\n"),
    };
  }

  function offered(mark: string): string[] {
    const completions = editor.getCompletionsAtPosition(
      file,
      at(mark),
      undefined,
    );
    return (completions?.entries ?? []).map(({ name }) => name).sort();
  }

  /** What the entries export, be it from where it may. */
  function exported(among: readonly string[] = entries): Array<{
    checker: ts.TypeChecker;
    /** As in "/client"; empty for the main one. */
    entry: string;
    key: string;
    /** As in "/client: VaultClient". */
    name: string;
    symbol: ts.Symbol;
  }> {
    const program = editor.getProgram();
    const checker = program?.getTypeChecker();
    const specifiers = (program?.getSourceFile(file)?.statements ?? []).flatMap(
      (statement) =>
        ts.isImportDeclaration(statement) ? [statement.moduleSpecifier] : [],
    );
    return among.flatMap((entry) => {
      const specifier = specifiers.findLast(
        (each) =>
          ts.isStringLiteral(each) && each.text === `hardhat-vault${entry}`,
      );
      const module =
        specifier === undefined
          ? undefined
          : checker?.getSymbolAtLocation(specifier);
      return checker === undefined || module === undefined
        ? expect.fail(`there is no entry ${entry}`)
        : checker.getExportsOfModule(module).map((symbol) => ({
            checker,
            entry,
            key: symbol.name,
            name: `${entry}: ${symbol.name}`,
            symbol: is(symbol, ts.SymbolFlags.Alias)
              ? checker.getAliasedSymbol(symbol)
              : symbol,
          }));
    });
  }

  it("should show named results, parameters by their names, scales, and an example", () => {
    for (const [mark, text] of [
      [
        "getLatestRoundInfo",
        /\(options\?: ReadOptions.*\): Promise<VaultRound>$/u,
      ],
      [
        "getOrderInfo",
        /\(orderID: .*bigint.*, options\?: .*\): Promise<VaultOrder>$/u,
      ],
      [
        "calMargins",
        /values: CalMarginsParameters, .*Promise<MarginAmounts>$/u,
      ],
    ] as const) {
      expect(hover(mark).text).to.match(text);
    }
    expect(hover("getOrderInfo").documentation)
      .to.include("Reads one order (`ITrading.getOrderInfo`).")
      .and.include("@example")
      .and.include("holder: '0x7099");
    expect(hover("strikePrice").documentation).to.include(
      "real value times 1E18",
    );
    expect(hover("openPrice").documentation).to.include(
      "scale is not documented",
    );
  });

  it("should offer what is public, and nothing else", () => {
    expect(offered("vault").join(" ")).to.equal(
      [
        "addressOf at block calMargins chainId connection contracts",
        "deployMocks fork getFundingFeeRate getLPAmountInfo",
        "getLatestRoundInfo getOrderInfo instance instanceName minXMargin",
        "mockAt networkName orders provider queryMarginBalance queryVolume",
        "read rounds settleAll simulateSettleAll snapshot",
      ].join(" "),
    );
  });

  it("should show an example of every function of every entry", () => {
    const functions = exported().filter(({ symbol }) =>
      is(symbol, ts.SymbolFlags.Function),
    );
    expect(functions.length).to.be.above(10);
    expect(
      functions
        .filter(
          ({ checker, symbol }) =>
            !symbol.getJsDocTags(checker).some((tag) => tag.name === "example"),
        )
        .map(({ name }) => name),
    ).to.deep.equal([]);
  });

  it("should offer no function or object that an entry has as a type alone", async () => {
    const values = exported().filter(
      ({ symbol }) =>
        is(symbol, ts.SymbolFlags.Function | ts.SymbolFlags.Variable) &&
        !is(symbol, ts.SymbolFlags.Type),
    );
    expect(values.length).to.be.above(10);
    const missing = await Promise.all(
      values.map(async ({ entry, key, name }) => {
        const module: unknown = await import(`hardhat-vault${entry}`);
        return typeof module === "object" && module !== null && key in module
          ? []
          : [name];
      }),
    );
    expect(missing.flat()).to.deep.equal([]);
  });

  it("should have every type of the client in the main entry", () => {
    const types = (from: string): string[] =>
      exported()
        .filter(({ entry }) => entry === from)
        .filter(({ symbol }) => is(symbol, ts.SymbolFlags.Type))
        .map(({ key }) => key);
    expect(types("/client").length).to.be.above(30);
    expect(types("")).to.include.members(types("/client"));
  });

  it("should have every type that a public one leads to in hardhat-vault/types", () => {
    const bindings = new Set(
      exported(["/bindings"]).map(({ symbol }) => symbol),
    );
    const all = exported();
    const importable = new Set(
      all.filter(({ entry }) => entry === "/types").map(({ key }) => key),
    );
    expect(importable.size).to.be.above(50);
    const missing = new Map(
      all.flatMap(({ checker, symbol, name }) =>
        [...typesNamedBy(checker, symbol, bindings)]
          .filter((type) => is(type, named) && !importable.has(type.name))
          .map((type) => [type.name, name] as const),
      ),
    );
    // What others are computed from.
    expect(
      [...missing.keys()].sort().join(" "),
      [...missing].map(([type, from]) => `${type}, by ${from}`).join("\n"),
    ).to.equal(
      [
        "ChaiPlugin Expected Field Operations PartOf Places ReadMethods",
        "RequestOptions StandaloneOperationName Unit Unscaled",
        "VaultHost VaultReader WireType",
      ].join(" "),
    );
  });
});

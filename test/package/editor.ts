import path from "node:path";

import { expect } from "chai";
import ts from "typescript";

import { repositoryRoot } from "../helpers/consumers/consumer-project.js";

/** A file of somebody who has the package; the marks are where the cursor is. */
const source = `import type {
  HardhatVault,
  LazyHardhatVault,
  MockVaultHandle,
  VaultClient,
  VaultOrder,
  VaultRound,
} from "hardhat-vault";
declare const vault: HardhatVault;
declare const lazyVault: LazyHardhatVault;
declare const client: VaultClient;
declare const mocks: MockVaultHandle;
declare const order: VaultOrder;
declare const round: VaultRound;
vault./*getLatestRoundInfo*/getLatestRoundInfo();
vault./*getOrderInfo*/getOrderInfo(1n);
vault./*calMargins*/calMargins;
order./*openPrice*/openPrice;
round./*strikePrice*/strikePrice;
vault./*vault*/chainId;
lazyVault./*lazyVault*/chainId;
client./*client*/chainId;
mocks./*mocks*/set;
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

  function offeredWithoutExample(mark: string): string[] {
    return offered(mark).filter((name) => {
      const details = editor.getCompletionEntryDetails(
        file,
        at(mark),
        name,
        undefined,
        undefined,
        undefined,
        undefined,
      );
      return details?.tags?.some((tag) => tag.name === "example") !== true;
    });
  }

  it("should show named results, and parameters by their names", () => {
    expect(hover("getLatestRoundInfo").text).to.match(
      /getLatestRoundInfo\(options\?: ReadOptions.*\): Promise<VaultRound>$/u,
    );
    expect(hover("getOrderInfo").text).to.match(
      /getOrderInfo\(orderID: .*bigint.*, options\?: .*\): Promise<VaultOrder>$/u,
    );
    expect(hover("calMargins").text).to.match(
      /values: CalMarginsParameters, .*Promise<MarginAmounts>$/u,
    );
  });

  it("should show what a method does, with an example and its result", () => {
    const { documentation } = hover("getOrderInfo");
    expect(documentation).to.include("Reads one order.");
    expect(documentation).to.include("@example");
    expect(documentation).to.include("holder: '0x7099");
  });

  it("should show the scale of a value", () => {
    expect(hover("strikePrice").documentation).to.include(
      "real value times 1E18",
    );
    expect(hover("openPrice").documentation).to.include(
      "scale is not documented",
    );
  });

  it("should offer what is public, and nothing else", () => {
    expect(offered("vault")).to.deep.equal([
      "addressOf",
      "at",
      "block",
      "calMargins",
      "chainId",
      "connection",
      "contracts",
      "deployMocks",
      "fork",
      "getFundingFeeRate",
      "getLPAmountInfo",
      "getLatestRoundInfo",
      "getOrderInfo",
      "instance",
      "instanceName",
      "minXMargin",
      "mockAt",
      "networkName",
      "orders",
      "provider",
      "queryMarginBalance",
      "queryVolume",
      "read",
      "rounds",
      "settleAll",
      "simulateSettleAll",
      "snapshot",
    ]);
  });

  it("should show an example of everything but plain values", () => {
    expect(offeredWithoutExample("client")).to.deep.equal([
      "networkName",
      "provider",
    ]);
    expect(offeredWithoutExample("vault")).to.deep.equal([
      "connection",
      "instanceName",
      "networkName",
      "provider",
    ]);
    expect(offered("lazyVault")).to.include("connect");
    expect(offeredWithoutExample("lazyVault")).to.deep.equal([]);
    expect(offeredWithoutExample("mocks")).to.deep.equal([
      "addresses",
      "scenario",
      "vault",
    ]);
  });
});

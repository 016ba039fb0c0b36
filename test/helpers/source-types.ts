import { expect } from "chai";
import ts from "typescript";

const SOURCE = "src/types.ts";

let program: ts.Program | undefined;

/** The public members of a class or an interface that `src/types.ts` exports. */
export function membersOf(type: string): readonly string[] {
  program ??= ts.createProgram([SOURCE], {
    module: ts.ModuleKind.NodeNext,
    target: ts.ScriptTarget.ES2023,
    strict: true,
    types: ["node"],
  });
  const checker = program.getTypeChecker();
  const file = program.getSourceFile(SOURCE);
  const entry = checker.getSymbolAtLocation(file ?? expect.fail());
  const found = checker
    .getExportsOfModule(entry ?? expect.fail())
    .find(({ name }) => name === type);
  if (found === undefined) {
    throw new Error(`${SOURCE} exports no ${type}`);
  }
  const symbol =
    (found.flags & ts.SymbolFlags.Alias) === 0
      ? found
      : checker.getAliasedSymbol(found);
  return checker
    .getPropertiesOfType(checker.getDeclaredTypeOfSymbol(symbol))
    .filter((member) => isPublic(member))
    .map(({ name }) => name);
}

function isPublic(member: ts.Symbol): boolean {
  return (
    !member.name.startsWith("#") &&
    !member.getJsDocTags().some(({ name }) => name === "internal") &&
    (member.declarations ?? []).every(
      (declaration) =>
        (ts.getCombinedModifierFlags(declaration) &
          (ts.ModifierFlags.Private | ts.ModifierFlags.Protected)) ===
        0,
    )
  );
}

import path from "node:path";

import ts from "typescript";

const root = path.resolve(import.meta.dirname, "../..");

/** A member of a type of the source, as a reference page should have it. */
export interface TypeMember {
  readonly name: string;
  /** Codes of errors that its `@throws` names. */
  readonly throws: readonly string[];
}

let checker: ts.TypeChecker | undefined;
let program: ts.Program | undefined;

/** The public members of a class or an interface that `src/types.ts` exports. */
export function membersOf(type: string): readonly TypeMember[] {
  program ??= ts.createProgram([path.join(root, "src/types.ts")], {
    module: ts.ModuleKind.NodeNext,
    target: ts.ScriptTarget.ES2023,
    strict: true,
    types: ["node"],
  });
  checker ??= program.getTypeChecker();
  const file = program.getSourceFile(path.join(root, "src/types.ts"));
  const entry =
    file === undefined ? undefined : checker.getSymbolAtLocation(file);
  const found =
    entry === undefined
      ? undefined
      : checker.getExportsOfModule(entry).find(({ name }) => name === type);
  if (found === undefined) {
    throw new Error(`src/types.ts exports no ${type}`);
  }
  const symbol =
    (found.flags & ts.SymbolFlags.Alias) === 0
      ? found
      : checker.getAliasedSymbol(found);
  return checker
    .getPropertiesOfType(checker.getDeclaredTypeOfSymbol(symbol))
    .filter((member) => isPublic(member))
    .map((member) => ({
      name: member.name,
      throws: member
        .getJsDocTags()
        .filter(({ name }) => name === "throws")
        .flatMap(({ text }) => ts.displayPartsToString(text).match(CODE) ?? []),
    }));
}

const CODE = /VAULT_[A-Z_]+/gu;

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

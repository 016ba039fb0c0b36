import { errorsByKind } from "../../src/errors.js";
import type { ErrorKind } from "../../src/errors.js";
import { keysOf } from "../../src/protocol/index.js";

const introduction = `<!-- Generated from src/errors.ts by \`npm run docs\`. Do not edit. -->

# Error codes

An error has a code, what happened, and what to do: here as a task prints it, on stdout
with \`--json\`. In code it is a [\`VaultError\`](reference-vault.md#errors-of-a-read). A name in braces stands for a value. If nothing was sent, an error of a
settlement ends with these words.
`;

/** Headings by kind, in the order of the document. */
const kinds: Readonly<Record<ErrorKind, string>> = {
  user: "What was typed or configured is wrong",
  chain: "The contracts, or the chain, refused or answered something else",
  rpc: "The node, or the way to it, failed",
  bug: "A mistake of this package",
};

/** Renders the table of errors as Markdown. */
export function renderErrors(): string {
  const sections = keysOf(kinds).map((kind) => {
    const entries = Object.entries(errorsByKind[kind]).map(
      ([code, { text, fix, cli = fix }]) =>
        `### ${code}\n\n${asText(text)} ${asText(cli.replace(/ ?Nothing was sent\.$/u, ""))}\n`,
    );
    return [`## ${kinds[kind]}\n`, ...entries].join("\n");
  });
  return [introduction, ...sections].join("\n");
}

/** Marks placeholders as code, unless they stand in code already. */
function asText(template: string): string {
  return template
    .replaceAll("{--network}", "")
    .replaceAll("{--timeout}", " or --timeout")
    .split(/(`[^`]*`)/u)
    .map((part) =>
      part.startsWith("`")
        ? part
        : part
            .replaceAll(/[<>*_](?![^{]*\})/gu, (character) => `\\${character}`)
            .replaceAll(/(?:\{\w+\})+/gu, "`$&`"),
    )
    .join("");
}

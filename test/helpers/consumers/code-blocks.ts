import { readFile } from "node:fs/promises";

/** A fenced block of code in a document. */
export interface CodeBlock {
  /** Line of the document at which its text starts. */
  readonly line: number;
  /** The file that its first line names, as in `// test/vault.ts`. */
  readonly file: string | undefined;
  readonly language: string;
  readonly text: string;
  /** It is a whole Hardhat configuration. */
  readonly isConfiguration: boolean;
  /** What its `console.log(…); // …` lines promise to print. */
  readonly promisedOutput: readonly string[];
}

/** Reads the ```ts, ```js and ```solidity blocks of a Markdown document. */
export async function readCodeBlocks(
  document: string,
): Promise<readonly CodeBlock[]> {
  const markdown = await readFile(document, "utf8");
  return [...markdown.matchAll(/^```(ts|js|solidity)\n(.*?)^```$/gmsu)].map(
    (match) => {
      const [, language = "", text = ""] = match;
      return {
        line: markdown.slice(0, match.index).split("\n").length + 1,
        file: /^\/\/ ([\w./-]+\.(?:ts|sol))\n/u.exec(text)?.[1],
        language,
        text,
        isConfiguration: text.includes("\nexport default defineConfig("),
        promisedOutput: [
          ...text.matchAll(/^console\.log\(.*\); \/\/ (.*)$/gmu),
        ].map(([, output = ""]) => output),
      };
    },
  );
}

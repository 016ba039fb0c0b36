import { globSync, readFileSync } from "node:fs";
import path from "node:path";

const HEADING = "\n## Where each behaviour is tested\n";

/** CONTRIBUTING.md with its index: what each test file describes. */
export function renderContributing(): string {
  const exclude = ["test/helpers", "test/fixture-projects", "test/types"];
  const files = globSync("test/**/*.ts", { exclude })
    .map((file) => file.replaceAll(path.sep, "/"))
    .sort();
  const lists = [...Map.groupBy(files, (file) => path.dirname(file))]
    .sort()
    .map(([folder, ofFolder]) => {
      const rows = ofFolder.map(
        (file) => `- \`${path.basename(file)}\`: ${describedIn(file)}\n`,
      );
      return `\n### ${folder}\n\n${rows.join("")}`;
    });
  const [before] = readFileSync("CONTRIBUTING.md", "utf8").split(HEADING);
  return `${before}${HEADING}\n\`npm run docs\` writes this list.\n${lists.join("")}`;
}

/** The titles of a file's outermost describe()s; `…` stands for what varies. */
function describedIn(file: string): string {
  const all = readFileSync(file, "utf8").matchAll(
    /^( *)describe(?:OnPosix)?\(\s*(["`])(.*?)\2/gmu,
  );
  const titles = [...all].flatMap(([, indent, , title = ""], _, [first]) =>
    indent === first?.[1] ? [title.replaceAll(/\$\{[^}]*\}/gu, "…")] : [],
  );
  return titles.join("; ");
}

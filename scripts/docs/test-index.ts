import { globSync, readFileSync } from "node:fs";
import path from "node:path";

const HEADING = "\n## Where each behaviour is tested\n";

/** CONTRIBUTING.md with its index: what each test file describes. */
export function withTestIndex(document: string): string {
  const files = globSync("test/**/*.ts", {
    exclude: ["test/helpers", "test/fixture-projects", "test/types"],
  });
  const lists = [...Map.groupBy(files.sort(), (file) => path.dirname(file))]
    .sort()
    .map(
      ([folder, names]) =>
        `\n### ${folder}\n\n${names
          .map((file) => `- \`${path.basename(file)}\`: ${describedIn(file)}\n`)
          .join("")}`,
    );
  const [before = ""] = document.split(HEADING);
  return `${before}${HEADING}\n\`npm run docs\` writes this list.\n${lists.join("")}`;
}

/** The titles of a file's outermost describe()s; `…` stands for what varies. */
function describedIn(file: string): string {
  const [first, ...others] = readFileSync(file, "utf8").matchAll(
    /^( *)describe\(\s*(["`])(.*?)\2/gmu,
  );
  return [first, ...others]
    .filter((match) => match?.[1] === first?.[1])
    .map((match) => match?.[3]?.replaceAll(/\$\{[^}]*\}/gu, "…"))
    .join("; ");
}

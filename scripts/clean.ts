/** Removes what `npm run build` makes, beside what `hardhat clean` removes. */
import fs from "node:fs";

for (const output of [
  "dist",
  "src/abi",
  "src/bindings",
  "src/mocks/artifacts.ts",
  "src/mocks/build-info.ts",
  "src/client/lens/artifact.ts",
  "src/guard/artifact.ts",
]) {
  fs.rmSync(new URL(`../${output}`, import.meta.url), {
    recursive: true,
    force: true,
  });
}

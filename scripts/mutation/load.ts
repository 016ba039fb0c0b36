/** Loads each module before the first test: code that runs only then is left out. */
import { globSync } from "node:fs";

for (const file of globSync("{src,tasks}/**/*.js")) {
  await import(`../../${file}`);
}

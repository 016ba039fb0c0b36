// @ts-check
/**
 * Stryker's mocha runner requires modules of mocha without their extension,
 * which is .cjs since mocha 12.
 */
import { createRequire } from "node:module";

// eslint-disable-next-line @typescript-eslint/no-deprecated -- nothing newer changes what require() finds
const { extensions } = createRequire(import.meta.url);
extensions[".cjs"] = extensions[".js"];

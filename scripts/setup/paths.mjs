// @ts-check
import path from "node:path";
import { fileURLToPath } from "node:url";

export const root = path.resolve(
  fileURLToPath(new URL("../..", import.meta.url)),
);
export const nodeModules = path.join(root, "node_modules");
export const lockFile = path.join(root, "package-lock.json");
export const installedNode = path.join(
  nodeModules,
  "node/bin",
  process.platform === "win32" ? "node.exe" : "node",
);

// @ts-check

/**
 * The layers, top to bottom. A file imports from its own layer and from those
 * below it, type imports counted.
 */
const layers = [
  { name: "the plugin's entry", paths: ["src/index\\.ts"] },
  { name: "tasks", paths: ["tasks/"] },
  {
    name: "plugin",
    paths: ["src/plugin/", "src/types\\.ts", "src/type-extensions\\.ts"],
  },
  { name: "settlement", paths: ["src/settlement/"] },
  {
    name: "mocks, simulation and matchers",
    paths: ["src/mocks/", "src/simulation/", "src/chai/", "src/assert/"],
  },
  { name: "sending", paths: ["src/sending/"] },
  {
    name: "the guard and the call of a settlement",
    paths: ["src/guard/(?!artifact)"],
  },
  { name: "host", paths: ["src/host\\.ts"] },
  { name: "client", paths: ["src/client/"] },
  { name: "rpc", paths: ["src/rpc/"] },
  {
    name: "protocol, errors and generated code",
    paths: [
      "src/protocol/",
      "src/error-table\\.ts",
      "src/errors\\.ts",
      "src/foreign-text\\.ts",
      "src/json\\.ts",
      "src/files/",
      "src/abi/",
      "src/guard/artifact\\.ts",
      "src/bindings/",
    ],
  },
];

/** @param {readonly string[]} paths */
const anyOf = (paths) => `^(?:${paths.join("|")})`;

/** @type {import("dependency-cruiser").IForbiddenRuleType[]} */
const arrows = layers.slice(1).map(({ name, paths }, index) => ({
  name: `down-from-${name.replaceAll(/\W+/gu, "-")}`,
  comment: `"${name}" imports nothing of the layers above it. Move what it needs down to where both can use it, or take it as a parameter whose type is declared in this layer. The layers are in .dependency-cruiser.js.`,
  severity: "error",
  from: { path: anyOf(paths) },
  to: {
    path: anyOf(layers.slice(0, index + 1).flatMap((layer) => layer.paths)),
  },
}));

/** @type {import("dependency-cruiser").IConfiguration} */
export default {
  forbidden: [
    {
      name: "no-circle",
      comment:
        "Files that import each other, by types alone too, can only be read and changed together. Move what both need into a file of its own, or have one declare the interface that it takes.",
      severity: "error",
      from: {},
      to: { circular: true },
    },
    ...arrows,
    {
      name: "every-file-has-a-layer",
      comment:
        "This file is in no layer: move it into a folder of one, or list it in .dependency-cruiser.js.",
      severity: "error",
      from: {
        path: "^(?:src|tasks)/",
        pathNot: anyOf(layers.flatMap((layer) => layer.paths)),
      },
      to: {},
    },
    {
      name: "nothing-of-the-workshop",
      comment:
        "Tests, scripts and benchmarks are not in the package: what ships must not need them.",
      severity: "error",
      from: { path: "^(?:src|tasks)/" },
      to: { path: "^(?:test|scripts|bench)/" },
    },
    {
      name: "protocol-is-data",
      comment:
        "The protocol is data: it imports nothing of ours but its own files.",
      severity: "error",
      from: { path: "^src/protocol/" },
      to: { path: "^(?:src|tasks)/", pathNot: "^src/protocol/" },
    },
    {
      name: "protocol-by-its-index",
      comment: "What src/protocol/index.ts exports is imported from there.",
      severity: "error",
      from: { pathNot: "^src/protocol/" },
      to: { path: "^src/protocol/(?:operations|readings|units)\\.ts" },
    },
    {
      name: "definitions-are-light",
      comment:
        "Every start of Hardhat loads what the help shows of tasks, so it loads no library. An action, a parser, and what they need are loaded only by a task that runs.",
      severity: "error",
      from: { path: "^(?:tasks/definitions|src/mocks/scenarios)\\.ts" },
      to: {
        path: "^(?:src|tasks)/|(?:^|/)node_modules/",
        pathNot: "^src/(?:protocol/|mocks/scenarios\\.ts)",
        dependencyTypesNot: ["type-only"],
      },
    },
    {
      name: "no-hardhat",
      comment:
        "This part works without Hardhat, over any EIP-1193 provider. What it needs of Hardhat it takes as a parameter.",
      severity: "error",
      from: { path: anyOf(layers.slice(-3).flatMap((layer) => layer.paths)) },
      to: {
        path: "(?:^|/)node_modules/(?:hardhat|@nomicfoundation/hardhat-(?!utils/)[^/]+)/",
      },
    },
  ],
  options: {
    tsPreCompilationDeps: true,
    tsConfig: { fileName: "tsconfig.json" },
    doNotFollow: { path: "node_modules" },
    enhancedResolveOptions: {
      exportsFields: ["exports"],
      conditionNames: ["import", "types", "default"],
    },
  },
};

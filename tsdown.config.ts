import { defineConfig } from "tsdown";

// A project in TypeScript loads every file by way of tsx, at about a millisecond
// each, and src/ has a hundred and more. So the package has a file for each of
// its entries, and those below for what is loaded together; what is loaded when
// first asked for stands apart, since tsx rewrites every file with an `import()`
// as it is loaded, and gives it a source map, in time that grows with the file.
const groups = [
  // By themselves, for the `import()`s in them.
  {
    name: "client",
    test: /[\\/]src[\\/]client[\\/]vault-client\.ts$/u,
    includeDependenciesRecursively: false,
  },
  {
    name: "vault",
    test: /[\\/]src[\\/]plugin[\\/]hardhat-vault\.ts$/u,
    includeDependenciesRecursively: false,
  },
  // With everything, Hardhat or none.
  {
    name: "protocol",
    test: /[\\/]src[\\/](?:caller-stack|errors|json|protocol[\\/]index)\.ts$/u,
  },
  // With every start.
  {
    name: "start",
    test: /[\\/](?:src[\\/](?:plugin[\\/]lazy-hardhat-vault|simulation[\\/]fork-network)|tasks[\\/]definitions[\\/][\w-]+)\.ts$/u,
  },
  // With the first connection, and with what is used without Hardhat: all that
  // tasks have in common with that, which would else be in a chunk with Hardhat.
  {
    name: "reads",
    test: /[\\/]src[\\/](?:client[\\/](?:failed-reading|orders[\\/]types|parse-time|vault-client)|protocol[\\/]amounts|files[\\/]regular-file)\.ts$/u,
  },
  {
    name: "connection",
    test: /[\\/]src[\\/]plugin[\\/](?:addresses|network-secrets|project-abis)\.ts$/u,
  },
  // With the first snapshot, also without Hardhat, and with the first task.
  { name: "lens", test: /[\\/]src[\\/]client[\\/]lens[\\/]lens\.ts$/u },
  // With the first task.
  {
    name: "tasks",
    // A folder above this one may be called tasks, too.
    test: /[\\/]tasks[\\/](?:(?:output|report)[\\/])?[\w-]+\.ts$/u,
    minShareCount: 4,
  },
].map((group, index) => ({ ...group, priority: 8 - index }));

export default defineConfig({
  entry: {
    index: "src/index.ts",
    types: "src/types.ts",
    client: "src/client/index.ts",
    abi: "src/abi/index.ts",
    bindings: "src/bindings/index.ts",
    mocks: "src/mocks/index.ts",
    chai: "src/chai/index.ts",
    assert: "src/assert/index.ts",
  },
  // A chunk without what it imports, as above, asks for it.
  inputOptions: { preserveEntrySignatures: "allow-extension" },
  outputOptions: {
    chunkFileNames: "chunks/[name].js",
    // With what they import, where no group above has it.
    codeSplitting: { groups },
    // The declarations have them, and src/.
    comments: false,
    // The package has them.
    sourcemapExcludeSources: true,
  },
  tsconfig: "tsconfig.build.json",
  platform: "node",
  fixedExtension: false,
  sourcemap: true,
  dts: { sourcemap: true },
  logLevel: "warn",
  failOnWarn: true,
  checks: { bundlerTimings: false },
});

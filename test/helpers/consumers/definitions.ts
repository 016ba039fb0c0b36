/** A project of a user, that this package is installed in. */
export interface ConsumerDefinition {
  readonly name: string;
  /** Folder of Hardhat's own templates; without it, the project is ours. */
  readonly template?: string;
  /** Versions that replace those of the template. */
  readonly versions: Readonly<Record<string, string>>;
  /** How its tests are run, after `hardhat`. */
  readonly testCommand: readonly string[];
  /** Compiler settings that its contracts are compiled with besides its own. */
  readonly compilers?: readonly CompilerSettings[];
}

export interface CompilerSettings {
  /** npm package of the compiler, one of this repository's. */
  readonly package: string;
  readonly version: string;
  readonly optimizer: boolean;
  readonly viaIR: boolean;
}

/** Hardhat's templates ask for versions that the registry does not have. */
const publishedVersions = {
  "@nomicfoundation/hardhat-toolbox-mocha-ethers": "^3.0.7",
  "@nomicfoundation/hardhat-mocha": "^3.0.21",
  mocha: "^11.0.0",
  // The newest that can be installed next to its `ox`.
  viem: "2.57.0",
};

/**
 * Two of many, for the way through Hardhat. Every combination, the slow viaIR
 * too, is compiled in test/contracts/.
 */
const compilers: readonly CompilerSettings[] = [
  { package: "solc-0.8.20", version: "0.8.20", optimizer: false, viaIR: false },
  { package: "solc-0.8.28", version: "0.8.28", optimizer: true, viaIR: false },
];

/**
 * The consumers: Hardhat's three templates, and the project that README.md
 * describes, at the lower bound of every peer range.
 */
export const consumers: readonly ConsumerDefinition[] = [
  {
    name: "mocha-ethers",
    template: "02-mocha-ethers",
    versions: publishedVersions,
    testCommand: ["test"],
  },
  {
    name: "viem",
    template: "01-node-test-runner-viem",
    versions: publishedVersions,
    testCommand: ["test"],
  },
  {
    name: "minimal",
    template: "03-minimal",
    versions: {},
    testCommand: ["run", "scripts/vault.ts"],
    compilers,
  },
  {
    name: "readme",
    versions: {},
    testCommand: ["test"],
  },
];

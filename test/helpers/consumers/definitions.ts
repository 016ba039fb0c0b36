import type { CompilerSettings } from "../compiler-settings.js";

/** A project of a user, that this package is installed in. */
export interface ConsumerDefinition {
  readonly name: string;
  /** Folder of Hardhat's own templates; without it, the project is ours. */
  readonly template?: string;
  /** Versions that replace those of the template. */
  readonly versions: Readonly<Record<string, string>>;
  /** How its tests are run, after `hardhat`. */
  readonly testCommand: readonly string[];
  /** What that compiles its contracts with. */
  readonly compiler: CompilerSettings;
  /** Which of the documents' code it has: that with viem, or all other. */
  readonly documents?: "ethers" | "viem";
  /** Its tasks are run on a node of its own, else on a network in process. */
  readonly hasNode?: boolean;
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
 * The consumers: Hardhat's three templates, and the project that README.md
 * describes, at the lower bound of every peer range. The two toolboxes' own
 * contract asks for a new compiler; the others can have older ones.
 */
export const consumers: readonly ConsumerDefinition[] = [
  {
    name: "mocha-ethers",
    template: "02-mocha-ethers",
    versions: publishedVersions,
    testCommand: ["test"],
    compiler: { version: "0.8.37", optimizer: false, viaIR: false },
  },
  {
    name: "viem",
    template: "01-node-test-runner-viem",
    versions: publishedVersions,
    testCommand: ["--build-profile", "production", "test"],
    compiler: { version: "0.8.37", optimizer: true, viaIR: false },
    documents: "viem",
  },
  {
    name: "minimal",
    template: "03-minimal",
    versions: {},
    testCommand: ["run", "scripts/vault.ts"],
    compiler: { version: "0.8.20", optimizer: false, viaIR: false },
    hasNode: true,
  },
  {
    name: "readme",
    versions: {},
    testCommand: ["test"],
    compiler: { version: "0.8.28", optimizer: false, viaIR: false },
    documents: "ethers",
  },
];

import { sample } from "../sample.js";
import type { SolcVersion } from "../solc.js";

/** A project of a user, that this package is installed in. */
export interface ConsumerDefinition {
  readonly name: string;
  /** Folder of its project; its name unless given. */
  readonly folder?: string;
  /** The consumer whose files it has; its own unless given. */
  readonly files?: string;
  /** Version of Node that it runs on; that of the tests unless given. */
  readonly node?: string;
  /** Folder of Hardhat's own templates; else the example of that name, or the fixture. */
  readonly template?: string;
  /** Versions that replace those of the template. */
  readonly versions: Readonly<Record<string, string>>;
  /** How its tests are run, after `hardhat`, if it has any. */
  readonly testCommand?: readonly string[];
  /** What that compiles its contracts with, if it has any. */
  readonly compiler?: SolcVersion;
  /** Which of the documents' code it has. */
  readonly documents?: "ethers" | "viem" | "solidity" | "hardhat-2";
  /** What it installs with this package: a project without the plugin needs none of it. */
  readonly peers?: readonly string[];
  /** Its Solidity tests also run with Foundry's forge. */
  readonly hasForge?: boolean;
  /** It uses entries of the package or its contracts, but not the plugin. */
  readonly hasNoPlugin?: boolean;
  /** Its tasks are run on a node of its own, else on a network in process. */
  readonly hasNode?: boolean;
  /** A script that is run on that node, in place of a keeper's tasks. */
  readonly nodeScript?: string;
}

/** The lower bound of `engines`. */
const OLDEST_NODE = "22.13.0";

/** Hardhat's templates ask for versions that the registry does not have. */
const publishedVersions = {
  "@nomicfoundation/hardhat-toolbox-mocha-ethers": "^3.0.7",
  "@nomicfoundation/hardhat-mocha": "^3.0.21",
  mocha: "^11.0.0",
  // The newest that can be installed next to its `ox`.
  viem: "2.57.0",
  // The current one, which checks types in a third of the time.
  typescript: "~7.0.2",
};

/**
 * The consumers: the three examples, with Hardhat's toolbox for ethers in one, the
 * template with its toolbox for viem, the project that README.md describes, at the lower
 * bound of every range that matters, the oldest Hardhat 3, one with Solidity tests and
 * nothing else, and two on Hardhat 2, in CommonJS.
 */
export const allConsumers: readonly ConsumerDefinition[] = [
  {
    name: "contract-tests",
    versions: {},
    testCommand: ["test"],
    compiler: "0.8.28",
  },
  {
    name: "viem",
    template: "01-node-test-runner-viem",
    versions: publishedVersions,
    testCommand: ["test"],
    compiler: "0.8.37",
    documents: "viem",
    peers: ["@nomicfoundation/hardhat-ethers"],
  },
  {
    name: "keeper",
    folder: "keeper, größe 1",
    versions: { typescript: publishedVersions.typescript },
    testCommand: ["run", "--no-compile", "scripts/vault.ts"],
    peers: ["@nomicfoundation/hardhat-ethers"],
    hasNode: true,
  },
  {
    name: "hardhat-3-oldest",
    files: "keeper",
    node: OLDEST_NODE,
    versions: { hardhat: "3.13.0", typescript: publishedVersions.typescript },
    testCommand: ["run", "--no-compile", "scripts/vault.ts"],
    peers: ["@nomicfoundation/hardhat-ethers@4.0.15"],
    hasNode: true,
  },
  {
    name: "fork-in-ci",
    versions: { typescript: publishedVersions.typescript },
    hasNode: true,
    nodeScript: "scripts/what-if.ts",
  },
  {
    name: "readme",
    node: OLDEST_NODE,
    versions: {},
    testCommand: ["test"],
    compiler: "0.8.28",
    documents: "ethers",
  },
  {
    name: "solidity",
    versions: {},
    testCommand: ["test", "solidity"],
    compiler: "0.8.28",
    documents: "solidity",
    // In every second run: Hardhat runs the same tests.
    hasForge: sample([true, false], 1).includes(true),
    hasNoPlugin: true,
  },
  {
    name: "hardhat-2",
    versions: {},
    testCommand: ["test", "--no-compile"],
    documents: "hardhat-2",
    hasNoPlugin: true,
  },
  {
    name: "hardhat-2-oldest",
    files: "hardhat-2",
    node: OLDEST_NODE,
    versions: {
      "@nomicfoundation/hardhat-ethers": "3.0.0",
      chai: "4.0.0",
      ethers: "6.14.0",
      hardhat: "2.22.0",
    },
    testCommand: ["test", "--no-compile"],
    documents: "hardhat-2",
    hasNoPlugin: true,
  },
];

/** One of each of these is enough without `FULL=1`. */
const alike: ReadonlyArray<readonly string[]> = [
  ["hardhat-2", "hardhat-2-oldest"],
  ["contract-tests", "viem"],
];

export const consumers = allConsumers.filter(({ name }) =>
  alike.every(
    (names) => !names.includes(name) || sample(names, 1).includes(name),
  ),
);

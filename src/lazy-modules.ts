/*
 * Every dynamic import of the modules that each start of Hardhat loads, and no
 * more: a configuration in TypeScript runs under tsx, which rewrites each file
 * with dynamic imports. What a start does not need is behind `onDemand`.
 */
export const lazyModules = {
  hardhatEthers: async () => await import("@nomicfoundation/hardhat-ethers"),
  configSchema: async () => await import("./plugin/config-schema.js"),
  onDemand: async () =>
    (await import("./modules-on-demand.js")).modulesOnDemand,
} as const;

/**
 * What the plugin loads when Hardhat asks for it.
 *
 * Together in one short file: a configuration in TypeScript runs under tsx,
 * which parses and rewrites every file with a dynamic import, and those of the
 * plugin that describe it are loaded at every start of Hardhat.
 */
export const lazyModules = {
  hardhatEthers: async () => await import("@nomicfoundation/hardhat-ethers"),
  hooks: {
    config: async () => await import("./hooks/config.js"),
    hre: async () => await import("./hooks/hre.js"),
    network: async () => await import("./hooks/network.js"),
  },
  configSchema: async () => await import("./hooks/config-schema.js"),
  tasks: {
    capture: async () => await import("../tasks/capture.js"),
    deployMocks: async () => await import("../tasks/deploy-mocks.js"),
    orders: async () => await import("../tasks/orders.js"),
    read: async () => await import("../tasks/read.js"),
    request: async () => await import("../tasks/request.js"),
    settle: async () => await import("../tasks/settle.js"),
    simulate: async () => await import("../tasks/simulate.js"),
    status: async () => await import("../tasks/status.js"),
  },
} as const;

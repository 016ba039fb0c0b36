/** What is only loaded when somebody uses it, each module by its purpose. */
export const modulesOnDemand = {
  networkHooks: async () => await import("./plugin/network-hooks.js"),
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

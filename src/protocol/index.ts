export * from "./operations.js";
export * from "./queries.js";
export type * from "./readings.js";
export * from "./units.js";

export * from "./display-decimals.js";
export * from "./enums.js";
export * from "./operations.js";
export * from "./queries.js";
export type * from "./readings.js";
export * from "./units.js";

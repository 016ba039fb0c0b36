export * from "./contracts.js";
export * from "./enums.js";
export * from "./operations.js";
export * from "./readings.js";
export * from "./types.js";
export * from "./units.js";

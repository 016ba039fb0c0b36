export * from "./operations.js";
export * from "./readings.js";
export * from "./units.js";

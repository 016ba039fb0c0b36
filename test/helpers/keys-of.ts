export { keysOf } from "../../src/protocol/keys-of.js";

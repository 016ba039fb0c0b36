/** There is nothing: `require("hardhat-vault")` throws, and says what to do. */
declare const nothing: never;
export = nothing;

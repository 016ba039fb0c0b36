import vaultMatchers from "hardhat-vault/chai";
import type { ExpectedReadings } from "hardhat-vault/chai";

export type Readings = ExpectedReadings;
export { vaultMatchers };

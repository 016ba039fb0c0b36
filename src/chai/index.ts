/**
 * Chai matchers for vaults and settlements: `import "hardhat-vault/chai"` registers
 * them. The default export is the same as a Chai plugin, for a copy of Chai that is
 * not the one this package finds: `chai.use(vaultMatchers)`.
 *
 * @module hardhat-vault/chai
 */
import { use } from "chai";

import { vaultMatchers } from "./vault-matchers.js";

export type * from "./type-extensions.js";
export type {
  ExpectedReadings,
  ExpectedValue,
} from "../assert/change-readings.js";

use(vaultMatchers);

export default vaultMatchers;

/**
 * Chai matchers for vaults and settlements; the import registers them. The default export
 * is a Chai plugin, for another copy of Chai: `chai.use(vaultMatchers)`.
 *
 * @module hardhat-vault/chai
 */
import { use } from "chai";

import { vaultMatchers } from "./vault-matchers.js";

export type * from "./type-extensions.js";
export type { ExpectedReadings, ExpectedValue } from "../assert/readings.js";
export type { ExpectedVaultError } from "../assert/assertion.js";
export type { CallArguments } from "../protocol/index.js";

use(vaultMatchers);

export default vaultMatchers;

// What `require("hardhat-vault")` gets: the plugin is for Hardhat 3, whose
// projects are ES modules. The other entries can be required.
"use strict";

throw new Error(
  'hardhat-vault itself is a plugin for Hardhat 3: `import vault from "hardhat-vault"` in its configuration, an ES module. ' +
    'In CommonJS, a Hardhat 2 project for example, require "hardhat-vault/client", "hardhat-vault/mocks", "hardhat-vault/abi" or "hardhat-vault/bindings": see docs/hardhat-2.md of the package.',
);

// @ts-nocheck -- Node's types leave these tables out, deprecated as they are.
// Stryker's mocha runner requires modules of mocha without their extension,
// which is .cjs since mocha 12: https://github.com/stryker-mutator/stryker-js.
require.extensions[".cjs"] = require.extensions[".js"];

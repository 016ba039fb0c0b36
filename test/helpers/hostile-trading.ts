import { AbiCoder } from "ethers";

import type { Eip1193Provider } from "../../src/rpc/eip1193.js";
import { compileContract } from "./solc.js";
import { deployCode } from "./transactions.js";

/** Ids at which the hostile contract does not answer a good order. */
export const hostileIds = {
  reverts: 7n,
  invalidOpcode: 13n,
  endlessLoop: 21n,
  threeBytes: 22n,
  dirtyHolder: 34n,
  longString: 40n,
  hugeAnswer: 48n,
} as const;

/** What the order of that id has for a pair. */
export const LONG_STRING = "x".repeat(12_000);

// The loop takes much gas in few steps: Hardhat's network records each step.
const source = `
// SPDX-License-Identifier: MIT
pragma solidity ^0.8.20;

contract HostileTrading {
    address private immutable _good;

    constructor(address good) {
        _good = good;
    }

    fallback() external {
        uint256 id = uint256(bytes32(msg.data[4:36]));
        if (id == ${hostileIds.reverts}) revert("not your order");
        if (id == ${hostileIds.invalidOpcode}) assembly { invalid() }
        if (id == ${hostileIds.endlessLoop}) assembly { for { let i := 32 } 1 { i := mul(i, 2) } { mstore(i, 1) } }
        if (id == ${hostileIds.threeBytes}) assembly { return(0, 3) }
        if (id == ${hostileIds.hugeAnswer}) assembly { return(0, 600000) }
        (bool success, bytes memory order) = _good.staticcall(msg.data);
        require(success);
        if (id == ${hostileIds.dirtyHolder}) order[32] = 0x01;
        assembly {
            let start := add(order, 0x20)
            let size := mload(order)
            if eq(id, ${hostileIds.longString}) {
                mstore(add(start, 416), ${LONG_STRING.length})
                for { let i := 0 } lt(i, ${LONG_STRING.length}) { i := add(i, 32) } {
                    mstore(add(start, add(448, i)), mul(0x78, div(not(0), 255)))
                }
                size := add(448, ${LONG_STRING.length})
            }
            return(start, size)
        }
    }
}
`;

/**
 * Deploys a trading contract that answers what another one does, but for the
 * ids of {@link hostileIds}.
 */
export async function deployHostileTrading(
  provider: Eip1193Provider,
  good: string,
): Promise<string> {
  const argument = AbiCoder.defaultAbiCoder().encode(["address"], [good]);
  const { evm } = compileContract("0.8.37", "HostileTrading", source);
  return await deployCode(
    provider,
    `0x${evm.bytecode.object}${argument.slice(2)}`,
  );
}

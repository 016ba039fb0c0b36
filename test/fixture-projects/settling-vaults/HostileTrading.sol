// SPDX-License-Identifier: MIT
pragma solidity ^0.8.20;

/// Answers what another trading contract does, but for some ids.
contract HostileTrading {
    address private immutable _good;

    constructor(address good) {
        _good = good;
    }

    fallback() external {
        uint256 id = uint256(bytes32(msg.data[4:36]));
        if (id == 7) revert("not your order");
        if (id == 13) {
            assembly {
                invalid()
            }
        }
        // Much gas in few steps: Hardhat's network records each step.
        if (id == 21) {
            assembly {
                for {
                    let i := 32
                } 1 {
                    i := mul(i, 2)
                } {
                    mstore(i, 1)
                }
            }
        }
        if (id == 22) {
            assembly {
                return(0, 3)
            }
        }
        if (id == 48) {
            assembly {
                return(0, 600000)
            }
        }
        (bool success, bytes memory order) = _good.staticcall(msg.data);
        require(success);
        // Not zero before the address of the holder.
        if (id == 34) order[32] = 0x01;
        assembly {
            let start := add(order, 0x20)
            let size := mload(order)
            // A pair of 12,000 letters.
            if eq(id, 40) {
                mstore(add(start, 416), 12000)
                for {
                    let i := 0
                } lt(i, 12000) {
                    i := add(i, 32)
                } {
                    mstore(add(start, add(448, i)), mul(0x78, div(not(0), 255)))
                }
                size := 12448
            }
            return(start, size)
        }
    }
}

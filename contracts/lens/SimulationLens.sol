// SPDX-License-Identifier: MIT
pragma solidity ^0.8.20;

import {VaultLens} from "./VaultLens.sol";

/// @title Simulation lens
/// @notice Reads beside a simulated settlement what only code can: native
/// balances, the size of code, the block that it runs in.
/// @dev Never deployed, see `VaultLens`. It is put at the address of the caller
/// whom the readings see, or at any address that nobody uses.
contract SimulationLens is VaultLens {
    /// @notice Where and when this runs, and what accounts have.
    /// @dev Answers words of 32 bytes: block number | timestamp | chain id |
    /// base fee | and of each account its native balance | how much code there
    /// is.
    function factsOf(address[] calldata accounts) external view {
        uint256 height = _blockNumber();
        uint256 fee;
        // Chains without EIP-1559 may not have the instruction.
        try this.baseFee{gas: 10_000}() returns (uint256 found) {
            fee = found;
        } catch {}
        uint256 start;
        uint256 end;
        assembly ("memory-safe") {
            start := mload(0x40)
            mstore(start, height)
            mstore(add(start, 0x20), timestamp())
            mstore(add(start, 0x40), chainid())
            mstore(add(start, 0x60), fee)
            end := add(start, 0x80)
        }
        for (uint256 i = 0; i < accounts.length; ++i) {
            address account = accounts[i];
            assembly ("memory-safe") {
                mstore(end, balance(account))
                mstore(add(end, 0x20), extcodesize(account))
                end := add(end, 0x40)
            }
        }
        _return(start, end);
    }

    /// @notice The base fee of the block that this runs in.
    function baseFee() external view returns (uint256) {
        return block.basefee;
    }

    /// @notice Makes the given calls and returns the entries.
    function read(Call[] calldata calls) external view {
        uint256 start;
        assembly ("memory-safe") {
            start := mload(0x40)
        }
        _return(start, _readAll(calls, start));
    }
}

// SPDX-License-Identifier: MIT
pragma solidity ^0.8.20;

import {VaultLens} from "./VaultLens.sol";

/// @title Simulation lens
/// @notice Reads, makes a call that changes state, and reads again, all inside
/// one `eth_call`; and answers what only code can: native balances, the size of
/// code, the block that it runs in.
/// @dev Never deployed, see `VaultLens`. For `simulate` it is put at the
/// address of the sender, and at that of the caller whom the readings see; for
/// its small readings, at any address that nobody uses.
contract SimulationLens is VaultLens {
    /// @dev The first word of an answer of `simulate`.
    bytes32 private constant SIMULATED = keccak256(
        "hardhat-vault/SimulationLens/1"
    );

    /// @dev The most bytes of a refusal that are passed on.
    uint256 private constant MAX_REASON = 8192;

    /// @dev Nobody's address, which has no code.
    address private constant NOBODY = address(
        uint160(uint256(keccak256("hardhat-vault/SimulationLens/nobody")))
    );

    /// @dev The account whose place this takes may be paid.
    receive() external payable {}

    /// @dev An account without code accepts every call.
    fallback() external payable {}

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

    /// @notice Reads by another address and reverts with the entries, so that all
    /// that was touched is cold again (EIP-2929).
    function readAndForget(
        SimulationLens reader,
        Call[] calldata calls
    ) external view {
        (, bytes memory entries) = _read(reader, calls);
        assembly ("memory-safe") {
            revert(add(entries, 0x20), mload(entries))
        }
    }

    /// @notice Makes the given calls and returns the entries.
    function read(Call[] calldata calls) external view {
        (uint256 start, uint256 end) = _entries(calls);
        _return(start, end);
    }

    /// @notice Reads, calls, and reads again.
    /// @dev Answers words of 32 bytes: `SIMULATED` | block number | timestamp |
    /// chain id | whether the call succeeded | gas it used | gas it was given |
    /// length of what it returned | length of the entries before | of those
    /// after | and then these three, not padded.
    /// @param reader This contract, at the address that the readings see.
    /// @param calls What is read before and after.
    /// @param target The contract to call.
    /// @param data The call.
    /// @param gasLimit The most gas that the call may use.
    /// @param reserve Gas that is left for the readings after the call.
    function simulate(
        SimulationLens reader,
        Call[] calldata calls,
        address target,
        bytes calldata data,
        uint256 gasLimit,
        uint256 reserve
    ) external {
        (, bytes memory beforeCall) = address(this).staticcall(
            abi.encodeCall(this.readAndForget, (reader, calls))
        );
        // The target of a transaction is warm from the beginning.
        uint256 given = target.balance + NOBODY.balance;
        // What a call of no code uses is that of the instructions around it.
        (, uint256 overhead, ) = _call(NOBODY, data, 0);
        given = gasleft();
        given = given > reserve ? ((given - reserve) / 64) * 63 : 0;
        if (given > gasLimit) given = gasLimit;
        (bool success, uint256 used, bytes memory reason) = _call(
            target,
            data,
            given
        );
        (, bytes memory afterCall) = _read(reader, calls);
        bytes memory answer = abi.encodePacked(
            SIMULATED,
            _blockNumber(),
            block.timestamp,
            block.chainid,
            success ? uint256(1) : 0,
            used - overhead,
            given,
            reason.length
        );
        answer = abi.encodePacked(
            answer,
            beforeCall.length,
            afterCall.length,
            reason,
            beforeCall,
            afterCall
        );
        assembly ("memory-safe") {
            return(add(answer, 0x20), mload(answer))
        }
    }

    function _call(
        address target,
        bytes memory data,
        uint256 given
    ) private returns (bool success, uint256 used, bytes memory reason) {
        assembly ("memory-safe") {
            let length := mload(data)
            let input := add(data, 0x20)
            used := gas()
            success := call(given, target, 0, input, length, 0, 0)
            used := sub(used, gas())
            reason := mload(0x40)
            let size := returndatasize()
            if gt(size, MAX_REASON) {
                size := MAX_REASON
            }
            mstore(reason, size)
            returndatacopy(add(reason, 0x20), 0, size)
            mstore(0x40, add(add(reason, 0x20), size))
        }
    }

    function _read(
        SimulationLens reader,
        Call[] calldata calls
    ) private view returns (bool, bytes memory) {
        return address(reader).staticcall(abi.encodeCall(this.read, (calls)));
    }

    function _entries(
        Call[] calldata calls
    ) private view returns (uint256 start, uint256 end) {
        assembly ("memory-safe") {
            start := mload(0x40)
        }
        end = _readAll(calls, start);
    }
}

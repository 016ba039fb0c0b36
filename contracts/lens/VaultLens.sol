// SPDX-License-Identifier: MIT
pragma solidity ^0.8.20;

/// @title Vault lens
/// @notice Makes many read calls inside one `eth_call` and returns what each
/// of them answered, with the block they were answered at.
/// @dev Never deployed: its code is put at the caller's own address by the
/// state override of an `eth_call`, so that the contracts that are read see
/// the same caller as in a call of their own.
///
/// Both functions return bytes that are not ABI-encoded: the compiler would
/// copy them once more. In words of 32 bytes:
///
/// `FORMAT` | block number | block timestamp | chain id | entries
///
/// and each entry is one word (byte 0: a status, byte 1: whether the target
/// has code, bytes 28 to 31: the length of the data), followed by the data,
/// which is not padded.
contract VaultLens {
    /// @notice One read call.
    struct Call {
        address target;
        bytes data;
    }

    /// @dev The first word of every answer. A node that ignores state
    /// overrides cannot answer it by chance.
    bytes32 private constant FORMAT = keccak256("hardhat-vault/VaultLens/1");

    /// @dev Status of an entry: the call reverted, the data is its reason.
    uint256 private constant REVERTED = 0;

    /// @dev Status of an entry: the call succeeded, the data is its result.
    uint256 private constant RETURNED = 1;

    /// @dev Status of an entry: the call used up its share of gas, or
    /// answered more than `MAX_DATA` bytes. It has to be made by itself.
    uint256 private constant UNKNOWN = 2;

    /// @dev The most bytes of an answer that are passed on.
    uint256 private constant MAX_DATA = 8192;

    /// @dev `ITrading.getOrderInfo`.
    bytes4 private constant GET_ORDER_INFO = 0xd311636b;

    /// @dev ArbSys of Arbitrum's chains, where `block.number` is a number of
    /// the parent chain and `arbBlockNumber()` is the one that nodes number
    /// blocks by. Other chains have nothing there, or something that fails.
    address private constant ARB_SYS =
        0x0000000000000000000000000000000000000064;
    bytes4 private constant ARB_BLOCK_NUMBER = 0xa3b1b31d;

    /// @notice Makes the given calls, each with an equal share of the gas.
    /// @param calls The calls.
    function readCalls(Call[] calldata calls) external view {
        (uint256 start, uint256 end) = _header();
        _return(start, _readAll(calls, end));
    }

    /// @notice Reads orders by id, as many as the gas allows and at least one.
    /// @dev It stops while an eighth of the gas is left, so that no order is
    /// read with so little that it could answer otherwise than by itself. It
    /// also stops before an order that uses up its gas, unless that is the
    /// first.
    /// @param trading The contract to read from.
    /// @param firstId The first order's id.
    /// @param count How many orders to read at most.
    function readOrders(address trading, uint256 firstId, uint256 count)
        external
        view
    {
        (uint256 start, uint256 end) = _header();
        uint256 reserve = gasleft() / 8;
        for (uint256 i = 0; i < count; ++i) {
            if (i > 0 && gasleft() < reserve) break;
            unchecked {
                // The caller does not ask beyond the last id.
                uint256 orderID = firstId + i;
                assembly ("memory-safe") {
                    mstore(0x00, GET_ORDER_INFO)
                    mstore(0x04, orderID)
                }
            }
            (uint256 next, bool exhausted) =
                _read(end, trading, 0x00, 0x24, gasleft());
            if (exhausted && i > 0) break;
            end = next;
        }
        _return(start, end);
    }

    /// @dev Makes the calls, each with an equal share of the gas, and writes
    /// their entries from `end` on.
    function _readAll(Call[] calldata calls, uint256 end)
        internal
        view
        returns (uint256)
    {
        for (uint256 i = 0; i < calls.length; ++i) {
            bytes calldata data = calls[i].data;
            uint256 input = end + 32;
            uint256 length = data.length;
            assembly ("memory-safe") {
                calldatacopy(input, data.offset, length)
            }
            (end,) = _read(
                end,
                calls[i].target,
                input,
                length,
                gasleft() / (calls.length - i)
            );
        }
        return end;
    }

    function _header() private view returns (uint256 start, uint256 end) {
        bytes32 format = FORMAT;
        uint256 height = _blockNumber();
        assembly ("memory-safe") {
            start := mload(0x40)
            mstore(start, format)
            mstore(add(start, 0x20), height)
            mstore(add(start, 0x40), timestamp())
            mstore(add(start, 0x60), chainid())
            end := add(start, 0x80)
        }
    }

    function _blockNumber() internal view returns (uint256 height) {
        assembly ("memory-safe") {
            height := number()
            mstore(0x00, ARB_BLOCK_NUMBER)
            let success := staticcall(50000, ARB_SYS, 0x00, 0x04, 0x00, 0x20)
            if and(success, eq(returndatasize(), 0x20)) {
                height := mload(0x00)
            }
        }
    }

    /// @dev Makes one call and writes its entry at `entry`, above which all
    /// memory is free. The input may lie where the entry's data goes.
    function _read(
        uint256 entry,
        address target,
        uint256 input,
        uint256 length,
        uint256 gasLimit
    ) internal view returns (uint256 end, bool exhausted) {
        assembly ("memory-safe") {
            let gasBefore := gas()
            let status := staticcall(gasLimit, target, input, length, 0, 0)
            let size := returndatasize()
            // A callee gets at most 63/64 of what there is.
            if iszero(or(status, size)) {
                exhausted := gt(
                    sub(gasBefore, gas()),
                    sub(gasLimit, div(gasLimit, 32))
                )
            }
            if or(exhausted, gt(size, MAX_DATA)) {
                status := UNKNOWN
                size := 0
            }
            mstore(entry, size)
            mstore8(entry, status)
            mstore8(add(entry, 1), iszero(iszero(extcodesize(target))))
            end := add(entry, 0x20)
            returndatacopy(end, 0, size)
            end := add(end, size)
        }
    }

    function _return(uint256 start, uint256 end) internal pure {
        assembly ("memory-safe") {
            return(start, sub(end, start))
        }
    }
}

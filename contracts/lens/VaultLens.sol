// SPDX-License-Identifier: MIT
pragma solidity ^0.8.20;

/// @title Vault lens
/// @notice Makes many read calls inside one `eth_call` and returns what each
/// of them answered, with the block they were answered at.
/// @dev Never deployed: its code is put at the caller's own address by the
/// state override of an `eth_call`, so that the contracts that are read see
/// the same caller as in a call of their own.
///
/// The functions return bytes that are not ABI-encoded: the compiler would
/// copy them once more. `readCalls` and `readOrders` return, in words of 32
/// bytes:
///
/// `FORMAT` | block number | block timestamp | chain id | entries
///
/// and each entry is one word (byte 0: a status, byte 1: whether the target
/// has code, bytes 28 to 31: the length of the data), followed by the data,
/// which is not padded. An order whose values are small is packed: see
/// `PACKED`.
contract VaultLens {
    /// @dev The first word of every answer. A node that ignores state
    /// overrides cannot answer it by chance.
    bytes32 private constant FORMAT = keccak256("hardhat-vault/VaultLens/3");

    /// @dev Status of an entry: the call reverted, the data is its reason.
    uint256 private constant REVERTED = 0;

    /// @dev Status of an entry: the call succeeded, the data is its result.
    uint256 private constant RETURNED = 1;

    /// @dev Status of an entry: the call answered more than `MAX_DATA` bytes.
    uint256 private constant TOO_LONG = 2;

    /// @dev Status of an entry: the call used up its share of the gas. With
    /// more, it may answer; an access out of bounds uses up any amount in
    /// contracts that were compiled before Solidity 0.8.
    uint256 private constant USED_UP = 3;

    /// @dev Status of an order without the zeros at the start of its words, a
    /// third of the bytes: this byte, the length of the pair, the direction and
    /// the state (1 byte each), the holder (20 bytes), the time (8 bytes), the
    /// eight other values (12 bytes each) and the pair.
    uint256 private constant PACKED = 4;
    uint256 private constant PACKED_SIZE = 128;

    /// @dev The most bytes of an answer that are passed on.
    uint256 private constant MAX_DATA = 8192;

    /// @dev An order's share of the gas, ten times what most use, and what has to
    /// be left before it.
    uint256 private constant SHARE = 500_000;
    uint256 private constant RESERVE = 550_000;

    /// @dev The words of an order are here, where the compiler knows it.
    uint256 private constant ORDER = 0x80;
    uint256 private constant ORDER_SIZE = 0x1e0;

    /// @dev `ITrading.getOrderInfo`.
    bytes4 private constant GET_ORDER_INFO = 0xd311636b;

    /// @dev ArbSys of Arbitrum's chains, where `block.number` is a number of
    /// the parent chain and `arbBlockNumber()` is the one that nodes number
    /// blocks by. Other chains have nothing there, or something that fails.
    address private constant ARB_SYS =
        0x0000000000000000000000000000000000000064;
    bytes4 private constant ARB_BLOCK_NUMBER = 0xa3b1b31d;

    /// @notice Makes calls, each with an equal share of the gas.
    /// @dev The calls follow the selector, packed: their number (2 bytes); for
    /// each call its target (20 bytes), the length of its data (2 bytes) and
    /// the data. ABI-encoded, those of a snapshot take five times the bytes.
    function readCalls() external view {
        (uint256 start, uint256 end) = _header();
        uint256 left;
        assembly ("memory-safe") {
            left := shr(240, calldataload(4))
        }
        uint256 next = 6;
        for (; left > 0; --left) {
            uint256 share = gasleft() / left;
            address target;
            uint256 status;
            assembly ("memory-safe") {
                let head := calldataload(next)
                target := shr(96, head)
                let length := and(shr(80, head), 0xffff)
                next := add(next, 22)
                calldatacopy(end, next, length)
                next := add(next, length)
                let before := gas()
                status := staticcall(share, target, end, length, 0, 0)
                // A contract may also revert without a reason.
                if iszero(or(status, returndatasize())) {
                    if gt(sub(before, gas()), sub(share, shr(5, share))) {
                        status := USED_UP
                    }
                }
            }
            end = _write(end, target.code.length > 0, status);
        }
        _return(start, end);
    }

    /// @notice Reads orders, as many as the gas allows and at least one.
    /// @dev If an order uses more than three quarters of its share, its answer
    /// does not count, even if it succeeded: a call inside it may have run out
    /// of gas.
    /// @param trading The contract to read from.
    /// @param firstId The first id, unless there is a list of ids.
    /// @param count How many orders to read at most.
    /// @param ids The ids, or none for a range.
    function readOrders(
        address trading,
        uint256 firstId,
        uint256 count,
        uint256[] calldata ids
    ) external view {
        assembly ("memory-safe") {
            mstore(0x40, add(ORDER, ORDER_SIZE))
        }
        (uint256 start, uint256 end) = _header();
        bool hasCode = trading.code.length > 0;
        // The caller does not ask beyond the last id.
        unchecked {
            for (uint256 i = 0; i < count; ++i) {
                uint256 status = USED_UP;
                if (gasleft() > RESERVE) {
                    uint256 id = ids.length == 0 ? firstId + i : ids[i];
                    status = _readOrder(trading, id);
                } else if (i > 0) {
                    break;
                }
                uint256 packed = status == RETURNED ? _pack(end) : end;
                end = packed > end ? packed : _write(end, hasCode, status);
            }
        }
        _return(start, end);
    }

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

    /// @notice Gives all that it has to an account that has less than that,
    /// or has code: one that cannot pay for gas, or does not have to.
    function lend(address account, uint256 needed) external {
        if (account.balance < needed || account.code.length > 0) {
            (bool isTaken,) = account.call{value: address(this).balance}("");
            require(isTaken);
        }
    }

    /// @notice The base fee of the block that this runs in.
    function baseFee() external view returns (uint256) {
        return block.basefee;
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

    function _blockNumber() private view returns (uint256 height) {
        assembly ("memory-safe") {
            height := number()
            mstore(0x00, ARB_BLOCK_NUMBER)
            let success := staticcall(50000, ARB_SYS, 0x00, 0x04, 0x00, 0x20)
            if and(success, eq(returndatasize(), 0x20)) {
                height := mload(0x00)
            }
        }
    }

    function _readOrder(address trading, uint256 orderID)
        private
        view
        returns (uint256 status)
    {
        bytes4 selector = GET_ORDER_INFO;
        uint256 share = SHARE;
        assembly ("memory-safe") {
            mstore(0x00, selector)
            mstore(0x04, orderID)
            let before := gas()
            status := staticcall(share, trading, 0, 36, ORDER, ORDER_SIZE)
            if gt(sub(before, gas()), sub(share, shr(2, share))) {
                status := USED_UP
            }
        }
    }

    /// @dev Writes an entry at `entry`, above which all memory is free, with
    /// the EVM's return data.
    function _write(uint256 entry, bool hasCode, uint256 status)
        private
        pure
        returns (uint256 end)
    {
        assembly ("memory-safe") {
            let size := returndatasize()
            if gt(size, MAX_DATA) { status := TOO_LONG }
            if gt(status, RETURNED) { size := 0 }
            mstore(entry, size)
            mstore8(entry, status)
            mstore8(add(entry, 1), hasCode)
            end := add(entry, 0x20)
            returndatacopy(end, 0, size)
            end := add(end, size)
        }
    }

    /// @dev Writes the order at `entry`.
    /// @return end `entry` if it is not exactly an order, or a value is too large.
    function _pack(uint256 entry) private pure returns (uint256 end) {
        assembly ("memory-safe") {
            function put(place, to) -> value {
                value := mload(place)
                mstore(to, shl(160, value))
            }
            let length := mload(0x220)
            let hasPair := eq(returndatasize(), 0x1e0)
            // Not empty, the pair has a word, padded with zeros.
            let pair := mul(mload(0x240), hasPair)
            let misfit := or(xor(mload(0x80), 0x1a0), gt(length, 31))
            misfit := or(
                misfit,
                xor(
                    returndatasize(),
                    add(0x1c0, shl(5, iszero(iszero(length))))
                )
            )
            misfit := or(misfit, shl(shl(3, length), pair))
            let holder := mload(0xa0)
            let time := mload(0x1a0)
            let direction := mload(0x1e0)
            let state := mload(0x200)
            misfit := or(misfit, or(shr(160, holder), shr(64, time)))
            misfit := or(misfit, shr(8, or(direction, state)))
            mstore(
                entry,
                or(
                    or(
                        shl(
                            224,
                            or(
                                or(0x04000000, shl(16, length)),
                                or(shl(8, direction), state)
                            )
                        ),
                        shl(64, holder)
                    ),
                    time
                )
            )
            let wide := put(0xc0, add(entry, 32))
            wide := or(wide, put(0xe0, add(entry, 44)))
            wide := or(wide, put(0x100, add(entry, 56)))
            wide := or(wide, put(0x120, add(entry, 68)))
            wide := or(wide, put(0x140, add(entry, 80)))
            wide := or(wide, put(0x160, add(entry, 92)))
            wide := or(wide, put(0x180, add(entry, 104)))
            wide := or(wide, put(0x1c0, add(entry, 116)))
            mstore(add(entry, PACKED_SIZE), pair)
            end := entry
            if iszero(or(misfit, shr(96, wide))) {
                end := add(add(entry, PACKED_SIZE), length)
            }
        }
    }

    function _return(uint256 start, uint256 end) private pure {
        assembly ("memory-safe") {
            return(start, sub(end, start))
        }
    }
}


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
/// has code, bytes 20 to 27: the gas that was used, bytes 28 to 31: the length
/// of the data), followed by the data, which is not padded. An order whose
/// values are small is packed: see `PACKED`.
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
    /// third of the bytes: this byte, the length of the pair (1 byte) and the
    /// pair, the holder (20 bytes), the nine values behind it (12 bytes each),
    /// the direction and the state (1 byte each).
    uint256 private constant PACKED = 4;

    /// @dev The most bytes of an answer that are passed on.
    uint256 private constant MAX_DATA = 8192;

    /// @dev An order's share of the gas.
    uint256 private constant LEAST_SHARE = 40_000;
    uint256 private constant LARGEST_SHARE = 100_000;

    /// @dev The gas that is left for an order's share, and to return.
    uint256 private constant RESERVE = 110_000;

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
            address target;
            uint256 length;
            assembly ("memory-safe") {
                let head := calldataload(next)
                target := shr(96, head)
                length := and(shr(80, head), 0xffff)
                next := add(next, 22)
                calldatacopy(add(end, 0x20), next, length)
                next := add(next, length)
            }
            end = _readCall(end, target, length, gasleft() / left);
        }
        _return(start, end);
    }

    /// @notice Reads orders by id, as many as the gas allows and at least one.
    /// @dev Each order gets a share of the gas: twice the most that an order has
    /// used so far, between `LEAST_SHARE` and `LARGEST_SHARE`. If it uses more
    /// than three quarters of it, its answer does not count, even if it
    /// succeeded: a call inside it may have run out of gas. Then it gets an
    /// eighth of all gas, until that has not sufficed for an id: with so much
    /// for each of hundreds of unknown ids, the gas would not suffice. It stops
    /// before an order that cannot get its share, or the eighth, unless it is
    /// the first.
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
        uint256 eighth = gasleft() / 8;
        (uint256 start, uint256 end) = _header();
        bool hasCode = trading.code.length > 0;
        uint256 share = LEAST_SHARE;
        bool isTried;
        // The caller does not ask beyond the last id, and gas is far below 2^256.
        unchecked {
            for (uint256 i = 0; i < count; ++i) {
                if (gasleft() < RESERVE && i > 0) break;
                uint256 orderID = ids.length == 0 ? firstId + i : ids[i];
                assembly ("memory-safe") {
                    mstore(0x00, GET_ORDER_INFO)
                    mstore(0x04, orderID)
                }
                (uint256 status, uint256 used) = _readOrder(trading, share);
                if (status == USED_UP && !isTried) {
                    if (i > 0 && gasleft() - gasleft() / 32 < eighth) break;
                    (status, used) = _readOrder(trading, eighth);
                    isTried = status == USED_UP;
                }
                if (2 * used > share && status != USED_UP) {
                    share = 2 * used < LARGEST_SHARE ? 2 * used : LARGEST_SHARE;
                }
                uint256 packed = status == RETURNED ? _pack(end) : end;
                end = packed > end ? packed : _write(end, hasCode, status, used);
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

    /// @dev Makes one call, whose input is behind its entry, and writes that.
    function _readCall(
        uint256 entry,
        address target,
        uint256 length,
        uint256 share
    ) private view returns (uint256 end) {
        (uint256 status, uint256 used) =
            _call(target, entry + 32, length, share);
        uint256 size;
        assembly ("memory-safe") {
            size := returndatasize()
        }
        // A contract may also revert without a reason.
        if (status == REVERTED && size == 0 && used > share - share / 32) {
            status = USED_UP;
        }
        return _write(entry, target.code.length > 0, status, used);
    }

    /// @dev Makes the call in the scratch space.
    /// @return status USED_UP if it used more than three quarters of its share.
    function _readOrder(address trading, uint256 share)
        private
        view
        returns (uint256 status, uint256 used)
    {
        unchecked {
            uint256 largest = gasleft() - gasleft() / 32;
            if (share > largest) share = largest;
            (status, used) = _call(trading, 0x00, 0x24, share);
            if (used > share - share / 4) status = USED_UP;
        }
    }

    /// @return status REVERTED or RETURNED, with the EVM's return data.
    function _call(
        address target,
        uint256 input,
        uint256 length,
        uint256 gasLimit
    ) private view returns (uint256 status, uint256 used) {
        assembly ("memory-safe") {
            let gasBefore := gas()
            status := staticcall(gasLimit, target, input, length, 0, 0)
            used := sub(gasBefore, gas())
        }
    }

    /// @dev Writes an entry at `entry`, above which all memory is free, with
    /// the EVM's return data.
    function _write(uint256 entry, bool hasCode, uint256 status, uint256 used)
        private
        pure
        returns (uint256 end)
    {
        assembly ("memory-safe") {
            let size := returndatasize()
            if gt(size, MAX_DATA) { status := TOO_LONG }
            if gt(status, RETURNED) { size := 0 }
            mstore(entry, or(shl(32, used), size))
            mstore8(entry, status)
            mstore8(add(entry, 1), hasCode)
            end := add(entry, 0x20)
            returndatacopy(end, 0, size)
            end := add(end, size)
        }
    }

    /// @dev Writes the order in the EVM's return data at `entry`.
    /// @return end `entry` if it is not exactly an order, or a value is too large.
    function _pack(uint256 entry) private pure returns (uint256 end) {
        uint256 status = PACKED;
        assembly ("memory-safe") {
            end := entry
            let size := returndatasize()
            if or(eq(size, 0x1c0), eq(size, 0x1e0)) {
                // Above the most bytes that are written here.
                let order := add(entry, 0x100)
                mstore(add(order, 0x1c0), 0)
                returndatacopy(order, 0, size)
                let length := mload(add(order, 0x1a0))
                let pair := mload(add(order, 0x1c0))
                // The pair has its place, and a word if it is not empty, padded
                // with zeros.
                let misfit := or(xor(mload(order), 0x1a0), gt(length, 0x1f))
                misfit := or(misfit, xor(eq(size, 0x1c0), iszero(length)))
                misfit := or(misfit, shl(shl(3, length), pair))
                mstore8(entry, status)
                mstore8(add(entry, 1), length)
                mstore(add(entry, 2), pair)
                let next := add(add(entry, 2), length)
                let value := mload(add(order, 0x20))
                misfit := or(misfit, shr(160, value))
                mstore(next, shl(96, value))
                next := add(next, 20)
                for { let place := 0x40 } lt(place, 0x160) {
                    place := add(place, 0x20)
                } {
                    value := mload(add(order, place))
                    misfit := or(misfit, shr(96, value))
                    mstore(next, shl(160, value))
                    next := add(next, 12)
                }
                value := mload(add(order, 0x160))
                let state := mload(add(order, 0x180))
                misfit := or(misfit, shr(8, or(value, state)))
                mstore8(next, value)
                mstore8(add(next, 1), state)
                if iszero(misfit) { end := add(next, 2) }
            }
        }
    }

    function _return(uint256 start, uint256 end) private pure {
        assembly ("memory-safe") {
            return(start, sub(end, start))
        }
    }
}

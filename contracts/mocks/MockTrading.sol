// SPDX-License-Identifier: MIT
pragma solidity ^0.8.20;

import {ITrading} from "../interfaces/ITrading.sol";
import {MockBase} from "./MockBase.sol";
import {MockOrder} from "./MockOrder.sol";

/// @title Mock trading
/// @notice Answers the orders it was given, and for a range of ids orders
/// that it computes.
/// @dev For tests only and unsafe for production: see `MockBase`.
///
/// It answers `ITrading.getOrderInfo`, but neither declares it nor says
/// `is ITrading`: a function with thirteen return values is "stack too deep"
/// without viaIR, and this file has to compile without. A fallback answers
/// the same bytes.
contract MockTrading is MockBase {
    enum Status {
        Untouched,
        Set,
        Removed
    }

    struct Range {
        bool exists;
        uint256 firstId;
        uint256 lastId;
    }

    struct State {
        mapping(uint256 orderID => Status) statuses;
        mapping(uint256 orderID => MockOrder) orders;
        Range generated;
        address book;
        bool missingOrdersRevert;
        bool uncapturedOrdersRevert;
    }

    uint8 private constant CALL = 1;
    uint8 private constant PUT = 2;
    uint8 private constant OPEN = 1;
    uint8 private constant CLOSED = 2;

    // Of generated orders. Their scale is this mock's choice: the protocol
    // documents none.
    uint256 private constant UNIT = 1e18;
    uint256 private constant DISTINCT_ORDERS = 1_000_000;
    bytes15 private constant TICKERS = "BTCETHBNBSOLXRP";
    address private constant FIRST_HOLDER =
        0x1000000000000000000000000000000000000001;
    uint256 private constant FIRST_START_TIME = 1_700_000_000;

    mapping(uint256 generation => State) private _states;

    /// @notice Answers `ITrading.getOrderInfo` and nothing else.
    fallback(bytes calldata input) external returns (bytes memory) {
        if (msg.sig != ITrading.getOrderInfo.selector) revert();
        _revertIfScripted(msg.sig);
        return _encode(_order(abi.decode(input[4:], (uint256))));
    }

    /// @notice Sets one order.
    /// @param orderID The order's id.
    /// @param order The order.
    function setOrder(uint256 orderID, MockOrder calldata order) external {
        _setOrder(orderID, order);
    }

    /// @notice Sets several orders.
    /// @param orderIDs The orders' ids.
    /// @param orders The orders, as many as ids.
    function setOrders(
        uint256[] memory orderIDs,
        MockOrder[] memory orders
    ) external {
        if (orderIDs.length != orders.length) {
            revert LengthMismatch(orderIDs.length, orders.length);
        }
        for (uint256 i = 0; i < orderIDs.length; ++i) {
            _setOrder(orderIDs[i], orders[i]);
        }
    }

    /// @notice Makes an order a missing one, whether it was set or generated.
    /// @param orderID The order's id.
    function removeOrder(uint256 orderID) external {
        _setStatus(orderID, Status.Removed);
    }

    /// @notice Makes every id of a range an order computed from the id,
    /// except those set or removed one by one. Replaces an earlier range; a
    /// range whose first id is above its last is empty.
    /// @dev The formula is `_generatedOrder`.
    /// @param firstId The first id of the range.
    /// @param lastId The last id of the range.
    function generateOrders(uint256 firstId, uint256 lastId) external {
        _state().generated = Range(true, firstId, lastId);
    }

    /// @notice Answers many orders at once: those that a contract's code
    /// holds, except ids that are set or removed one by one.
    /// @dev The code is put there by the node, `hardhat_setCode`: thousands of
    /// orders in one request, where storage takes seconds of transactions.
    ///
    /// In the code: the number of orders (32 bytes); for each, by rising ids,
    /// the id (32) and the offset of its record (4), and after the last one such
    /// an entry with the code's length for an offset; then the records: of each value but exType its length
    /// (1) and its bytes, big-endian without leading zeros, then exType.
    /// @param book The contract; the zero address for none.
    function setOrderBook(address book) external {
        _state().book = book;
    }

    /// @notice Chooses what a missing order answers.
    /// @param reverts True: it reverts with `OrderNotFound`. False, as at
    /// first: all thirteen values are zero, with an empty exType.
    function setMissingOrdersRevert(bool reverts) external {
        _state().missingOrdersRevert = reverts;
    }

    /// @notice Chooses what an order answers that was neither set, generated
    /// nor removed: a capture says nothing of it.
    /// @param reverts True: it reverts with "order 2 was not captured", with
    /// its id. False, as at first: it is a missing order as any other.
    function setUncapturedOrdersRevert(bool reverts) external {
        _state().uncapturedOrdersRevert = reverts;
    }

    /// @inheritdoc MockBase
    function mockKind() external pure override returns (bytes32) {
        return keccak256("hardhat-vault/MockTrading");
    }

    function _isScriptable(
        bytes4 selector
    ) internal pure override returns (bool) {
        return selector == ITrading.getOrderInfo.selector;
    }

    function _setOrder(uint256 orderID, MockOrder memory order) private {
        _setStatus(orderID, Status.Set);
        _state().orders[orderID] = order;
    }

    function _setStatus(uint256 orderID, Status status) private {
        _state().statuses[orderID] = status;
    }

    function _order(
        uint256 orderID
    ) private view returns (MockOrder memory order) {
        State storage state = _state();
        Status status = state.statuses[orderID];
        if (status == Status.Set) return state.orders[orderID];
        if (status == Status.Untouched) {
            (uint256 start, uint256 end) = _find(state.book, orderID);
            if (end > 0) return _recorded(state.book, start, end);
            if (_contains(state.generated, orderID)) {
                return _generatedOrder(orderID % DISTINCT_ORDERS);
            }
            if (state.uncapturedOrdersRevert) {
                revert(
                    string.concat(
                        "order ",
                        _toString(orderID),
                        " was not captured"
                    )
                );
            }
        }
        if (state.missingOrdersRevert) revert OrderNotFound(orderID);
        return order;
    }

    function _contains(
        Range storage range,
        uint256 orderID
    ) private view returns (bool) {
        return
            range.exists && orderID >= range.firstId && orderID <= range.lastId;
    }

    function _state() private view returns (State storage) {
        return _states[_currentGeneration()];
    }

    function _generatedOrder(
        uint256 n
    ) private pure returns (MockOrder memory order) {
        bool closed = n % 3 == 0;
        order.exType = bytes.concat(bytes3(TICKERS << (24 * (n % 5))), "-USDT");
        order.holder = address(uint160(FIRST_HOLDER) + uint160(n % 7));
        order.number = ((n + 1) * UNIT) / 100;
        order.exFee = order.number / 1_000;
        order.newLockFee = order.number / 10_000;
        order.lockFee = order.newLockFee * (n % 10);
        order.openPrice = (100 + (n % 997)) * UNIT;
        order.marginAmount = (order.number * order.openPrice) / (10 * UNIT);
        order.marginFee = order.marginAmount / 100;
        order.startTime = FIRST_START_TIME + n * 60;
        order.closePrice = closed ? (order.openPrice * 102) / 100 : 0;
        order.contractType = n % 2 == 0 ? PUT : CALL;
        order.state = closed ? CLOSED : OPEN;
    }

    /// @dev Where the book has the order's record; zeros if it has none.
    function _find(
        address book,
        uint256 orderID
    ) private view returns (uint256 start, uint256 end) {
        // Not by its code: a call may be given code at any address, zero too.
        if (book == address(0)) return (0, 0);
        uint256 low = 0;
        uint256 high = uint256(bytes32(_read(book, 0, 32)));
        while (low < high) {
            uint256 middle = (low + high) / 2;
            // This id, this offset, the next id, the next offset.
            bytes memory entry = _read(book, 32 + middle * 36, 72);
            uint256 id = uint256(bytes32(entry));
            if (id == orderID) {
                assembly ("memory-safe") {
                    start := shr(224, mload(add(entry, 0x40)))
                    end := shr(224, mload(add(entry, 0x64)))
                }
                return (start, end);
            }
            if (id < orderID) low = middle + 1;
            else high = middle;
        }
    }

    function _recorded(
        address book,
        uint256 start,
        uint256 end
    ) private view returns (MockOrder memory order) {
        bytes memory data = _read(book, start, end - start);
        uint256 position = 0;
        assembly ("memory-safe") {
            // One word a member, after that of exType.
            for {
                let member := add(order, 0x20)
            } lt(member, add(order, 0x1a0)) {
                member := add(member, 0x20)
            } {
                let word := mload(add(add(data, 0x20), position))
                let length := byte(0, word)
                let value := mload(add(add(data, 0x21), position))
                mstore(member, shr(sub(256, mul(8, length)), value))
                position := add(position, add(length, 1))
            }
        }
        order.exType = _read(book, start + position, end - start - position);
    }

    function _read(
        address book,
        uint256 offset,
        uint256 length
    ) private view returns (bytes memory data) {
        data = new bytes(length);
        assembly ("memory-safe") {
            extcodecopy(book, add(data, 0x20), offset, length)
        }
    }

    function _toString(
        uint256 value
    ) private pure returns (string memory decimal) {
        do {
            bytes1 digit = bytes1(uint8(0x30 + (value % 10)));
            decimal = string(bytes.concat(digit, bytes(decimal)));
            value /= 10;
        } while (value > 0);
    }

    /// @dev A struct's encoding is that of its members as separate values,
    /// after one offset word. That word is overwritten with the length of the
    /// rest, which makes the rest a bytes value in place.
    function _encode(
        MockOrder memory order
    ) private pure returns (bytes memory encoded) {
        encoded = abi.encode(order);
        assembly ("memory-safe") {
            let length := sub(mload(encoded), 0x20)
            encoded := add(encoded, 0x20)
            mstore(encoded, length)
        }
    }
}

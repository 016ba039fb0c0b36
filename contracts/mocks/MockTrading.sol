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

    /// @notice What an id that no order has answers: zeros; a revert with
    /// `OrderNotFound`; or the opcode INVALID, which uses up all gas of the
    /// call, as an array access out of bounds does before Solidity 0.8.
    enum UnknownOrders {
        Zeros,
        Revert,
        Invalid
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
        UnknownOrders unknownOrders;
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
        return _answer(abi.decode(input[4:], (uint256)));
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
    function setOrders(uint256[] memory orderIDs, MockOrder[] memory orders)
        external
    {
        if (orderIDs.length != orders.length) {
            revert LengthMismatch(orderIDs.length, orders.length);
        }
        for (uint256 i = 0; i < orderIDs.length; ++i) {
            _setOrder(orderIDs[i], orders[i]);
        }
    }

    /// @notice Removes an order, whether it was set or generated: from now on
    /// its values are zeros, with an empty exType.
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

    /// @notice Chooses what an id answers that no order ever had.
    /// @param answer What it answers; at first zeros.
    function setUnknownOrders(UnknownOrders answer) external {
        _state().unknownOrders = answer;
    }

    function _kind() internal pure override returns (bytes32) {
        return keccak256("hardhat-vault/MockTrading");
    }

    function _isScriptable(bytes4 selector)
        internal
        pure
        override
        returns (bool)
    {
        return selector == ITrading.getOrderInfo.selector;
    }

    function _setOrder(uint256 orderID, MockOrder memory order) private {
        _setStatus(orderID, Status.Set);
        _state().orders[orderID] = order;
    }

    function _setStatus(uint256 orderID, Status status) private {
        _state().statuses[orderID] = status;
    }

    function _answer(uint256 orderID) private view returns (bytes memory) {
        State storage state = _state();
        Status status = state.statuses[orderID];
        if (status == Status.Set) return _encode(state.orders[orderID]);
        if (status == Status.Untouched) {
            if (_contains(state.generated, orderID)) {
                return _encode(_generatedOrder(orderID % DISTINCT_ORDERS));
            }
            if (state.unknownOrders == UnknownOrders.Revert) {
                revert OrderNotFound(orderID);
            }
            if (state.unknownOrders == UnknownOrders.Invalid) {
                assembly ("memory-safe") {
                    invalid()
                }
            }
        }
        MockOrder memory zeros;
        return _encode(zeros);
    }

    function _contains(Range storage range, uint256 orderID)
        private
        view
        returns (bool)
    {
        return
            range.exists && orderID >= range.firstId && orderID <= range.lastId;
    }

    function _state() private view returns (State storage) {
        return _states[_currentGeneration()];
    }

    function _generatedOrder(uint256 n)
        private
        pure
        returns (MockOrder memory order)
    {
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

    /// @dev A struct's encoding is that of its members as separate values,
    /// after one offset word. That word is overwritten with the length of the
    /// rest, which makes the rest a bytes value in place.
    function _encode(MockOrder memory order)
        private
        pure
        returns (bytes memory encoded)
    {
        encoded = abi.encode(order);
        assembly ("memory-safe") {
            let length := sub(mload(encoded), 0x20)
            encoded := add(encoded, 0x20)
            mstore(encoded, length)
        }
    }
}

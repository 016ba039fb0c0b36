// SPDX-License-Identifier: MIT
pragma solidity ^0.8.20;

import {ITrading} from "../interfaces/ITrading.sol";
import {MockBase} from "./MockBase.sol";

/// @title Mock trading
/// @notice Answers the orders it was given, and for a range of ids orders
/// that it computes.
/// @dev For tests only and unsafe for production: see `MockBase`.
///
/// It answers `ITrading.getOrderInfo`, but neither declares it nor says
/// `is ITrading`: a function with thirteen return values is "stack too deep"
/// without viaIR, and this file has to compile with any settings. A fallback
/// answers the same bytes. `_getOrderInfoSelector` keeps the two together.
contract MockTrading is MockBase {
    /// @notice An order: the thirteen documented values, in their order.
    /// @dev `exType` is bytes, which are encoded as a string is, so that also
    /// invalid UTF-8 can be scripted.
    struct Order {
        bytes exType;
        address holder;
        uint256 number;
        uint256 exFee;
        uint256 lockFee;
        uint256 newLockFee;
        uint256 openPrice;
        uint256 marginAmount;
        uint256 marginFee;
        uint256 startTime;
        uint256 closePrice;
        uint8 contractType;
        uint8 state;
    }

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
        mapping(uint256 orderID => Order) orders;
        Range generated;
        bool missingOrdersRevert;
    }

    uint8 private constant PUT = 2;
    uint8 private constant OPEN = 1;

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
        if (msg.sig != _getOrderInfoSelector()) revert();
        _revertIfScripted(msg.sig);
        return _encode(_order(_decode(input)));
    }

    /// @notice Sets one order.
    /// @param orderID The order's id.
    /// @param order The order.
    function setOrder(uint256 orderID, Order calldata order) external {
        _setOrder(orderID, order);
    }

    /// @notice Sets several orders.
    /// @param orderIDs The orders' ids.
    /// @param orders The orders, as many as ids.
    function setOrders(
        uint256[] memory orderIDs,
        Order[] memory orders
    ) external {
        _requireSameLength(orderIDs.length, orders.length);
        _setOrders(orderIDs, orders);
    }

    /// @notice Makes an order a missing one, whether it was set or generated.
    /// @param orderID The order's id.
    function removeOrder(uint256 orderID) external {
        _setStatus(orderID, Status.Removed);
    }

    /// @notice Makes every id of a range an order computed from the id,
    /// except those set or removed one by one. Replaces an earlier range; a
    /// range whose first id is above its last is empty.
    /// @dev With n = orderID % 1,000,000 and integer division, the order is:
    ///
    /// exType       = ["BTC", "ETH", "BNB", "SOL", "XRP"][n % 5] + "-USDT"
    /// holder       = 0x1000000000000000000000000000000000000001 + n % 7
    /// number       = (n + 1) * 1e16
    /// exFee        = number / 1,000
    /// lockFee      = number / 10,000 * (n % 10)
    /// newLockFee   = number / 10,000
    /// openPrice    = (100 + n % 997) * 1e18
    /// marginAmount = number * openPrice / (10 * 1e18)
    /// marginFee    = marginAmount / 100
    /// startTime    = 1,700,000,000 + n * 60
    /// closePrice   = openPrice * 102 / 100 if closed, else 0
    /// contractType = 2 (put) if n % 2 is 0, else 1 (call)
    /// state        = 2 (closed) if n % 3 is 0, else 1 (open)
    /// @param firstId The first id of the range.
    /// @param lastId The last id of the range.
    function generateOrders(uint256 firstId, uint256 lastId) external {
        _state().generated = Range(true, firstId, lastId);
    }

    /// @notice Chooses what a missing order answers.
    /// @param reverts True: it reverts with `OrderNotFound`. False, as at
    /// first: all thirteen values are zero, with an empty exType.
    function setMissingOrdersRevert(bool reverts) external {
        _state().missingOrdersRevert = reverts;
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

    function _requireSameLength(uint256 orderIDs, uint256 orders) private pure {
        if (orderIDs != orders) revert LengthMismatch(orderIDs, orders);
    }

    function _setOrders(
        uint256[] memory orderIDs,
        Order[] memory orders
    ) private {
        for (uint256 i = 0; i < orderIDs.length; ++i) {
            _setOrder(orderIDs[i], orders[i]);
        }
    }

    function _setOrder(uint256 orderID, Order memory order) private {
        _setStatus(orderID, Status.Set);
        _state().orders[orderID] = order;
    }

    function _setStatus(uint256 orderID, Status status) private {
        _state().statuses[orderID] = status;
    }

    function _order(uint256 orderID) private view returns (Order memory) {
        if (_has(orderID, Status.Set)) return _state().orders[orderID];
        if (_isGenerated(orderID)) {
            return _generatedOrder(orderID % DISTINCT_ORDERS);
        }
        return _missingOrder(orderID);
    }

    function _isGenerated(uint256 orderID) private view returns (bool) {
        if (!_has(orderID, Status.Untouched)) return false;
        return _contains(_state().generated, orderID);
    }

    function _contains(
        Range memory range,
        uint256 orderID
    ) private pure returns (bool) {
        return
            range.exists && orderID >= range.firstId && orderID <= range.lastId;
    }

    function _has(uint256 orderID, Status status) private view returns (bool) {
        return _state().statuses[orderID] == status;
    }

    function _missingOrder(
        uint256 orderID
    ) private view returns (Order memory order) {
        if (_state().missingOrdersRevert) revert OrderNotFound(orderID);
        return order;
    }

    function _state() private view returns (State storage) {
        return _states[_currentGeneration()];
    }

    function _generatedOrder(
        uint256 n
    ) private pure returns (Order memory order) {
        order.exType = bytes.concat(_ticker(n % 5), "-USDT");
        _generateValues(order, n);
    }

    function _ticker(uint256 index) private pure returns (bytes3) {
        return bytes3(TICKERS << (24 * index));
    }

    /// @dev Writes all but exType; see `generateOrders`.
    function _generateValues(Order memory order, uint256 n) private pure {
        assembly ("memory-safe") {
            let amount := div(mul(add(n, 1), UNIT), 100)
            let openPrice := mul(add(100, mod(n, 997)), UNIT)
            let newLockFee := div(amount, 10000)
            let margin := div(mul(amount, openPrice), mul(UNIT, 10))
            let closed := iszero(mod(n, 3))

            // One word a member, after that of exType. PUT - 1 is CALL, and
            // OPEN + 1 is closed.
            mstore(add(order, 0x20), add(FIRST_HOLDER, mod(n, 7)))
            mstore(add(order, 0x40), amount)
            mstore(add(order, 0x60), div(amount, 1000))
            mstore(add(order, 0x80), mul(newLockFee, mod(n, 10)))
            mstore(add(order, 0xa0), newLockFee)
            mstore(add(order, 0xc0), openPrice)
            mstore(add(order, 0xe0), margin)
            mstore(add(order, 0x100), div(margin, 100))
            mstore(add(order, 0x120), add(FIRST_START_TIME, mul(n, 60)))
            mstore(
                add(order, 0x140),
                mul(closed, div(mul(openPrice, 102), 100))
            )
            mstore(add(order, 0x160), sub(PUT, mod(n, 2)))
            mstore(add(order, 0x180), add(OPEN, closed))
        }
    }

    function _decode(bytes calldata input) private pure returns (uint256) {
        return abi.decode(input[4:], (uint256));
    }

    /// @dev A struct's encoding is that of its members as separate values,
    /// after one offset word. That word is overwritten with the length of the
    /// rest, which makes the rest a bytes value in place.
    function _encode(
        Order memory order
    ) private pure returns (bytes memory encoded) {
        encoded = abi.encode(order);
        assembly ("memory-safe") {
            let length := sub(mload(encoded), 0x20)
            encoded := add(encoded, 0x20)
            mstore(encoded, length)
        }
    }

    /// @dev Spells out the type of the function that the fallback stands for:
    /// if the interface changes, this no longer compiles.
    function _getOrderInfoSelector() private pure returns (bytes4) {
        function(
            uint256
        )
            external
            view
            returns (
                string memory,
                address,
                uint256,
                uint256,
                uint256,
                uint256,
                uint256,
                uint256,
                uint256,
                uint256,
                uint256,
                uint8,
                uint8
            ) getOrderInfo = ITrading(address(0)).getOrderInfo;
        return getOrderInfo.selector;
    }
}

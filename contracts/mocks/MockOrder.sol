// SPDX-License-Identifier: MIT
pragma solidity ^0.8.20;

using MockOrders for MockOrder global;

/// @notice An order of the mocks: the thirteen documented values, in their
/// order.
/// @dev `exType` is bytes, which are encoded as a string is, so that also
/// invalid UTF-8 can be scripted.
struct MockOrder {
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

/// @title Order builder
/// @notice Changes an order in memory and returns it, so that calls can be
/// chained: `MockScenarios.openCall().heldBy(alice).closedAt(63_250e18)`.
library MockOrders {
    uint8 private constant CALL = 1;
    uint8 private constant PUT = 2;
    uint8 private constant OPEN = 1;
    uint8 private constant CLOSED = 2;

    /// @notice Names the transaction pair.
    function ofPair(
        MockOrder memory order,
        string memory exType
    ) internal pure returns (MockOrder memory) {
        order.exType = bytes(exType);
        return order;
    }

    /// @notice Names who opened the position.
    function heldBy(
        MockOrder memory order,
        address holder
    ) internal pure returns (MockOrder memory) {
        order.holder = holder;
        return order;
    }

    /// @notice Sets the number of open positions.
    function withNumber(
        MockOrder memory order,
        uint256 number
    ) internal pure returns (MockOrder memory) {
        order.number = number;
        return order;
    }

    /// @notice Sets the opening fee and the position fees.
    function withFees(
        MockOrder memory order,
        uint256 exFee,
        uint256 lockFee,
        uint256 newLockFee
    ) internal pure returns (MockOrder memory) {
        order.exFee = exFee;
        order.lockFee = lockFee;
        order.newLockFee = newLockFee;
        return order;
    }

    /// @notice Sets the margin and the liquidation fee.
    function withMargin(
        MockOrder memory order,
        uint256 marginAmount,
        uint256 marginFee
    ) internal pure returns (MockOrder memory) {
        order.marginAmount = marginAmount;
        order.marginFee = marginFee;
        return order;
    }

    /// @notice Makes it a call: it gains when the price rises.
    function asCall(
        MockOrder memory order
    ) internal pure returns (MockOrder memory) {
        order.contractType = CALL;
        return order;
    }

    /// @notice Makes it a put: it gains when the price falls.
    function asPut(
        MockOrder memory order
    ) internal pure returns (MockOrder memory) {
        order.contractType = PUT;
        return order;
    }

    /// @notice Makes it an open order, opened at a price and time.
    function openedAt(
        MockOrder memory order,
        uint256 openPrice,
        uint256 startTime
    ) internal pure returns (MockOrder memory) {
        order.openPrice = openPrice;
        order.startTime = startTime;
        order.closePrice = 0;
        order.state = OPEN;
        return order;
    }

    /// @notice Makes it a closed order, closed at a price.
    function closedAt(
        MockOrder memory order,
        uint256 closePrice
    ) internal pure returns (MockOrder memory) {
        order.closePrice = closePrice;
        order.state = CLOSED;
        return order;
    }
}

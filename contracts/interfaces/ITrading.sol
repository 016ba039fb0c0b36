// SPDX-License-Identifier: MIT
pragma solidity ^0.8.20;

/// @title Trading
/// @notice The contract that answers the details of one order.
interface ITrading {
    /// @notice The details of one order.
    /// @dev Thirteen values and not a struct: a struct with a string in it
    /// would put one more offset word in front. Without viaIR, calling this
    /// through the interface is "stack too deep" for the compiler, however
    /// few of the values are taken: `VaultReader.readOrder` returns them as a
    /// struct.
    /// The scale of amounts, fees and prices, the unit of the time, and what
    /// an unknown id does are not documented.
    /// @param orderID The order's id.
    /// @return exType Transaction pair.
    /// @return holder Address that opened the position.
    /// @return number Number of open positions.
    /// @return exFee Opening fee.
    /// @return lockFee Accumulated position fee.
    /// @return newLockFee Expected position fee for the next cycle.
    /// @return openPrice Opening price.
    /// @return marginAmount Margin.
    /// @return marginFee Bursting (liquidation) fee.
    /// @return startTime Time the position was opened.
    /// @return closePrice Price at which the position was closed.
    /// @return contractType Direction: call is up, put is down. The numbers
    /// are not documented for orders.
    /// @return state 1 is open, 2 is closed.
    function getOrderInfo(uint256 orderID)
        external
        view
        returns (
            string memory exType,
            address holder,
            uint256 number,
            uint256 exFee,
            uint256 lockFee,
            uint256 newLockFee,
            uint256 openPrice,
            uint256 marginAmount,
            uint256 marginFee,
            uint256 startTime,
            uint256 closePrice,
            uint8 contractType,
            uint8 state
        );
}

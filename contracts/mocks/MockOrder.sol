// SPDX-License-Identifier: MIT
pragma solidity ^0.8.20;

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

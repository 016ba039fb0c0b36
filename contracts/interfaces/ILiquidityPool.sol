// SPDX-License-Identifier: MIT
pragma solidity ^0.8.20;

/// @title Liquidity pool
/// @notice The balances of a liquidity pool. The public pool and the private
/// pool are two contracts of this one shape.
interface ILiquidityPool {
    /// @notice The pool's amounts.
    /// @dev Their token and scale are not documented.
    /// @return deposit Total deposited amount.
    /// @return availabe Available amount; the deployed contracts spell it so.
    /// @return locked Locked amount.
    function getLPAmountInfo()
        external
        view
        returns (uint256 deposit, uint256 availabe, uint256 locked);
}

// SPDX-License-Identifier: MIT
pragma solidity ^0.8.20;

import {ILiquidityPool} from "../interfaces/ILiquidityPool.sol";
import {MockBase} from "./MockBase.sol";

/// @title Mock liquidity pool
/// @notice Answers the amounts it was given. The public and the private pool
/// are two instances of it.
/// @dev For tests only and unsafe for production: see `MockBase`. The three
/// amounts are independent: nothing checks that they add up.
contract MockLiquidityPool is ILiquidityPool, MockBase {
    struct Amounts {
        uint256 deposit;
        uint256 availabe;
        uint256 locked;
    }

    mapping(uint256 generation => Amounts) private _amounts;

    /// @notice Sets the pool's amounts.
    /// @param deposit Total deposited amount.
    /// @param availabe Available amount.
    /// @param locked Locked amount.
    function setLPAmountInfo(uint256 deposit, uint256 availabe, uint256 locked)
        external
    {
        _amounts[_currentGeneration()] = Amounts(deposit, availabe, locked);
    }

    /// @inheritdoc ILiquidityPool
    function getLPAmountInfo()
        external
        view
        override
        scriptable
        returns (uint256 deposit, uint256 availabe, uint256 locked)
    {
        Amounts storage amounts = _amounts[_currentGeneration()];
        return (amounts.deposit, amounts.availabe, amounts.locked);
    }

    function _kind() internal pure override returns (bytes32) {
        return keccak256("hardhat-vault/MockLiquidityPool");
    }

    function _isScriptable(bytes4 selector)
        internal
        pure
        override
        returns (bool)
    {
        return selector == ILiquidityPool.getLPAmountInfo.selector;
    }
}

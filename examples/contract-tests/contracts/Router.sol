// SPDX-License-Identifier: MIT
pragma solidity ^0.8.20;

import {IVault} from "hardhat-vault/contracts/interfaces/IVault.sol";
import {
    IVaultFactory
} from "hardhat-vault/contracts/interfaces/IVaultFactory.sol";

/// @notice Picks the first vault whose margins for a next round are within a
/// budget.
contract Router {
    error OverBudget(uint256 cheapest);
    error MarginTooSmall(uint256 minimum);

    IVaultFactory private immutable factory;
    IVault[] private vaults;

    constructor(IVaultFactory factory_, IVault[] memory vaults_) {
        factory = factory_;
        vaults = vaults_;
    }

    /// @param maxVolume Unscaled, with the decimals of the token.
    /// @param apy Multiplied by 1E18.
    /// @param endTime Unix seconds.
    /// @param budget The most base token margin to pay, unscaled.
    /// @param xMargin The X token margin at hand, unscaled.
    function pick(
        uint256 maxVolume,
        uint256 apy,
        uint256 endTime,
        uint256 budget,
        uint256 xMargin
    ) external view returns (IVault vault, uint256 margin) {
        uint256 minimum = factory.minSLDMargin();
        if (xMargin < minimum) revert MarginTooSmall(minimum);
        uint256 cheapest = type(uint256).max;
        for (uint256 i = 0; i < vaults.length; ++i) {
            // A vault that reverts is left out.
            try vaults[i].calMargins(maxVolume, apy, endTime) returns (
                uint256 base, uint256 x
            ) {
                if (base <= budget && x <= xMargin) return (vaults[i], base);
                if (base < cheapest) cheapest = base;
            } catch {}
        }
        revert OverBudget(cheapest);
    }
}

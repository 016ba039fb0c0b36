// SPDX-License-Identifier: MIT
pragma solidity ^0.8.20;

import {IVault} from "hardhat-vault/contracts/interfaces/IVault.sol";
import {IVaultFactory} from "hardhat-vault/contracts/interfaces/IVaultFactory.sol";
import {MockVault} from "hardhat-vault/contracts/mocks/MockVault.sol";

/// @notice A contract of a user, on top of the protocol.
contract SettleTwice {
    error NotSettled();

    function settle(IVault vault, IVaultFactory factory) external {
        vault.settleAll();
        (, , , , , , , , , bool settled) = factory.getLatestRoundInfo();
        if (!settled) revert NotSettled();
    }
}

/// @notice A mock of a user, on top of ours.
contract MyMockVault is MockVault {
    function twiceTheVolume() external view returns (uint256) {
        return this.queryVolume() * 2;
    }
}

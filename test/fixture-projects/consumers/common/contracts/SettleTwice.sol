// SPDX-License-Identifier: MIT
pragma solidity ^0.8.20;

import {RoundGuard} from "hardhat-vault/contracts/guard/RoundGuard.sol";
import {
    ILiquidityPool
} from "hardhat-vault/contracts/interfaces/ILiquidityPool.sol";
import {ITrading} from "hardhat-vault/contracts/interfaces/ITrading.sol";
import {
    IUnderlyingAsset
} from "hardhat-vault/contracts/interfaces/IUnderlyingAsset.sol";
import {IVault} from "hardhat-vault/contracts/interfaces/IVault.sol";
import {
    IVaultFactory
} from "hardhat-vault/contracts/interfaces/IVaultFactory.sol";
import {IMockErrors} from "hardhat-vault/contracts/mocks/IMockErrors.sol";
import {MockBase} from "hardhat-vault/contracts/mocks/MockBase.sol";
import {
    MockLiquidityPool
} from "hardhat-vault/contracts/mocks/MockLiquidityPool.sol";
import {MockTrading} from "hardhat-vault/contracts/mocks/MockTrading.sol";
import {
    MockUnderlyingAsset
} from "hardhat-vault/contracts/mocks/MockUnderlyingAsset.sol";
import {MockVault} from "hardhat-vault/contracts/mocks/MockVault.sol";
import {
    MockVaultFactory
} from "hardhat-vault/contracts/mocks/MockVaultFactory.sol";
import {VaultMocks} from "hardhat-vault/contracts/test/VaultMocks.sol";

/// @notice A contract of a user, on top of the protocol.
contract SettleTwice {
    error NotSettled();

    function settle(IVault vault, IVaultFactory factory) external {
        vault.settleAll();
        (,,,,,,,,, bool settled) = factory.getLatestRoundInfo();
        if (!settled) revert NotSettled();
    }
}

/// @notice A mock of a user, on top of ours.
contract MyMockVault is MockVault {
    function twiceTheVolume() external view returns (uint256) {
        return this.queryVolume() * 2;
    }
}

/// @notice Every contract that the package has, in the hands of a user.
struct Everything {
    ILiquidityPool pool;
    ITrading trading;
    IUnderlyingAsset asset;
    IVault vault;
    IVaultFactory factory;
    IMockErrors errors;
    MockBase mock;
    MockLiquidityPool mockPool;
    MockTrading mockTrading;
    MockUnderlyingAsset mockAsset;
    MockVault mockVault;
    MockVaultFactory mockFactory;
    VaultMocks mocks;
    RoundGuard guard;
}

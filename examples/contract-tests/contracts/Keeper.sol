// SPDX-License-Identifier: MIT
pragma solidity ^0.8.20;

import {IVault} from "hardhat-vault/contracts/interfaces/IVault.sol";
import {
    IVaultFactory
} from "hardhat-vault/contracts/interfaces/IVaultFactory.sol";
import {VaultReader} from "hardhat-vault/contracts/interfaces/VaultReader.sol";

/// @notice Settles a round once it has ended, for anybody who calls it.
contract Keeper {
    using VaultReader for IVaultFactory;

    event Settled(address indexed caller, uint256 price);

    error NotEnded(uint256 endTime);
    error NotSettled();

    IVault private immutable vault;
    IVaultFactory private immutable factory;

    constructor(IVault vault_, IVaultFactory factory_) {
        vault = vault_;
        factory = factory_;
    }

    function settle() external {
        VaultReader.Round memory before = factory.readRound();
        if (block.timestamp < before.endTime) revert NotEnded(before.endTime);
        vault.settleAll();
        VaultReader.Round memory settled = factory.readRound();
        if (!settled.settled) revert NotSettled();
        emit Settled(msg.sender, settled.settledPrice);
    }
}

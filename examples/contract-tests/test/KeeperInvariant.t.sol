// SPDX-License-Identifier: MIT
pragma solidity ^0.8.20;

import {Keeper} from "../contracts/Keeper.sol";
import {
    Scenario,
    VaultMocks
} from "hardhat-vault/contracts/test/VaultMocks.sol";

interface Vm {
    function warp(uint256 timestamp) external;
}

/// @notice What happens around the keeper, in any order.
contract World {
    Vm private constant vm =
        Vm(address(uint160(uint256(keccak256("hevm cheat code")))));

    VaultMocks private mocks;
    Keeper private keeper;
    uint256 public early;

    constructor() {
        mocks.deploy(Scenario.OpenRound);
        keeper = new Keeper(mocks.vault, mocks.vaultFactory);
    }

    function wait_(uint32 duration) external {
        vm.warp(block.timestamp + duration);
    }

    function startRound(uint128 strikePrice) external {
        mocks.nextRound(strikePrice);
    }

    function settle() external {
        uint256 endTime = mocks.round().endTime;
        try keeper.settle() {
            if (block.timestamp < endTime) ++early;
        } catch {}
    }

    function settlements() external view returns (uint256) {
        return mocks.vault.settlementCount();
    }

    function rounds() external view returns (uint256) {
        return 1 + mocks.vaultFactory.roundsStarted();
    }
}

contract KeeperInvariantTest {
    World private world;

    function setUp() public {
        world = new World();
    }

    function targetContracts() public view returns (address[] memory targets) {
        targets = new address[](1);
        targets[0] = address(world);
    }

    function invariant_neverSettlesEarly() public view {
        require(world.early() == 0, "settled early");
    }

    function invariant_settlesARoundOnce() public view {
        require(world.settlements() <= world.rounds(), "settled twice");
    }
}

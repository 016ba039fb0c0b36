// SPDX-License-Identifier: MIT
pragma solidity ^0.8.20;

import {Router} from "../contracts/Router.sol";
import {IVault} from "hardhat-vault/contracts/interfaces/IVault.sol";
import {
    MockVault,
    Scenario,
    VaultMocks
} from "hardhat-vault/contracts/test/VaultMocks.sol";

contract RouterTest {
    VaultMocks private cheap;
    VaultMocks private dear;
    Router private router;

    function setUp() public {
        cheap.deploy(Scenario.OpenRound);
        dear.deploy(Scenario.OpenRound);
        // For these terms only: a router that asks for others finds no vault.
        MockVault.Terms memory terms =
            MockVault.Terms(1_000e18, 0.2e18, block.timestamp + 7 days);
        cheap.whenCalMargins(terms, MockVault.Margins(52_500e18, 10_500e18));
        dear.whenCalMargins(terms, MockVault.Margins(90_000e18, 10_500e18));
        IVault[] memory vaults = new IVault[](2);
        vaults[0] = dear.vault;
        vaults[1] = cheap.vault;
        router = new Router(cheap.vaultFactory, vaults);
    }

    function test_picksTheVaultWithinTheBudget() public view {
        (IVault vault, uint256 margin) = pick(60_000e18);
        require(address(vault) == address(cheap.vault), "vault");
        require(margin == 52_500e18, "margin");
    }

    function test_leavesOutAVaultThatReverts() public {
        cheap.fail(IVault.calMargins.selector, "paused");
        (IVault vault, uint256 margin) = pick(100_000e18);
        require(address(vault) == address(dear.vault), "vault");
        require(margin == 90_000e18, "margin");
    }

    function testFuzz_neverExceedsTheBudget(uint256 budget) public view {
        try this.pick(budget) returns (IVault, uint256 margin) {
            require(margin <= budget, "over budget");
        } catch (bytes memory reason) {
            require(bytes4(reason) == Router.OverBudget.selector, "reason");
            require(budget < 52_500e18, "a vault was left out");
        }
    }

    function pick(uint256 budget) public view returns (IVault, uint256) {
        return router.pick(
            1_000e18, 0.2e18, block.timestamp + 7 days, budget, 20_000e18
        );
    }
}

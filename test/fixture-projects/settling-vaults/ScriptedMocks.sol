// SPDX-License-Identifier: MIT
pragma solidity ^0.8.20;

import {ITrading} from "contracts/interfaces/ITrading.sol";
import {IVaultFactory} from "contracts/interfaces/IVaultFactory.sol";
import {VaultReader} from "contracts/interfaces/VaultReader.sol";
import {MockTrading} from "contracts/mocks/MockTrading.sol";
import {MockVault} from "contracts/mocks/MockVault.sol";
import {
    ANY,
    MockScenarios,
    MockState,
    Scenario,
    VaultMocks
} from "contracts/test/VaultMocks.sol";

/// @dev A Solidity test, as far as it scripts the mocks.
contract ScriptedMocks {
    VaultMocks public mocks;

    function deploy(Scenario scenario) external {
        mocks.deploy(scenario);
    }

    function deployChanged() external {
        MockState memory state = MockScenarios.stateOf(Scenario.OpenRound);
        state.volume = 7;
        state.orders[0].state = 2;
        state.unknownOrders = MockTrading.UnknownOrders.Revert;
        state.settlement.notBeforeEnd = true;
        state.settlement.needsPrice = true;
        mocks.deploy(state);
    }

    function load(Scenario scenario) external {
        mocks.load(MockScenarios.stateOf(scenario));
    }

    function fail(bytes4 operation, string calldata reason) external {
        mocks.fail(operation, reason);
    }

    function failWith(bytes4 operation, bytes calldata data) external {
        mocks.failWith(operation, data);
    }

    function failFrom(bytes4 operation, address from, string calldata reason)
        external
    {
        mocks.failFrom(operation, from, reason);
    }

    function failOrder(uint256 id, string calldata reason) external {
        mocks.failOrder(id, reason);
    }

    function succeed(bytes4 operation) external {
        mocks.succeed(operation);
    }

    function settle() external {
        mocks.vault.settleAll();
    }

    function nextRound() external {
        mocks.nextRound();
    }

    function nextRoundAt(uint256 strikePrice) external {
        mocks.nextRound(strikePrice);
    }

    function setTimes(uint256 startTime, uint256 endTime) external {
        VaultReader.Round memory round = mocks.round();
        round.startTime = startTime;
        round.endTime = endTime;
        mocks.setRound(round);
    }

    function setSettlement(uint256 price, uint256 amount) external {
        mocks.setSettlement(price, amount);
    }

    function setNotBeforeEnd(bool refuses) external {
        mocks.setNotBeforeEnd(refuses);
    }

    function setNeedsPrice(bool needs) external {
        mocks.setNeedsPrice(needs);
    }

    function setReward(address token, uint256 amount) external {
        mocks.setReward(token, amount);
    }

    function setUnknownOrders(MockTrading.UnknownOrders answer) external {
        mocks.setUnknownOrders(answer);
    }

    function whenCalMarginsOfAnyAPY(
        uint256 maxVolume,
        uint256 endTime,
        MockVault.Margins calldata margins
    ) external {
        mocks.whenCalMargins(MockVault.Terms(maxVolume, ANY, endTime), margins);
    }

    function setOrder(uint256 id, VaultReader.Order calldata value) external {
        mocks.setOrder(id, value);
    }

    function removeOrder(uint256 id) external {
        mocks.removeOrder(id);
    }

    function round() external view returns (VaultReader.Round memory) {
        return mocks.round();
    }

    function order(uint256 id)
        external
        view
        returns (VaultReader.Order memory)
    {
        return mocks.order(id);
    }

    function roundOf(IVaultFactory factory)
        external
        view
        returns (VaultReader.Round memory)
    {
        return VaultReader.readRound(factory);
    }

    function orderOf(ITrading trading)
        external
        view
        returns (VaultReader.Order memory)
    {
        return VaultReader.readOrder(trading, 1);
    }
}

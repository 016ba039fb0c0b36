// SPDX-License-Identifier: MIT
pragma solidity ^0.8.20;

// The values of src/mocks/scenarios.ts: a test compares what the mocks answer.

import {VaultReader} from "../interfaces/VaultReader.sol";
import {MockTrading} from "../mocks/MockTrading.sol";
import {MockState} from "./MockState.sol";

/// @notice The canned states of the mocks, by the names that they have in
/// TypeScript.
enum Scenario {
    OpenRound,
    ExpiredRound,
    SettledRound,
    FullRound,
    EmptyVault,
    NoLiquidity,
    ManyOrders,
    AsDeployed
}

/// @title Scenarios of the mocks
/// @notice What the mocks answer in each scenario: the values of TypeScript.
/// Times are relative to `block.timestamp`.
library MockScenarios {
    /// @notice The state of a scenario, to change and to hand to `deploy`.
    /// @param scenario The scenario.
    /// @return state What the mocks answer.
    function stateOf(Scenario scenario)
        internal
        view
        returns (MockState memory state)
    {
        state.fundingFeeRate.call = 25_000;
        state.fundingFeeRate.put = 17_500;
        state.publicPool.deposit = 5_000_000e18;
        state.publicPool.availabe = 3_750_000e18;
        state.publicPool.locked = 1_250_000e18;
        state.privatePool.deposit = 1_200_000e18;
        state.privatePool.availabe = 900_000e18;
        state.privatePool.locked = 300_000e18;
        state.round.strikePrice = 65_000e18;
        state.round.APY = 0.185e18;
        state.round.maxVolume = 1_000e18;
        state.round.filledVolume = 420e18;
        state.round.minDeposit = 0.1e18;
        state.round.startTime = _ago(2 days);
        state.round.endTime = block.timestamp + 5 days;
        state.margins.base = 52_500e18;
        state.margins.x = 10_500e18;
        state.marginBalance.base = 4_200e18;
        state.marginBalance.x = 840e18;
        state.settlement.settledPrice = 66_250e18;
        state.settlement.settledAmount = 3;
        state.generatedOrders.firstId = 1;
        state.volume = 420e18;
        state.minXMargin = 1_000e18;
        state.orderIDs = new uint256[](3);
        state.orders = new VaultReader.Order[](3);
        for (uint256 i = 0; i < 3; ++i) {
            state.orderIDs[i] = i + 1;
            state.orders[i] = _someOrder();
        }
        state.orders[1].exType = "ETH-USDT";
        state.orders[1].holder = 0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC;
        state.orders[1].number = 15e18;
        state.orders[1].openPrice = 3_200e18;
        state.orders[1].marginAmount = 4_800e18;
        state.orders[1].marginFee = 48e18;
        state.orders[1].startTime = 1_700_003_600;
        state.orders[1].contractType = 2;
        state.orders[2].openPrice = 61_500e18;
        state.orders[2].startTime = 1_699_900_000;
        state.orders[2].closePrice = 63_250e18;
        state.orders[2].state = 2;
        if (
            scenario == Scenario.ExpiredRound
                || scenario == Scenario.SettledRound
        ) {
            state.round.startTime = _ago(8 days);
            state.round.endTime = _ago(1 days);
        }
        if (scenario == Scenario.SettledRound) {
            state.round.settledPrice = 66_250e18;
            state.round.settledAmount = 3;
            state.round.settled = true;
        }
        if (scenario == Scenario.FullRound) {
            state.round.filledVolume = 1_000e18;
            state.volume = 1_000e18;
        }
        if (scenario == Scenario.EmptyVault) {
            state.settlement.settledAmount = 0;
            state.round.filledVolume = 0;
            state.volume = 0;
            delete state.marginBalance;
            delete state.orderIDs;
            delete state.orders;
        }
        if (scenario == Scenario.NoLiquidity) {
            delete state.publicPool;
            delete state.privatePool;
        }
        if (scenario == Scenario.ManyOrders) {
            state.settlement.settledAmount = 1_000;
            state.generatedOrders.lastId = 1_000;
            delete state.orderIDs;
            delete state.orders;
        }
        if (scenario == Scenario.AsDeployed) _asDeployed(state);
    }

    /// @dev An ended round whose price is set, and one order of it settled.
    function _asDeployed(MockState memory state) private view {
        state.round.startTime = _ago(8 days);
        state.round.endTime = _ago(1 days);
        state.round.settledPrice = 66_250e18;
        state.round.settledAmount = 1;
        state.settlement.notBeforeEnd = true;
        state.settlement.needsPrice = true;
        state.settlement.reward.amount = 68e18;
        state.unknownOrders = MockTrading.UnknownOrders.Invalid;
        state.orderIDs = new uint256[](6);
        state.orders = new VaultReader.Order[](6);
        for (uint256 i = 0; i < 6; ++i) {
            state.orderIDs[i] = i;
            // The owner removed order 3.
            if (i == 3) continue;
            state.orders[i] = _someOrder();
            state.orders[i].exType = "BTCDAI";
            // From 0, pending, to 4, closed with what the pools could pay.
            state.orders[i].state = uint8(i < 3 ? i : i - 1);
            if (i > 1) state.orders[i].closePrice = 63_250e18;
        }
    }

    /// @dev Order 1.
    function _someOrder()
        private
        pure
        returns (VaultReader.Order memory order)
    {
        order.exType = "BTC-USDT";
        order.holder = 0x70997970C51812dc3A010C7d01b50e0d17dc79C8;
        order.number = 2e18;
        order.exFee = 0.01e18;
        order.lockFee = 0.005e18;
        order.newLockFee = 0.001e18;
        order.openPrice = 64_000e18;
        order.marginAmount = 12_800e18;
        order.marginFee = 128e18;
        order.startTime = 1_700_000_000;
        order.contractType = 1;
        order.state = 1;
    }

    /// @dev Never below zero: a test's clock starts at 1.
    function _ago(uint256 duration) private view returns (uint256) {
        return block.timestamp > duration ? block.timestamp - duration : 0;
    }
}

// SPDX-License-Identifier: MIT
pragma solidity ^0.8.20;

// Generated from src/mocks/scenarios.ts by `npm run docs`. Do not edit.

import {MockOrder} from "../mocks/MockOrder.sol";
import {MockState} from "./MockState.sol";

/// @title Scenarios of the mocks
/// @notice The canned states of the mocks, with the names and the values that
/// they have in TypeScript. Times are relative to the chain's clock.
library MockScenarios {
    /// @notice There is no such scenario.
    error UnknownScenario(string name, string known);

    /// @notice A scenario by its name, as in TypeScript.
    /// @param name The name.
    /// @param chainTime The chain's clock, `block.timestamp`.
    function named(
        string memory name,
        uint256 chainTime
    ) internal pure returns (MockState memory) {
        bytes32 id = keccak256(bytes(name));
        if (id == keccak256("open-round")) return openRound(chainTime);
        if (id == keccak256("expired-round")) return expiredRound(chainTime);
        if (id == keccak256("settled-round")) return settledRound(chainTime);
        if (id == keccak256("full-round")) return fullRound(chainTime);
        if (id == keccak256("empty-vault")) return emptyVault(chainTime);
        if (id == keccak256("no-liquidity")) return noLiquidity(chainTime);
        if (id == keccak256("many-orders")) return manyOrders(chainTime);
        if (id == keccak256("extremes")) return extremes();
        revert UnknownScenario(
            name,
            "open-round, expired-round, settled-round, full-round, empty-vault, no-liquidity, many-orders, extremes"
        );
    }

    /// @notice The scenario `open-round`.
    function openRound(
        uint256 chainTime
    ) internal pure returns (MockState memory state) {
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
        state.round.startTime = _before(chainTime, 2 days);
        state.round.endTime = chainTime + 5 days;
        state.round.settledPrice = 0;
        state.round.settledAmount = 0;
        state.round.settled = false;
        state.margins.base = 52_500e18;
        state.margins.x = 10_500e18;
        state.marginBalance.base = 4_200e18;
        state.marginBalance.x = 840e18;
        state.settlement.settledPrice = 66_250e18;
        state.settlement.settledAmount = 420e18;
        state.generatedOrders.firstId = 1;
        state.generatedOrders.lastId = 0;
        state.missingOrdersRevert = false;
        state.volume = 420e18;
        state.minXMargin = 1_000e18;
        state.orderIDs = new uint256[](3);
        state.orders = new MockOrder[](3);
        state.orderIDs[0] = 1;
        state.orders[0] = openCall();
        state.orderIDs[1] = 2;
        state.orders[1] = openPut();
        state.orderIDs[2] = 3;
        state.orders[2] = closedCall();
    }

    /// @notice The scenario `expired-round`.
    function expiredRound(
        uint256 chainTime
    ) internal pure returns (MockState memory state) {
        state = openRound(chainTime);
        state.round.startTime = _before(chainTime, 8 days);
        state.round.endTime = _before(chainTime, 1 days);
    }

    /// @notice The scenario `settled-round`.
    function settledRound(
        uint256 chainTime
    ) internal pure returns (MockState memory state) {
        state = openRound(chainTime);
        state.round.startTime = _before(chainTime, 8 days);
        state.round.endTime = _before(chainTime, 1 days);
        state.round.settledPrice = 66_250e18;
        state.round.settledAmount = 420e18;
        state.round.settled = true;
    }

    /// @notice The scenario `full-round`.
    function fullRound(
        uint256 chainTime
    ) internal pure returns (MockState memory state) {
        state = openRound(chainTime);
        state.round.filledVolume = 1_000e18;
        state.volume = 1_000e18;
    }

    /// @notice The scenario `empty-vault`.
    function emptyVault(
        uint256 chainTime
    ) internal pure returns (MockState memory state) {
        state = openRound(chainTime);
        state.round.filledVolume = 0;
        state.marginBalance.base = 0;
        state.marginBalance.x = 0;
        state.volume = 0;
        state.orderIDs = new uint256[](0);
        state.orders = new MockOrder[](0);
    }

    /// @notice The scenario `no-liquidity`.
    function noLiquidity(
        uint256 chainTime
    ) internal pure returns (MockState memory state) {
        state = openRound(chainTime);
        state.publicPool.deposit = 0;
        state.publicPool.availabe = 0;
        state.publicPool.locked = 0;
        state.privatePool.deposit = 0;
        state.privatePool.availabe = 0;
        state.privatePool.locked = 0;
    }

    /// @notice The scenario `many-orders`.
    function manyOrders(
        uint256 chainTime
    ) internal pure returns (MockState memory state) {
        state = openRound(chainTime);
        state.generatedOrders.lastId = 1_000;
        state.orderIDs = new uint256[](0);
        state.orders = new MockOrder[](0);
    }

    /// @notice The scenario `extremes`.
    function extremes() internal pure returns (MockState memory state) {
        state.fundingFeeRate.call = 0;
        state.fundingFeeRate.put = type(uint256).max;
        state.publicPool.deposit = type(uint256).max;
        state.publicPool.availabe = type(uint256).max;
        state.publicPool.locked = type(uint256).max;
        state.privatePool.deposit = 0;
        state.privatePool.availabe = 0;
        state.privatePool.locked = 0;
        state.round.strikePrice = type(uint256).max;
        state.round.APY = type(uint256).max;
        state.round.maxVolume = type(uint256).max;
        state.round.filledVolume = type(uint256).max;
        state.round.minDeposit = 0;
        state.round.startTime = 0;
        state.round.endTime = type(uint256).max;
        state.round.settledPrice = 0;
        state.round.settledAmount = 0;
        state.round.settled = false;
        state.margins.base = type(uint256).max;
        state.margins.x = 0;
        state.marginBalance.base = 0;
        state.marginBalance.x = type(uint256).max;
        state.settlement.settledPrice = type(uint256).max;
        state.settlement.settledAmount = type(uint256).max;
        state.generatedOrders.firstId = 1;
        state.generatedOrders.lastId = 0;
        state.missingOrdersRevert = false;
        state.volume = type(uint256).max;
        state.minXMargin = type(uint256).max;
        state.orderIDs = new uint256[](8);
        state.orders = new MockOrder[](8);
        state.orderIDs[0] = 0;
        state.orderIDs[1] = type(uint256).max;
        state.orders[1].exType = _repeat("long ", 400);
        state.orders[1].holder = 0xFFfFfFffFFfffFFfFFfFFFFFffFFFffffFfFFFfF;
        state.orders[1].number = type(uint256).max;
        state.orders[1].exFee = type(uint256).max;
        state.orders[1].lockFee = type(uint256).max;
        state.orders[1].newLockFee = type(uint256).max;
        state.orders[1].openPrice = type(uint256).max;
        state.orders[1].marginAmount = type(uint256).max;
        state.orders[1].marginFee = type(uint256).max;
        state.orders[1].startTime = type(uint256).max;
        state.orders[1].closePrice = type(uint256).max;
        state.orders[1].contractType = 255;
        state.orders[1].state = 255;
        state.orderIDs[2] = 1;
        state.orders[2] = openCall();
        state.orders[2].exType = "=1+1";
        state.orderIDs[3] = 2;
        state.orders[3] = openCall();
        state.orders[3].exType =
            hex"2271756f746564222c20616e640d0a62726f6b656e096c696e6573";
        state.orderIDs[4] = 3;
        state.orders[4] = openCall();
        state.orders[4].exType = hex"1b5b33316d7265641b5b306d0700";
        state.orderIDs[5] = 4;
        state.orders[5] = openCall();
        state.orders[5].exType = hex"7269676874e280ae746fe281a66c656674";
        state.orderIDs[6] = 5;
        state.orders[6] = openCall();
        state.orders[6].exType = hex"e6af94e789b9e5b8812df09f9a80";
        state.orderIDs[7] = 6;
        state.orders[7] = openCall();
        state.orders[7].exType = hex"fffe42c328";
    }

    /// @notice Order 1 of `open-round`.
    function openCall() internal pure returns (MockOrder memory order) {
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

    /// @notice Order 2 of `open-round`.
    function openPut() internal pure returns (MockOrder memory order) {
        order.exType = "ETH-USDT";
        order.holder = 0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC;
        order.number = 15e18;
        order.exFee = 0.01e18;
        order.lockFee = 0.005e18;
        order.newLockFee = 0.001e18;
        order.openPrice = 3_200e18;
        order.marginAmount = 4_800e18;
        order.marginFee = 48e18;
        order.startTime = 1_700_003_600;
        order.contractType = 2;
        order.state = 1;
    }

    /// @notice Order 3 of `open-round`.
    function closedCall() internal pure returns (MockOrder memory order) {
        order = openCall();
        order.openPrice = 61_500e18;
        order.startTime = 1_699_900_000;
        order.closePrice = 63_250e18;
        order.state = 2;
    }

    /// @dev Never below zero: a test's clock starts at 1.
    function _before(
        uint256 chainTime,
        uint256 duration
    ) private pure returns (uint256) {
        return chainTime > duration ? chainTime - duration : 0;
    }

    function _repeat(
        string memory text,
        uint256 times
    ) private pure returns (bytes memory repeated) {
        for (uint256 i = 0; i < times; ++i) {
            repeated = bytes.concat(repeated, bytes(text));
        }
    }
}

// SPDX-License-Identifier: MIT
pragma solidity ^0.8.20;

import {VaultReader} from "../interfaces/VaultReader.sol";
import {MockLiquidityPool} from "../mocks/MockLiquidityPool.sol";
import {MockTrading} from "../mocks/MockTrading.sol";
import {MockVault} from "../mocks/MockVault.sol";

/// @notice Everything the six mocks answer; values unscaled, as on the wire.
struct MockState {
    FundingFeeRates fundingFeeRate;
    MockLiquidityPool.Amounts publicPool;
    MockLiquidityPool.Amounts privatePool;
    VaultReader.Round round;
    /// The ids of `orders`, in their order.
    uint256[] orderIDs;
    VaultReader.Order[] orders;
    OrderRange generatedOrders;
    /// What an id answers that no order has.
    MockTrading.UnknownOrders unknownOrders;
    MockVault.Margins margins;
    MockVault.Margins marginBalance;
    uint256 volume;
    uint256 minXMargin;
    Settlement settlement;
}

/// @notice Real values multiplied by 1E8.
struct FundingFeeRates {
    uint256 call;
    uint256 put;
}

/// @notice Ids whose orders the mock computes; none if the first is above the
/// last.
struct OrderRange {
    uint256 firstId;
    uint256 lastId;
}

/// @notice What `settleAll` writes to the first round, and when it refuses.
struct Settlement {
    uint256 settledPrice;
    uint256 settledAmount;
    /// Whether a round that has not ended is refused.
    bool notBeforeEnd;
    /// Whether the round's price is set before, and kept.
    bool needsPrice;
    /// What its caller is paid; a token of zero is made.
    MockVault.Reward reward;
}

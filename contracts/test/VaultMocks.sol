// SPDX-License-Identifier: MIT
pragma solidity ^0.8.20;

import {ILiquidityPool} from "../interfaces/ILiquidityPool.sol";
import {ITrading} from "../interfaces/ITrading.sol";
import {IUnderlyingAsset} from "../interfaces/IUnderlyingAsset.sol";
import {IVaultFactory} from "../interfaces/IVaultFactory.sol";
import {VaultReader} from "../interfaces/VaultReader.sol";
import {ANYBODY, MockBase} from "../mocks/MockBase.sol";
import {MockLiquidityPool} from "../mocks/MockLiquidityPool.sol";
import {MockOrder} from "../mocks/MockOrder.sol";
import {MockTrading} from "../mocks/MockTrading.sol";
import {MockUnderlyingAsset} from "../mocks/MockUnderlyingAsset.sol";
import {ANY, MockVault} from "../mocks/MockVault.sol";
import {MockVaultFactory} from "../mocks/MockVaultFactory.sol";
import {MockScenarios, Scenario} from "./MockScenarios.sol";
import {MockState} from "./MockState.sol";

using VaultMocksScripts for VaultMocks global;

/// @notice The six mocks, for Solidity tests: a state variable of the test
/// contract, deployed by one line in `setUp`.
///
/// `VaultMocks private mocks;`
///
/// `function setUp() public { mocks.deploy(Scenario.OpenRound); }`
/// @dev Members are the roles that the contracts have in TypeScript. Only
/// `trading` is not of the mock's type: `MockTrading` cannot declare the
/// thirteen values of its interface. It scripts as `mockTrading`.
struct VaultMocks {
    MockUnderlyingAsset underlyingAsset;
    MockLiquidityPool publicPool;
    MockLiquidityPool privatePool;
    ITrading trading;
    MockVaultFactory vaultFactory;
    MockVault vault;
    MockTrading mockTrading;
}

/// @title Scripts of the mocks
/// @notice What a Solidity test does with its `VaultMocks`. Names are those of
/// the handle in TypeScript, values are unscaled.
/// @dev Internal functions, so that calls come from the test contract itself
/// and a test contract has the code of what it uses.
library VaultMocksScripts {
    /// @dev Length of a next round where the latest one has none.
    uint256 private constant DEFAULT_ROUND_LENGTH = 7 days;

    /// @notice Deploys the six mocks in a scenario.
    /// @param scenario The scenario.
    function deploy(VaultMocks storage mocks, Scenario scenario) internal {
        deploy(mocks, MockScenarios.stateOf(scenario));
    }

    /// @notice Deploys the six mocks in a state: a scenario with changes, say.
    /// @param state What they answer.
    function deploy(VaultMocks storage mocks, MockState memory state) internal {
        mocks.underlyingAsset = new MockUnderlyingAsset();
        mocks.publicPool = new MockLiquidityPool();
        mocks.privatePool = new MockLiquidityPool();
        mocks.mockTrading = new MockTrading();
        mocks.trading = ITrading(address(mocks.mockTrading));
        mocks.vaultFactory = new MockVaultFactory();
        mocks.vault = new MockVault();
        _set(mocks, state);
    }

    /// @notice Puts mocks that are deployed into another state, as if they
    /// were new: what was scripted and recorded is gone.
    /// @param state What they answer from now on.
    function load(VaultMocks storage mocks, MockState memory state) internal {
        _requireDeployed(mocks);
        mocks.underlyingAsset.reset();
        mocks.publicPool.reset();
        mocks.privatePool.reset();
        mocks.mockTrading.reset();
        mocks.vaultFactory.reset();
        mocks.vault.reset();
        _set(mocks, state);
    }

    /// @notice The latest round.
    /// @return The round, to change and to hand to `setRound`.
    function round(VaultMocks storage mocks)
        internal
        view
        returns (VaultReader.Round memory)
    {
        _requireDeployed(mocks);
        return mocks.vaultFactory.latestRound();
    }

    /// @notice Sets all values of the latest round.
    /// @param next The round.
    function setRound(VaultMocks storage mocks, VaultReader.Round memory next)
        internal
    {
        _requireDeployed(mocks);
        mocks.vaultFactory.setRound(next);
    }

    /// @notice Puts a new, unsettled round in place of the latest one: with its
    /// terms, nothing filled, beginning now and as long. It settles at its
    /// strike price, with no orders, unless `setSettlement` says otherwise.
    function nextRound(VaultMocks storage mocks) internal {
        nextRound(mocks, round(mocks).strikePrice);
    }

    /// @notice As `nextRound()`, at another strike price.
    /// @param strikePrice The strike price; real value multiplied by 1E18.
    function nextRound(VaultMocks storage mocks, uint256 strikePrice) internal {
        VaultReader.Round memory latest = round(mocks);
        uint256 length = DEFAULT_ROUND_LENGTH;
        if (latest.endTime > latest.startTime) {
            length = latest.endTime - latest.startTime;
        }
        uint256 longest = type(uint256).max - block.timestamp;
        mocks.vaultFactory
            .startNextRound(
                MockVaultFactory.NextRound({
                    strikePrice: strikePrice,
                    APY: latest.APY,
                    maxVolume: latest.maxVolume,
                    filledVolume: 0,
                    minDeposit: latest.minDeposit,
                    startTime: block.timestamp,
                    endTime: block.timestamp
                        + (length < longest ? length : longest)
                })
            );
    }

    /// @notice Sets what `settleAll` writes to the round, this one and all
    /// that follow.
    /// @param settledPrice The settled price; real value multiplied by 1E18.
    /// @param settledAmount The number of settled orders.
    function setSettlement(
        VaultMocks storage mocks,
        uint256 settledPrice,
        uint256 settledAmount
    ) internal {
        _requireDeployed(mocks);
        mocks.vault.setSettlement(settledPrice, settledAmount);
    }

    /// @notice Makes `settleAll` refuse a round that has not ended, with
    /// `RoundHasNotEnded`.
    /// @param refuses Whether it refuses; in every scenario it does not.
    function setNotBeforeEnd(VaultMocks storage mocks, bool refuses) internal {
        _requireDeployed(mocks);
        mocks.vault.setNotBeforeEnd(refuses);
    }

    /// @notice Makes `settleAll` keep a price that is set before, with
    /// `setRound`, and refuse a round without one or below its strike price.
    /// @param needs Whether it needs one.
    function setNeedsPrice(VaultMocks storage mocks, bool needs) internal {
        _requireDeployed(mocks);
        mocks.vault.setNeedsPrice(needs);
    }

    /// @notice Sets what `settleAll` pays its caller.
    /// @param token An ERC-20 that the vault has enough of; zero for a
    /// `MockToken` that it makes.
    /// @param amount How many, unscaled; zero for none.
    function setReward(VaultMocks storage mocks, address token, uint256 amount)
        internal
    {
        _requireDeployed(mocks);
        mocks.vault.setReward(token, amount);
    }

    /// @notice Chooses what an id answers that no order has.
    /// @param answer For example `MockTrading.UnknownOrders.Invalid`.
    function setUnknownOrders(
        VaultMocks storage mocks,
        MockTrading.UnknownOrders answer
    ) internal {
        _requireDeployed(mocks);
        mocks.mockTrading.setUnknownOrders(answer);
    }

    /// @notice Sets what `calMargins` answers for some terms. Of several that
    /// match, the first one counts. Any other terms revert with
    /// `UnexpectedTerms` from then on.
    /// @param terms For example `MockVault.Terms(1_000e18, ANY, ANY)`.
    /// @param margins Margins to pay.
    function whenCalMargins(
        VaultMocks storage mocks,
        MockVault.Terms memory terms,
        MockVault.Margins memory margins
    ) internal {
        _requireDeployed(mocks);
        mocks.vault.whenCalMargins(terms, margins);
    }

    /// @notice One order.
    /// @dev Reverts as the mock does, for an unknown id as
    /// `setUnknownOrders` says.
    /// @param orderID The order's id.
    /// @return The order, as `VaultReader.readOrder` reads it.
    function order(VaultMocks storage mocks, uint256 orderID)
        internal
        view
        returns (VaultReader.Order memory)
    {
        _requireDeployed(mocks);
        return VaultReader.readOrder(mocks.trading, orderID);
    }

    /// @notice Sets one order, such as one that `order` returned, changed.
    /// @param orderID The order's id.
    /// @param value The order.
    function setOrder(
        VaultMocks storage mocks,
        uint256 orderID,
        VaultReader.Order memory value
    ) internal {
        _requireDeployed(mocks);
        uint256[] memory orderIDs = new uint256[](1);
        VaultReader.Order[] memory orders = new VaultReader.Order[](1);
        (orderIDs[0], orders[0]) = (orderID, value);
        mocks.mockTrading.setOrders(orderIDs, _asMockOrders(orders));
    }

    /// @notice Removes an order: its values are zeros from now on.
    /// @param orderID The order's id.
    function removeOrder(VaultMocks storage mocks, uint256 orderID) internal {
        _requireDeployed(mocks);
        mocks.mockTrading.removeOrder(orderID);
    }

    /// @notice Makes an operation revert with a text, until `succeed`.
    /// @dev Reverts with `FunctionNotScriptable` if no mock has the operation.
    /// @param operation The operation's selector, `IVault.settleAll.selector`
    /// for example; of `ILiquidityPool.getLPAmountInfo`, both pools revert.
    /// @param reason What it reverts with.
    function fail(
        VaultMocks storage mocks,
        bytes4 operation,
        string memory reason
    ) internal {
        failWith(mocks, operation, _encode(reason));
    }

    /// @notice Makes an operation revert with any data, until `succeed`.
    /// @param operation The operation's selector.
    /// @param revertData For example `abi.encodeWithSelector(Paused.selector)`;
    /// may be empty.
    function failWith(
        VaultMocks storage mocks,
        bytes4 operation,
        bytes memory revertData
    ) internal {
        _failWhen(mocks, operation, ANYBODY, "", revertData);
    }

    /// @notice As `fail`, for one caller: others succeed.
    /// @param operation The operation's selector.
    /// @param from The caller.
    /// @param reason What it reverts with.
    function failFrom(
        VaultMocks storage mocks,
        bytes4 operation,
        address from,
        string memory reason
    ) internal {
        _failWhen(mocks, operation, from, "", _encode(reason));
    }

    /// @notice Makes the reading of one order revert with a text, until
    /// `succeed(ITrading.getOrderInfo.selector)`.
    /// @param orderID The order's id.
    /// @param reason What it reverts with.
    function failOrder(
        VaultMocks storage mocks,
        uint256 orderID,
        string memory reason
    ) internal {
        _failWhen(
            mocks,
            ITrading.getOrderInfo.selector,
            ANYBODY,
            abi.encode(orderID),
            _encode(reason)
        );
    }

    /// @notice Ends what `fail` and the like began.
    /// @param operation The operation's selector.
    function succeed(VaultMocks storage mocks, bytes4 operation) internal {
        MockBase[] memory targets = _targetsOf(mocks, operation);
        for (uint256 i = 0; i < targets.length; ++i) {
            targets[i].clearRevert(operation);
        }
    }

    function _failWhen(
        VaultMocks storage mocks,
        bytes4 operation,
        address from,
        bytes memory arguments,
        bytes memory revertData
    ) private {
        MockBase[] memory targets = _targetsOf(mocks, operation);
        for (uint256 i = 0; i < targets.length; ++i) {
            targets[i].setRevertWhen(operation, from, arguments, revertData);
        }
    }

    function _encode(string memory reason) private pure returns (bytes memory) {
        return abi.encodeWithSignature("Error(string)", reason);
    }

    function _requireDeployed(VaultMocks storage mocks) private view {
        require(
            address(mocks.vault) != address(0),
            "VaultMocks: call deploy first, for example mocks.deploy(Scenario.OpenRound) in setUp"
        );
    }

    /// @dev The mocks that have the operation. A selector that is no
    /// operation's is left to the vault, which refuses it.
    function _targetsOf(VaultMocks storage mocks, bytes4 operation)
        private
        view
        returns (MockBase[] memory targets)
    {
        _requireDeployed(mocks);
        targets = new MockBase[](1);
        targets[0] = mocks.vault;
        if (operation == ILiquidityPool.getLPAmountInfo.selector) {
            targets = new MockBase[](2);
            targets[0] = mocks.publicPool;
            targets[1] = mocks.privatePool;
        } else if (operation == ITrading.getOrderInfo.selector) {
            targets[0] = mocks.mockTrading;
        } else if (operation == IUnderlyingAsset.getFundingFeeRate.selector) {
            targets[0] = mocks.underlyingAsset;
        } else if (
            operation == IVaultFactory.getLatestRoundInfo.selector
                || operation == IVaultFactory.minSLDMargin.selector
        ) {
            targets[0] = mocks.vaultFactory;
        }
    }

    /// @dev Of mocks that are new or reset.
    function _set(VaultMocks storage mocks, MockState memory state) private {
        mocks.underlyingAsset.setFundingFeeRate(1, state.fundingFeeRate.call);
        mocks.underlyingAsset.setFundingFeeRate(2, state.fundingFeeRate.put);
        _setPool(mocks.publicPool, state.publicPool);
        _setPool(mocks.privatePool, state.privatePool);
        _setOrders(mocks.mockTrading, state);
        mocks.vaultFactory.setRound(state.round);
        mocks.vaultFactory.setMinSLDMargin(state.minXMargin);
        _setVault(mocks.vault, mocks.vaultFactory, state);
    }

    function _setPool(
        MockLiquidityPool pool,
        MockLiquidityPool.Amounts memory amounts
    ) private {
        pool.setLPAmountInfo(amounts.deposit, amounts.availabe, amounts.locked);
    }

    function _setOrders(MockTrading trading, MockState memory state) private {
        trading.setOrders(state.orderIDs, _asMockOrders(state.orders));
        trading.generateOrders(
            state.generatedOrders.firstId, state.generatedOrders.lastId
        );
        trading.setUnknownOrders(state.unknownOrders);
    }

    /// @dev Both structs have the same members; a string is kept as bytes are.
    function _asMockOrders(VaultReader.Order[] memory orders)
        private
        pure
        returns (MockOrder[] memory mockOrders)
    {
        assembly ("memory-safe") {
            mockOrders := orders
        }
    }

    function _setVault(
        MockVault vault,
        MockVaultFactory factory,
        MockState memory state
    ) private {
        vault.setFactory(address(factory));
        vault.setMargins(state.margins.base, state.margins.x);
        vault.setMarginBalance(state.marginBalance.base, state.marginBalance.x);
        vault.setVolume(state.volume);
        vault.setFirstSettlement(
            state.settlement.settledPrice, state.settlement.settledAmount
        );
        vault.setNotBeforeEnd(state.settlement.notBeforeEnd);
        vault.setNeedsPrice(state.settlement.needsPrice);
        vault.setReward(
            state.settlement.reward.token, state.settlement.reward.amount
        );
    }
}

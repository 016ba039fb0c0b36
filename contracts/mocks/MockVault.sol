// SPDX-License-Identifier: MIT
pragma solidity ^0.8.20;

import {IVault} from "../interfaces/IVault.sol";
import {VaultReader} from "../interfaces/VaultReader.sol";
import {MockBase} from "./MockBase.sol";
import {MockToken} from "./MockToken.sol";
import {MockVaultFactory} from "./MockVaultFactory.sol";

/// @dev In place of one of the terms of `calMargins`: it matches every number.
uint256 constant ANY = uint256(keccak256("hardhat-vault/any"));

/// @title Mock vault
/// @notice Answers the margins and the volume it was given, and settles the
/// latest round of its mock factory with a scripted price and amount.
/// @dev For tests only and unsafe for production: see `MockBase`. Settling
/// changes no margins. Its only precondition is an unsettled round, unless
/// `setNotBeforeEnd` or `setNeedsPrice` adds others; `setReward` pays its
/// caller.
contract MockVault is IVault, MockBase {
    struct Margins {
        uint256 base;
        uint256 x;
    }

    /// @notice Arguments of `calMargins`; `ANY` in place of one matches every
    /// number.
    struct Terms {
        uint256 maxVolume;
        uint256 APY;
        uint256 endTime;
    }

    struct MarginsOfTerms {
        Terms terms;
        Margins margins;
    }

    struct Settlement {
        address caller;
        uint256 timestamp;
        uint256 blockNumber;
    }

    struct Reward {
        address token;
        uint256 amount;
    }

    struct State {
        address factory;
        uint256 settledPrice;
        uint256 settledAmount;
        bool settlementFollowsRound;
        bool notBeforeEnd;
        bool needsPrice;
        bool marginsDependOnTerms;
        uint256 volume;
        Margins margins;
        MarginsOfTerms[] marginsOfTerms;
        Margins marginBalance;
        Settlement[] settlements;
        Reward reward;
    }

    mapping(uint256 generation => State) private _states;

    /// @notice Sets the mock factory whose latest round `settleAll` settles.
    /// @param factory The address of a `MockVaultFactory`.
    function setFactory(address factory) external {
        _state().factory = factory;
    }

    /// @notice Sets what `calMargins` answers, whatever its arguments.
    /// @param baseMarginAmount Base token margin to pay.
    /// @param xMarginAmount X token margin to pay.
    function setMargins(uint256 baseMarginAmount, uint256 xMarginAmount)
        external
    {
        State storage state = _state();
        state.margins = Margins(baseMarginAmount, xMarginAmount);
        state.marginsDependOnTerms = false;
        delete state.marginsOfTerms;
    }

    /// @notice Sets what `calMargins` answers for these terms, after those that
    /// were set before: the first that match count. Any other terms revert with
    /// `UnexpectedTerms` from then on, until `setMargins`.
    /// @param terms The arguments; `ANY` in place of one matches every number.
    /// @param margins Margins to pay.
    function whenCalMargins(Terms calldata terms, Margins calldata margins)
        external
    {
        State storage state = _state();
        state.marginsDependOnTerms = true;
        state.marginsOfTerms.push(MarginsOfTerms(terms, margins));
    }

    /// @notice Sets all terms that `calMargins` answers: the first that match
    /// count. Any other terms revert with `UnexpectedTerms`, until `setMargins`.
    /// @param all The terms, each with its margins.
    function setMarginsOfTerms(MarginsOfTerms[] calldata all) external {
        State storage state = _state();
        state.marginsDependOnTerms = true;
        delete state.marginsOfTerms;
        for (uint256 i = 0; i < all.length; ++i) {
            state.marginsOfTerms.push(all[i]);
        }
    }

    /// @notice Sets the vault's volume.
    /// @param volume The volume.
    function setVolume(uint256 volume) external {
        _state().volume = volume;
    }

    /// @notice Sets the margins that can be withdrawn.
    /// @param baseMarginAmount Withdrawable base token margin.
    /// @param xMarginAmount Withdrawable X token margin.
    function setMarginBalance(uint256 baseMarginAmount, uint256 xMarginAmount)
        external
    {
        _state().marginBalance = Margins(baseMarginAmount, xMarginAmount);
    }

    /// @notice Sets what `settleAll` writes to the round, this one and all
    /// that follow.
    /// @param settledPrice The settled price; real value multiplied by 1E18.
    /// @param settledAmount The number of settled orders.
    function setSettlement(uint256 settledPrice, uint256 settledAmount)
        external
    {
        _setSettlement(settledPrice, settledAmount, false);
    }

    /// @notice Sets what `settleAll` writes to the first round. Those that
    /// `MockVaultFactory.startNextRound` starts settle at their strike price
    /// and with as many orders, or none if nothing is filled, until
    /// `setSettlement`.
    /// @param settledPrice The settled price; real value multiplied by 1E18.
    /// @param settledAmount The number of settled orders.
    function setFirstSettlement(uint256 settledPrice, uint256 settledAmount)
        external
    {
        _setSettlement(settledPrice, settledAmount, true);
    }

    /// @notice Chooses whether `settleAll` refuses a round that has not ended,
    /// with `RoundHasNotEnded`.
    /// @param refuses True: it refuses. False, as at first: it does not check.
    function setNotBeforeEnd(bool refuses) external {
        _state().notBeforeEnd = refuses;
    }

    /// @notice Chooses whether the price is set before the settlement, with
    /// `MockVaultFactory.setRound`.
    /// @param needs True: `settleAll` keeps that price, and reverts with
    /// `PriceNotSet` if there is none, and with `PriceBelowStrike` if it is
    /// below the strike price. False, as at first: `settleAll` sets the price.
    function setNeedsPrice(bool needs) external {
        _state().needsPrice = needs;
    }

    /// @notice Sets what `settleAll` pays its caller.
    /// @param token An ERC-20 that this mock has enough of; zero for a
    /// `MockToken` that it makes.
    /// @param amount How many, unscaled; zero, as at first, for none.
    function setReward(address token, uint256 amount) external {
        if (token == address(0) && amount > 0) token = _ownToken();
        _state().reward = Reward(token, amount);
    }

    /// @notice What `settleAll` pays its caller.
    /// @return The token and the amount.
    function reward() external view returns (Reward memory) {
        return _state().reward;
    }

    /// @inheritdoc IVault
    /// @dev This mock passes on the factory's `RoundAlreadySettled`, and
    /// reverts with `FactoryNotSet` if it has no factory.
    function settleAll() external override scriptable {
        State storage state = _state();
        if (state.factory == address(0)) revert FactoryNotSet();
        if (state.notBeforeEnd) _requireEnd(state);
        state.settlements
            .push(Settlement(msg.sender, block.timestamp, block.number));
        (uint256 price, uint256 amount) = _nextSettlement(state);
        MockVaultFactory(state.factory).settleLatestRound(price, amount);
        if (state.reward.amount > 0) _pay(state.reward);
    }

    /// @inheritdoc IVault
    function calMargins(uint256 _maxVolume, uint256 _APY, uint256 _endTime)
        external
        view
        override
        scriptable
        returns (uint256 baseMarginAmount, uint256 xMarginAmount)
    {
        State storage state = _state();
        if (!state.marginsDependOnTerms) return _unpack(state.margins);
        for (uint256 i = 0; i < state.marginsOfTerms.length; ++i) {
            Terms storage terms = state.marginsOfTerms[i].terms;
            if (
                _matches(terms.maxVolume, _maxVolume)
                    && _matches(terms.APY, _APY)
                    && _matches(terms.endTime, _endTime)
            ) {
                return _unpack(state.marginsOfTerms[i].margins);
            }
        }
        revert UnexpectedTerms(_maxVolume, _APY, _endTime);
    }

    /// @inheritdoc IVault
    function queryVolume()
        external
        view
        override
        scriptable
        returns (uint256 volume)
    {
        return _state().volume;
    }

    /// @inheritdoc IVault
    function queryMarginBalance()
        external
        view
        override
        scriptable
        returns (uint256 baseMarginAmount, uint256 xMarginAmount)
    {
        return _unpack(_state().marginBalance);
    }

    /// @notice How many settlements succeeded.
    /// @return The number of settlements.
    function settlementCount() external view returns (uint256) {
        return _state().settlements.length;
    }

    /// @notice One settlement that succeeded, counted from 0.
    /// @dev An index not below `settlementCount` is a panic, 0x32.
    /// @param index The settlement's index.
    /// @return Who called `settleAll`, and the block it was in.
    function settlement(uint256 index)
        external
        view
        returns (Settlement memory)
    {
        return _state().settlements[index];
    }

    function _kind() internal pure override returns (bytes32) {
        return keccak256("hardhat-vault/MockVault");
    }

    function _isScriptable(bytes4 selector)
        internal
        pure
        override
        returns (bool)
    {
        return selector == IVault.calMargins.selector
            || selector == IVault.queryVolume.selector
            || selector == IVault.queryMarginBalance.selector
            || selector == IVault.settleAll.selector;
    }

    function _setSettlement(
        uint256 settledPrice,
        uint256 settledAmount,
        bool followsRound
    ) private {
        State storage state = _state();
        state.settledPrice = settledPrice;
        state.settledAmount = settledAmount;
        state.settlementFollowsRound = followsRound;
    }

    /// @dev A settled round is refused later, with another error.
    function _requireEnd(State storage state) private view {
        VaultReader.Round memory round =
            MockVaultFactory(state.factory).latestRound();
        if (!round.settled && block.timestamp < round.endTime) {
            revert RoundHasNotEnded(round.endTime);
        }
    }

    function _matches(uint256 expected, uint256 given)
        private
        pure
        returns (bool)
    {
        return expected == ANY || expected == given;
    }

    function _nextSettlement(State storage state)
        private
        view
        returns (uint256 price, uint256 amount)
    {
        (price, amount) = (state.settledPrice, state.settledAmount);
        MockVaultFactory factory = MockVaultFactory(state.factory);
        bool followsRound =
            state.settlementFollowsRound && factory.roundsStarted() > 0;
        if (!followsRound && !state.needsPrice) return (price, amount);
        VaultReader.Round memory round = factory.latestRound();
        if (followsRound) {
            price = round.strikePrice;
            if (round.filledVolume == 0) amount = 0;
        }
        // A settled round is refused later, with another error.
        if (state.needsPrice && !round.settled) {
            price = round.settledPrice;
            if (price == 0) revert PriceNotSet();
            if (price < round.strikePrice) {
                revert PriceBelowStrike(price, round.strikePrice);
            }
        }
    }

    /// @dev A token without a return value pays, too.
    function _pay(Reward storage owed) private {
        (bool success, bytes memory result) = owed.token
            .call(abi.encodeCall(MockToken.transfer, (msg.sender, owed.amount)));
        if (success) {
            success = result.length == 0
                ? owed.token.code.length > 0
                : abi.decode(result, (bool));
        }
        if (!success) {
            revert RewardNotPaid(owed.token, owed.amount);
        }
    }

    /// @dev One for each `reset`, so that nobody has an earlier reward.
    function _ownToken() private returns (address token) {
        bytes32 salt = bytes32(_currentGeneration());
        bytes32 code = keccak256(type(MockToken).creationCode);
        bytes32 hash = keccak256(
            abi.encodePacked(bytes1(0xff), address(this), salt, code)
        );
        token = address(uint160(uint256(hash)));
        if (token.code.length == 0) new MockToken{salt: salt}();
    }

    function _unpack(Margins storage margins)
        private
        view
        returns (uint256, uint256)
    {
        return (margins.base, margins.x);
    }

    function _state() private view returns (State storage) {
        return _states[_currentGeneration()];
    }
}

// SPDX-License-Identifier: MIT
pragma solidity ^0.8.20;

import {IVault} from "../interfaces/IVault.sol";
import {VaultReader} from "../interfaces/VaultReader.sol";
import {MockBase} from "./MockBase.sol";
import {MockVaultFactory} from "./MockVaultFactory.sol";

/// @title Mock vault
/// @notice Answers the margins and the volume it was given, and settles the
/// latest round of its mock factory with a scripted price and amount.
/// @dev For tests only and unsafe for production: see `MockBase`. Settling
/// moves no tokens, changes no margins, and has no preconditions but an
/// unsettled round.
contract MockVault is IVault, MockBase {
    struct Margins {
        uint256 base;
        uint256 x;
    }

    struct Settlement {
        address caller;
        uint256 timestamp;
        uint256 blockNumber;
    }

    struct State {
        address factory;
        uint256 settledPrice;
        uint256 settledAmount;
        bool settlementFollowsRound;
        uint256 volume;
        Margins margins;
        Margins marginBalance;
        Settlement[] settlements;
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
    function setMargins(
        uint256 baseMarginAmount,
        uint256 xMarginAmount
    ) external {
        _state().margins = Margins(baseMarginAmount, xMarginAmount);
    }

    /// @notice Sets the vault's volume.
    /// @param volume The volume.
    function setVolume(uint256 volume) external {
        _state().volume = volume;
    }

    /// @notice Sets the margins that can be withdrawn.
    /// @param baseMarginAmount Withdrawable base token margin.
    /// @param xMarginAmount Withdrawable X token margin.
    function setMarginBalance(
        uint256 baseMarginAmount,
        uint256 xMarginAmount
    ) external {
        _state().marginBalance = Margins(baseMarginAmount, xMarginAmount);
    }

    /// @notice Sets what `settleAll` writes to the round, this one and all
    /// that follow.
    /// @param settledPrice The settled price; real value multiplied by 1E18.
    /// @param settledAmount The settled order amount.
    function setSettlement(
        uint256 settledPrice,
        uint256 settledAmount
    ) external {
        _setSettlement(settledPrice, settledAmount, false);
    }

    /// @notice Sets what `settleAll` writes to the first round. Those that
    /// `MockVaultFactory.startNextRound` starts settle at their strike price
    /// and with their filled volume, until `setSettlement`.
    /// @param settledPrice The settled price; real value multiplied by 1E18.
    /// @param settledAmount The settled order amount.
    function setFirstSettlement(
        uint256 settledPrice,
        uint256 settledAmount
    ) external {
        _setSettlement(settledPrice, settledAmount, true);
    }

    /// @inheritdoc IVault
    /// @dev This mock passes on the factory's `RoundAlreadySettled`, and
    /// reverts with `FactoryNotSet` if it has no factory.
    function settleAll() external override scriptable {
        State storage state = _state();
        if (state.factory == address(0)) revert FactoryNotSet();
        state.settlements.push(
            Settlement(msg.sender, block.timestamp, block.number)
        );
        (uint256 price, uint256 amount) = _nextSettlement(state);
        MockVaultFactory(state.factory).settleLatestRound(price, amount);
    }

    /// @inheritdoc IVault
    function calMargins(
        uint256 /* _maxVolume */,
        uint256 /* _APY */,
        uint256 /* _endTime */
    )
        external
        view
        override
        scriptable
        returns (uint256 baseMarginAmount, uint256 xMarginAmount)
    {
        return _unpack(_state().margins);
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
    function settlement(
        uint256 index
    ) external view returns (Settlement memory) {
        return _state().settlements[index];
    }

    function _kind() internal pure override returns (bytes32) {
        return keccak256("hardhat-vault/MockVault");
    }

    function _isScriptable(
        bytes4 selector
    ) internal pure override returns (bool) {
        return
            selector == IVault.calMargins.selector ||
            selector == IVault.queryVolume.selector ||
            selector == IVault.queryMarginBalance.selector ||
            selector == IVault.settleAll.selector;
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

    function _nextSettlement(
        State storage state
    ) private view returns (uint256 price, uint256 amount) {
        MockVaultFactory factory = MockVaultFactory(state.factory);
        if (state.settlementFollowsRound && factory.roundsStarted() > 0) {
            VaultReader.Round memory round = factory.latestRound();
            return (round.strikePrice, round.filledVolume);
        }
        return (state.settledPrice, state.settledAmount);
    }

    function _unpack(
        Margins storage margins
    ) private view returns (uint256, uint256) {
        return (margins.base, margins.x);
    }

    function _state() private view returns (State storage) {
        return _states[_currentGeneration()];
    }
}

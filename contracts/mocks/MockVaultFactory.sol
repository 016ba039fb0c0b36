// SPDX-License-Identifier: MIT
pragma solidity ^0.8.20;

import {IVaultFactory} from "../interfaces/IVaultFactory.sol";
import {VaultReader} from "../interfaces/VaultReader.sol";
import {MockBase} from "./MockBase.sol";

/// @title Mock vault factory
/// @notice Answers the round and the minimum margin it was given, and lets a
/// mock vault settle the round.
/// @dev For tests only and unsafe for production: see `MockBase`. It does
/// not look at the clock: `MockVault.setNotBeforeEnd` does.
contract MockVaultFactory is IVaultFactory, MockBase {
    /// @notice A round that is not settled yet: the values but the last three.
    struct NextRound {
        uint256 strikePrice;
        uint256 APY;
        uint256 maxVolume;
        uint256 filledVolume;
        uint256 minDeposit;
        uint256 startTime;
        uint256 endTime;
    }

    struct State {
        VaultReader.Round round;
        uint256 minMargin;
        uint256 roundsStarted;
    }

    mapping(uint256 generation => State) private _states;

    /// @notice Sets all values of the latest round, the settled ones too.
    /// @param round The round.
    function setRound(VaultReader.Round calldata round) external {
        _state().round = round;
    }

    /// @notice Puts a new, unsettled round in the place of the latest one,
    /// whether or not that was settled.
    /// @dev A struct of static values is encoded as these values one by one.
    /// @param next The new round.
    function startNextRound(NextRound calldata next) external {
        ++_state().roundsStarted;
        _state().round = abi.decode(
            abi.encode(next, uint256(0), uint256(0), false), (VaultReader.Round)
        );
    }

    /// @notice Settles the latest round. The mock vault calls it.
    /// @dev Reverts with `RoundAlreadySettled` if it is settled.
    /// @param settledPrice The settled price; real value multiplied by 1E18.
    /// @param settledAmount The number of settled orders.
    function settleLatestRound(uint256 settledPrice, uint256 settledAmount)
        external
        scriptable
    {
        VaultReader.Round storage round = _state().round;
        if (round.settled) {
            revert RoundAlreadySettled(
                round.startTime, round.endTime, round.strikePrice
            );
        }
        round.settledPrice = settledPrice;
        round.settledAmount = settledAmount;
        round.settled = true;
    }

    /// @notice Sets the X token margin to pay when issuing a vault.
    /// @param margin The margin.
    function setMinSLDMargin(uint256 margin) external {
        _state().minMargin = margin;
    }

    /// @inheritdoc IVaultFactory
    function getLatestRoundInfo()
        external
        view
        override
        scriptable
        returns (
            uint256 strikePrice,
            uint256 APY,
            uint256 maxVolume,
            uint256 filledVolume,
            uint256 minDeposit,
            uint256 startTime,
            uint256 endTime,
            uint256 settledPrice,
            uint256 settledAmount,
            bool settled
        )
    {
        VaultReader.Round storage round = _state().round;
        strikePrice = round.strikePrice;
        APY = round.APY;
        maxVolume = round.maxVolume;
        filledVolume = round.filledVolume;
        minDeposit = round.minDeposit;
        startTime = round.startTime;
        endTime = round.endTime;
        settledPrice = round.settledPrice;
        settledAmount = round.settledAmount;
        settled = round.settled;
    }

    /// @inheritdoc IVaultFactory
    function minSLDMargin()
        external
        view
        override
        scriptable
        returns (uint256)
    {
        return _state().minMargin;
    }

    /// @notice How many rounds `startNextRound` has started.
    /// @return The number of rounds.
    function roundsStarted() external view returns (uint256) {
        return _state().roundsStarted;
    }

    /// @notice The latest round as a struct, scripted reverts or not.
    /// @return The round.
    function latestRound() external view returns (VaultReader.Round memory) {
        return _state().round;
    }

    function _kind() internal pure override returns (bytes32) {
        return keccak256("hardhat-vault/MockVaultFactory");
    }

    function _isScriptable(bytes4 selector)
        internal
        pure
        override
        returns (bool)
    {
        return selector == IVaultFactory.getLatestRoundInfo.selector
            || selector == IVaultFactory.minSLDMargin.selector
            || selector == this.settleLatestRound.selector;
    }

    function _state() private view returns (State storage) {
        return _states[_currentGeneration()];
    }
}

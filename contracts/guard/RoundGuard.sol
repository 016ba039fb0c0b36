// SPDX-License-Identifier: MIT
pragma solidity ^0.8.20;

import {IVault} from "../interfaces/IVault.sol";
import {IVaultFactory} from "../interfaces/IVaultFactory.sol";

/// @title Round guard
/// @notice Settles one given round of a vault, or reverts. `settleAll` names
/// no round: a transaction that is late settles whatever round is current by
/// then. This contract compares the round in the same transaction.
/// @dev It has no owner, no upgrade, and no state but its lock. The vault's
/// caller is this contract: a vault with an allow-list has to name it. Tokens
/// that a vault pays to its caller stay here for ever.
contract RoundGuard {
    /// @notice The only account that may settle; zero if anyone may. A guard
    /// on an allow-list must have one, or it opens settlement to everybody.
    address public immutable settler;

    uint256 private constant FREE = 1;
    uint256 private constant LOCKED = 2;

    uint256 private _lock = FREE;

    /// @notice The caller is not the account that may settle.
    /// @param caller The caller.
    error NotSettler(address caller);

    /// @notice The factory's latest round is another one.
    /// @param startTime Start of the latest round, in Unix seconds.
    /// @param strikePrice Its strike price; real value multiplied by 1E18.
    error RoundChanged(uint256 startTime, uint256 strikePrice);

    /// @notice The round is settled already.
    error RoundAlreadySettled();

    /// @notice The round has not ended, or there is none yet.
    /// @param endTime End of the round, in Unix seconds; 0 if there is none.
    error RoundNotEnded(uint256 endTime);

    /// @notice `settleAll` returned, and did not settle the round.
    error RoundNotSettled();

    /// @notice The call comes from within a settlement through this guard.
    error NestedCall();

    /// @notice The caller does not take the native currency that the vault
    /// paid, and gives no reason.
    error PaymentRefused();

    /// @notice Native currency comes from a settlement, or not at all.
    error NotSettling();

    /// @param settler_ The only account that may settle; zero if anyone may.
    constructor(address settler_) {
        settler = settler_;
    }

    /// @notice Takes what the vault pays to its caller.
    receive() external payable {
        if (_lock == FREE) revert NotSettling();
    }

    /// @notice Settles the given round, and no other. Native currency that is
    /// paid to this contract meanwhile goes to the caller.
    /// @dev What the vault or the factory reverts with is passed on.
    /// @param vault The vault to settle.
    /// @param factory The vault factory with the vault's latest round.
    /// @param startTime Start of the round, in Unix seconds.
    /// @param strikePrice Strike price of the round; real value multiplied by
    /// 1E18.
    /// @param mustHaveEnded Whether to revert before the end of the round.
    /// @param mustSettle Whether to revert if the vault does not settle it.
    function settle(
        address vault,
        address factory,
        uint256 startTime,
        uint256 strikePrice,
        bool mustHaveEnded,
        bool mustSettle
    ) external {
        if (settler != address(0) && msg.sender != settler) {
            revert NotSettler(msg.sender);
        }
        if (_lock == LOCKED) revert NestedCall();
        _lock = LOCKED;
        _requireOpen(factory, startTime, strikePrice, mustHaveEnded);
        IVault(vault).settleAll();
        if (mustSettle) _requireSettled(factory, startTime, strikePrice);
        _forward();
        // Last: the caller's code must not begin another settlement either.
        _lock = FREE;
    }

    /// @dev Reverts unless the latest round is the given one, and open.
    function _requireOpen(
        address factory,
        uint256 startTime,
        uint256 strikePrice,
        bool mustHaveEnded
    ) private view {
        (uint256 start, uint256 strike, uint256 end, bool settled) =
            _round(factory);
        if (start != startTime || strike != strikePrice) {
            revert RoundChanged(start, strike);
        }
        if (settled) revert RoundAlreadySettled();
        if (mustHaveEnded && (end == 0 || block.timestamp < end)) {
            revert RoundNotEnded(end);
        }
    }

    /// @dev Reverts if the given round is the latest still, and open.
    function _requireSettled(
        address factory,
        uint256 startTime,
        uint256 strikePrice
    ) private view {
        (uint256 start, uint256 strike,, bool settled) = _round(factory);
        if (start == startTime && strike == strikePrice && !settled) {
            revert RoundNotSettled();
        }
    }

    function _round(address factory)
        private
        view
        returns (uint256 start, uint256 strike, uint256 end, bool settled)
    {
        (
            strike,,,,, start, end,,, settled
        ) = IVaultFactory(factory).getLatestRoundInfo();
    }

    /// @dev Sends all native currency to the caller.
    function _forward() private {
        uint256 amount = address(this).balance;
        if (amount == 0) return;
        (bool success, bytes memory reason) = msg.sender.call{value: amount}("");
        if (success) return;
        if (reason.length == 0) revert PaymentRefused();
        assembly ("memory-safe") {
            revert(add(reason, 0x20), mload(reason))
        }
    }
}

// SPDX-License-Identifier: MIT
pragma solidity ^0.8.20;

import {IVault} from "../interfaces/IVault.sol";
import {IVaultFactory} from "../interfaces/IVaultFactory.sol";

/// @title Round guard
/// @notice Settles one given round of a vault, or reverts. `settleAll` names
/// no round: a transaction that is late settles whatever round is current by
/// then. This contract compares the round in the same transaction.
/// @dev It has no owner, no upgrade, and no state but its lock. The vault's
/// caller is this contract: a vault with an allow-list has to name it. Native
/// currency, and the tokens that the caller names, are forwarded to the caller;
/// whatever else a vault pays to its caller stays here for ever.
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

    /// @notice The vault reverted, or has no code. In an error of its own, so
    /// that a vault cannot imitate those of the guard.
    /// @param reason What it reverted with.
    error VaultReverted(bytes reason);

    /// @notice The factory reverted, or returned no round.
    /// @param reason What it reverted with; empty if it returned no round.
    error FactoryReverted(bytes reason);

    /// @notice The call comes from within a settlement through this guard.
    error NestedCall();

    /// @notice The caller does not take the native currency that the vault
    /// paid.
    error PaymentRefused();

    /// @notice The balance of a token cannot be read, or what it rose by did
    /// not leave this contract.
    /// @param token Address of the token.
    error TokenNotForwarded(address token);

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
    /// paid to this contract meanwhile, and what its balance of each given
    /// token rises by, go to the caller.
    /// @param vault The vault to settle.
    /// @param factory The vault factory with the vault's latest round.
    /// @param startTime Start of the round, in Unix seconds.
    /// @param strikePrice Strike price of the round; real value multiplied by
    /// 1E18.
    /// @param mustHaveEnded Whether to revert before the end of the round.
    /// @param mustSettle Whether to revert if the vault does not settle it.
    /// @param tokens ERC-20 tokens that the vault pays to its caller.
    function settle(
        address vault,
        address factory,
        uint256 startTime,
        uint256 strikePrice,
        bool mustHaveEnded,
        bool mustSettle,
        address[] calldata tokens
    ) external {
        if (settler != address(0) && msg.sender != settler) {
            revert NotSettler(msg.sender);
        }
        if (_lock == LOCKED) revert NestedCall();
        _lock = LOCKED;
        _requireOpen(factory, startTime, strikePrice, mustHaveEnded);
        uint256[] memory balances = _balancesOf(tokens);
        _settleAll(vault);
        if (mustSettle) _requireSettled(factory, startTime, strikePrice);
        for (uint256 i = 0; i < tokens.length; ++i) {
            _forwardToken(tokens[i], balances[i]);
        }
        _forwardMoney();
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

    /// @dev Reverts unless the given round is settled, or a later one follows:
    /// a round that is only repriced or cleared has an equal or an earlier start.
    function _requireSettled(
        address factory,
        uint256 startTime,
        uint256 strikePrice
    ) private view {
        (uint256 start, uint256 strike,, bool settled) = _round(factory);
        bool isSettled = settled && start == startTime && strike == strikePrice;
        if (!isSettled && start <= startTime) revert RoundNotSettled();
    }

    /// @dev Checks the answer by itself: a failed decoding would revert without
    /// an error of this contract.
    function _round(address factory)
        private
        view
        returns (uint256 start, uint256 strike, uint256 end, bool settled)
    {
        (bool success, bytes memory answer) = factory.staticcall(
            abi.encodeCall(IVaultFactory.getLatestRoundInfo, ())
        );
        if (!success) revert FactoryReverted(answer);
        if (answer.length < 10 * 32) revert FactoryReverted("");
        uint256[10] memory round = abi.decode(answer, (uint256[10]));
        if (round[9] > 1) revert FactoryReverted("");
        return (round[5], round[0], round[6], round[9] == 1);
    }

    function _settleAll(address vault) private {
        // A call of an address without code succeeds.
        if (vault.code.length == 0) revert VaultReverted("");
        (bool success, bytes memory reason) =
            vault.call(abi.encodeCall(IVault.settleAll, ()));
        if (!success) revert VaultReverted(reason);
    }

    function _balancesOf(address[] calldata tokens)
        private
        view
        returns (uint256[] memory balances)
    {
        balances = new uint256[](tokens.length);
        for (uint256 i = 0; i < tokens.length; ++i) {
            balances[i] = _balanceOf(tokens[i]);
        }
    }

    function _balanceOf(address token) private view returns (uint256) {
        (bool success, bytes memory answer) = token.staticcall(
            abi.encodeWithSignature("balanceOf(address)", address(this))
        );
        if (!success || answer.length < 32) revert TokenNotForwarded(token);
        return abi.decode(answer, (uint256));
    }

    /// @dev Sends what the balance rose by, of a token that is named twice once.
    /// Only the balance tells whether it left: some tokens return nothing, or
    /// false for what they sent, or true for what they did not.
    function _forwardToken(address token, uint256 balanceBefore) private {
        uint256 balance = _balanceOf(token);
        if (balance <= balanceBefore) return;
        (bool success,) = token.call(
            abi.encodeWithSignature(
                "transfer(address,uint256)", msg.sender, balance - balanceBefore
            )
        );
        if (!success || _balanceOf(token) > balanceBefore) {
            revert TokenNotForwarded(token);
        }
    }

    /// @dev Sends all native currency to the caller.
    function _forwardMoney() private {
        uint256 amount = address(this).balance;
        if (amount == 0) return;
        (bool success,) = msg.sender.call{value: amount}("");
        // Without the caller's reason, which could imitate an error of the guard.
        if (!success) revert PaymentRefused();
    }
}

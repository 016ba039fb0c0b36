// SPDX-License-Identifier: MIT
pragma solidity ^0.8.20;

/// @title Errors of the mocks
/// @notice Every custom error a mock can revert with by itself. Scripted
/// reverts (`MockBase.setRevert`) can carry any other bytes.
/// @dev The protocol documents no errors: these are the mocks' own.
interface IMockErrors {
    /// @notice The contract type is neither 1 (CALL) nor 2 (PUT).
    error UnknownContractType(uint8 contractType);

    /// @notice There is no such order, and unknown orders are set to revert.
    error OrderNotFound(uint256 orderID);

    /// @notice Margins depend on the terms, and none were set for these.
    error UnexpectedTerms(uint256 maxVolume, uint256 APY, uint256 endTime);

    /// @notice The round has not ended, and the vault was set to check that.
    error RoundHasNotEnded(uint256 endTime);

    /// @notice No price of the round is set, and the vault was set to need one.
    error PriceNotSet();

    /// @notice The price is below the strike, so nothing is to be settled.
    error PriceBelowStrike(uint256 settledPrice, uint256 strikePrice);

    /// @notice The vault could not pay its caller: it has too few tokens, or
    /// the token refuses.
    error RewardNotPaid(address token, uint256 amount);

    /// @notice As many orders as ids are needed.
    error LengthMismatch(uint256 orderIDs, uint256 orders);

    /// @notice The round with these times and this strike price is settled
    /// already.
    error RoundAlreadySettled(
        uint256 startTime, uint256 endTime, uint256 strikePrice
    );

    /// @notice The vault was asked to settle before `setFactory`.
    error FactoryNotSet();

    /// @notice This mock has no function of that selector that can be made to
    /// revert.
    error FunctionNotScriptable(bytes4 selector);

    /// @notice A call of a script failed, and so the whole script did.
    /// `reason` is the revert data: empty where there was none, also where
    /// the target has no code.
    error ScriptedCallFailed(address target, bytes reason);
}

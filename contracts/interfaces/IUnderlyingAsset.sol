// SPDX-License-Identifier: MIT
pragma solidity ^0.8.20;

/// @title Underlying asset
/// @notice The contract that answers the funding-fee rate.
interface IUnderlyingAsset {
    /// @notice The funding-fee rate of one contract type.
    /// @dev The type is a plain uint8 and not a Solidity enum, so that no
    /// value is refused on the caller's side. What a type other than 1 or 2
    /// does is not documented.
    /// @param _contractType 1 is CALL, 2 is PUT.
    /// @return _fundingFeeRate The rate; real value multiplied by 1E8. The
    /// period it applies to is not documented.
    function getFundingFeeRate(uint8 _contractType)
        external
        view
        returns (uint256 _fundingFeeRate);
}

// SPDX-License-Identifier: MIT
pragma solidity ^0.8.20;

/// @title Vault
/// @notice Margins, volume and settlement of a vault.
interface IVault {
    /// @notice The margins to pay for a next round.
    /// @dev The scale of the two margins is not documented.
    /// @param _maxVolume Maximum volume; real value multiplied by 1E(token
    /// precision).
    /// @param _APY APY; real value multiplied by 1E18 (1E18 is 100%).
    /// @param _endTime End of the next round, in Unix seconds.
    /// @return baseMarginAmount Base token margin to pay.
    /// @return xMarginAmount X token margin to pay.
    function calMargins(uint256 _maxVolume, uint256 _APY, uint256 _endTime)
        external
        view
        returns (uint256 baseMarginAmount, uint256 xMarginAmount);

    /// @notice The vault's volume.
    /// @return volume The volume; its scale is not documented.
    function queryVolume() external view returns (uint256 volume);

    /// @notice The margins that can be withdrawn.
    /// @dev Their scale is not documented.
    /// @return baseMarginAmount Withdrawable base token margin.
    /// @return xMarginAmount Withdrawable X token margin.
    function queryMarginBalance()
        external
        view
        returns (uint256 baseMarginAmount, uint256 xMarginAmount);

    /// @notice Settles the vault: the round that is current when the call
    /// runs becomes settled, with its settled price and amount.
    /// @dev Preconditions, caller restrictions, events and errors are not
    /// documented.
    function settleAll() external;
}

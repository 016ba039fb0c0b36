// SPDX-License-Identifier: MIT
pragma solidity ^0.8.20;

/// @title Vault factory
/// @notice The latest vault round, and the margin that issuing a vault takes.
interface IVaultFactory {
    /// @notice The latest round.
    /// @dev The last three values change only when the round is settled.
    /// @return strikePrice Strike price; real value multiplied by 1E18.
    /// @return APY Vault APY; real value multiplied by 1E18 (1E18 is 100%).
    /// @return maxVolume Maximum volume; real value multiplied by 1E(token
    /// precision).
    /// @return filledVolume Filled volume; real value multiplied by 1E(token
    /// precision).
    /// @return minDeposit Minimum deposit per user; real value multiplied by
    /// 1E(token precision).
    /// @return startTime Start of the round, in Unix seconds.
    /// @return endTime End of the round, in Unix seconds.
    /// @return settledPrice Settled price; real value multiplied by 1E18.
    /// @return settledAmount Settled order amount; its scale is not
    /// documented.
    /// @return settled Whether the round is settled.
    function getLatestRoundInfo()
        external
        view
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
        );

    /// @notice The X token margin to pay when issuing a vault.
    /// @dev Documented as `minXMargin` with the selector 0x789f4b5a, which is
    /// that of this name: X stands for the margin token, here SLD.
    /// @return The margin; its scale is not documented.
    function minSLDMargin() external view returns (uint256);
}

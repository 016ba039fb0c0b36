// SPDX-License-Identifier: MIT
pragma solidity ^0.8.20;

import {ITrading} from "./ITrading.sol";
import {IVaultFactory} from "./IVaultFactory.sol";

/// @title Vault reader
/// @notice Reads what answers more values than a caller's stack has room for,
/// as a struct, with any compiler settings:
/// `using VaultReader for ITrading;`, then `trading.readOrder(7).openPrice`.
/// @dev A call that reverts reverts with the same data.
library VaultReader {
    /// @notice The thirteen values of `ITrading.getOrderInfo`.
    struct Order {
        string exType;
        address holder;
        uint256 number;
        uint256 exFee;
        uint256 lockFee;
        uint256 newLockFee;
        uint256 openPrice;
        uint256 marginAmount;
        uint256 marginFee;
        uint256 startTime;
        uint256 closePrice;
        uint8 contractType;
        uint8 state;
    }

    /// @notice The ten values of `IVaultFactory.getLatestRoundInfo`.
    struct Round {
        uint256 strikePrice;
        uint256 APY;
        uint256 maxVolume;
        uint256 filledVolume;
        uint256 minDeposit;
        uint256 startTime;
        uint256 endTime;
        uint256 settledPrice;
        uint256 settledAmount;
        bool settled;
    }

    /// @notice The answer is not that of a contract of this protocol: its
    /// target has no code, or the answer is too short.
    error InvalidAnswer(address target, bytes answer);

    /// @notice The details of one order.
    /// @param trading The contract to ask.
    /// @param orderID The order's id.
    /// @return The order.
    function readOrder(ITrading trading, uint256 orderID)
        internal
        view
        returns (Order memory)
    {
        bytes memory answer = _read(
            address(trading),
            abi.encodeCall(ITrading.getOrderInfo, (orderID)),
            14 * 32
        );
        // A struct with a string in it has its offset in front.
        return abi.decode(bytes.concat(bytes32(uint256(32)), answer), (Order));
    }

    /// @notice The latest round.
    /// @param factory The contract to ask.
    /// @return The round.
    function readRound(IVaultFactory factory)
        internal
        view
        returns (Round memory)
    {
        bytes memory answer = _read(
            address(factory),
            abi.encodeCall(IVaultFactory.getLatestRoundInfo, ()),
            10 * 32
        );
        return abi.decode(answer, (Round));
    }

    function _read(address target, bytes memory data, uint256 minimum)
        private
        view
        returns (bytes memory answer)
    {
        bool success;
        (success, answer) = target.staticcall(data);
        if (!success) {
            assembly ("memory-safe") {
                revert(add(answer, 0x20), mload(answer))
            }
        }
        if (answer.length < minimum) revert InvalidAnswer(target, answer);
    }
}

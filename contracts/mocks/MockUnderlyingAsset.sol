// SPDX-License-Identifier: MIT
pragma solidity ^0.8.20;

import {IUnderlyingAsset} from "../interfaces/IUnderlyingAsset.sol";
import {MockBase} from "./MockBase.sol";

/// @title Mock underlying asset
/// @notice Answers the funding-fee rates it was given.
/// @dev For tests only and unsafe for production: see `MockBase`.
contract MockUnderlyingAsset is IUnderlyingAsset, MockBase {
    uint8 private constant CALL = 1;
    uint8 private constant PUT = 2;

    mapping(uint256 generation => mapping(uint8 contractType => uint256))
        private _rates;

    /// @notice Sets the rate of one contract type.
    /// @param contractType 1 is CALL, 2 is PUT; any other is refused.
    /// @param rate The rate; real value multiplied by 1E8.
    function setFundingFeeRate(uint8 contractType, uint256 rate) external {
        _requireKnown(contractType);
        _rates[_currentGeneration()][contractType] = rate;
    }

    /// @inheritdoc IUnderlyingAsset
    /// @dev This mock refuses any other type with `UnknownContractType`.
    function getFundingFeeRate(uint8 _contractType)
        external
        view
        override
        scriptable
        returns (uint256 _fundingFeeRate)
    {
        _requireKnown(_contractType);
        return _rates[_currentGeneration()][_contractType];
    }

    function _kind() internal pure override returns (bytes32) {
        return keccak256("hardhat-vault/MockUnderlyingAsset");
    }

    function _isScriptable(bytes4 selector)
        internal
        pure
        override
        returns (bool)
    {
        return selector == IUnderlyingAsset.getFundingFeeRate.selector;
    }

    function _requireKnown(uint8 contractType) private pure {
        if (contractType != CALL && contractType != PUT) {
            revert UnknownContractType(contractType);
        }
    }
}

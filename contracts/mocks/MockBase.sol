// SPDX-License-Identifier: MIT
pragma solidity ^0.8.20;

import {IMockErrors} from "./IMockErrors.sol";

/// @title Mock base
/// @notice What all mocks share: scripted reverts, scripts of several calls,
/// a reset, and a mark by which a mock is recognised.
/// @dev For tests only and unsafe for production: anybody may script a mock.
/// A mock has no constructor, no immutables and no initial storage values, so
/// that its runtime code works wherever it is placed.
abstract contract MockBase is IMockErrors {
    /// @notice One call of a script.
    struct Call {
        address target;
        bytes data;
    }

    struct ScriptedRevert {
        bool active;
        bytes data;
    }

    /// @dev Everything a mock stores is kept by this number. Mappings cannot
    /// be cleared, but `reset` can move on to untouched storage.
    uint128 private _generation;

    uint128 private _scripts;

    mapping(uint256 generation => mapping(bytes4 selector => ScriptedRevert))
        private _reverts;

    /// @dev For each function that `setRevert` can make fail.
    modifier scriptable() {
        _revertIfScripted(msg.sig);
        _;
    }

    /// @notice Makes one function of this mock revert until it is cleared.
    /// @param selector The function's selector.
    /// @param revertData The exact bytes to revert with; may be empty.
    function setRevert(bytes4 selector, bytes calldata revertData) external {
        _requireScriptable(selector);
        ScriptedRevert storage scripted = _scriptedRevert(selector);
        scripted.active = true;
        scripted.data = revertData;
    }

    /// @notice Undoes `setRevert` for one function.
    /// @param selector The function's selector.
    function clearRevert(bytes4 selector) external {
        _requireScriptable(selector);
        delete _reverts[_generation][selector];
    }

    /// @notice Forgets everything scripted and recorded: the mock is as it
    /// was when its code was placed on an unused address.
    /// @dev Unchecked, since another contract may have left any number there.
    function reset() external {
        unchecked {
            ++_generation;
            ++_scripts;
        }
    }

    /// @notice Counts a script, and reverts if it is outdated: if another one
    /// was counted since its author read what this mock answers.
    /// @param count How many scripts its author knows of.
    function countScript(uint256 count) external {
        if (count != _scripts) revert ScriptOutdated(count, _scripts);
        unchecked {
            ++_scripts;
        }
    }

    /// @notice Makes several calls in one transaction, in order, all or none.
    /// Any mock can script all others, and itself, so that one transaction
    /// sets up a whole scenario.
    /// @dev To the targets, the caller is this mock. A call to an address
    /// without code succeeds and does nothing, so it counts as failed.
    /// @param calls The calls to make.
    function script(Call[] calldata calls) external {
        for (uint256 i = 0; i < calls.length; ++i) {
            address target = calls[i].target;
            (bool success, bytes memory result) = target.call(calls[i].data);
            if (!success || target.code.length == 0) {
                revert ScriptedCallFailed(target, result);
            }
        }
    }

    /// @notice By which a mock is recognised, and how often it was scripted.
    /// @return kind keccak256 of "hardhat-vault/" and the contract's name.
    /// @return scripts How many scripts and resets it has counted.
    function mockInfo() external view returns (bytes32 kind, uint256 scripts) {
        return (_kind(), _scripts);
    }

    function _kind() internal pure virtual returns (bytes32);

    function _revertIfScripted(bytes4 selector) internal view {
        ScriptedRevert storage scripted = _scriptedRevert(selector);
        if (!scripted.active) return;

        bytes memory data = scripted.data;
        assembly ("memory-safe") {
            revert(add(data, 0x20), mload(data))
        }
    }

    function _requireScriptable(bytes4 selector) private pure {
        if (!_isScriptable(selector)) revert FunctionNotScriptable(selector);
    }

    function _scriptedRevert(
        bytes4 selector
    ) private view returns (ScriptedRevert storage) {
        return _reverts[_generation][selector];
    }

    /// @dev The key under which a mock keeps its state.
    function _currentGeneration() internal view returns (uint256) {
        return _generation;
    }

    function _isScriptable(
        bytes4 selector
    ) internal pure virtual returns (bool);
}

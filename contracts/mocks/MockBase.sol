// SPDX-License-Identifier: MIT
pragma solidity ^0.8.20;

import {IMockErrors} from "./IMockErrors.sol";

/// @dev In place of a caller: it matches every caller.
address constant ANYBODY =
    address(uint160(uint256(keccak256("hardhat-vault/anybody"))));

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

    /// @dev Of one function. Its scripted reverts are forgotten by moving on to
    /// the next `set` of them.
    struct ScriptedReverts {
        uint128 set;
        bool any;
    }

    /// @dev Everything a mock stores is kept by this number. Mappings cannot
    /// be cleared, but `reset` can move on to untouched storage.
    uint128 private _generation;

    mapping(
        uint256 generation => mapping(bytes4 selector => ScriptedReverts)
    ) private _scripted;

    mapping(bytes32 key => ScriptedRevert) private _reverts;

    /// @dev For each function that `setRevert` can make fail.
    modifier scriptable() {
        _revertIfScripted(msg.sig);
        _;
    }

    /// @notice Makes one function of this mock revert until it is cleared.
    /// @param selector The function's selector.
    /// @param revertData The exact bytes to revert with; may be empty.
    function setRevert(bytes4 selector, bytes calldata revertData) external {
        setRevertWhen(selector, ANYBODY, "", revertData);
    }

    /// @notice As `setRevert`, but for some calls only. For a call that several
    /// match, the arguments count more than the caller.
    /// @param selector The function's selector.
    /// @param from The caller; `ANYBODY` for every one.
    /// @param arguments All arguments, as `abi.encode` encodes them; empty for
    /// every call.
    /// @param revertData The exact bytes to revert with; may be empty.
    function setRevertWhen(
        bytes4 selector,
        address from,
        bytes memory arguments,
        bytes calldata revertData
    ) public {
        _requireScriptable(selector);
        _scripted[_generation][selector].any = true;
        _reverts[_key(selector, from, arguments)] =
            ScriptedRevert(true, revertData);
    }

    /// @notice Undoes `setRevert` and `setRevertWhen` for one function.
    /// @param selector The function's selector.
    function clearRevert(bytes4 selector) external {
        _requireScriptable(selector);
        ScriptedReverts storage scripted = _scripted[_generation][selector];
        ++scripted.set;
        scripted.any = false;
    }

    /// @notice Undoes `setRevertWhen` with the same caller and arguments.
    /// @param selector The function's selector.
    /// @param from The caller; `ANYBODY` for every one.
    /// @param arguments All arguments; empty for every call.
    function clearRevertWhen(
        bytes4 selector,
        address from,
        bytes calldata arguments
    ) external {
        _requireScriptable(selector);
        delete _reverts[_key(selector, from, arguments)];
    }

    /// @notice Forgets everything scripted and recorded: the mock is as it
    /// was when its code was placed on an unused address.
    /// @dev Unchecked, since another contract may have left any number there.
    function reset() external {
        unchecked {
            ++_generation;
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

    /// @notice By which a mock is recognised.
    /// @return kind keccak256 of "hardhat-vault/" and the contract's name.
    function mockInfo() external pure returns (bytes32 kind) {
        return _kind();
    }

    function _kind() internal pure virtual returns (bytes32);

    function _revertIfScripted(bytes4 selector) internal view {
        if (!_scripted[_generation][selector].any) return;

        bytes calldata arguments = msg.data[4:];
        _revertIf(_key(selector, msg.sender, arguments));
        _revertIf(_key(selector, ANYBODY, arguments));
        _revertIf(_key(selector, msg.sender, ""));
        _revertIf(_key(selector, ANYBODY, ""));
    }

    function _revertIf(bytes32 key) private view {
        ScriptedRevert storage scripted = _reverts[key];
        if (!scripted.active) return;

        bytes memory data = scripted.data;
        assembly ("memory-safe") {
            revert(add(data, 0x20), mload(data))
        }
    }

    function _key(bytes4 selector, address from, bytes memory arguments)
        private
        view
        returns (bytes32)
    {
        uint256 set = _scripted[_generation][selector].set;
        return
            keccak256(abi.encode(_generation, selector, set, from, arguments));
    }

    function _requireScriptable(bytes4 selector) private pure {
        if (!_isScriptable(selector)) revert FunctionNotScriptable(selector);
    }

    /// @dev The key under which a mock keeps its state.
    function _currentGeneration() internal view returns (uint256) {
        return _generation;
    }

    function _isScriptable(bytes4 selector) internal pure virtual returns (bool);
}

// SPDX-License-Identifier: MIT
pragma solidity ^0.8.20;

/// @title Mock token
/// @notice A small ERC-20, which a mock vault makes and pays its caller with.
/// @dev For tests only and unsafe for production. Whoever makes it has all of
/// it.
contract MockToken {
    string public constant name = "Mock reward";
    string public constant symbol = "REWARD";
    uint8 public constant decimals = 18;
    uint256 public constant totalSupply = type(uint256).max;

    mapping(address owner => uint256 amount) public balanceOf;
    mapping(address owner => mapping(address spender => uint256 amount)) public
        allowance;

    event Transfer(address indexed from, address indexed to, uint256 value);
    event Approval(
        address indexed owner, address indexed spender, uint256 value
    );

    constructor() {
        balanceOf[msg.sender] = totalSupply;
        emit Transfer(address(0), msg.sender, totalSupply);
    }

    /// @notice Sends tokens of the caller.
    /// @param to Who receives them.
    /// @param value How many, unscaled.
    /// @return True: what fails reverts.
    function transfer(address to, uint256 value) external returns (bool) {
        _move(msg.sender, to, value);
        return true;
    }

    /// @notice Lets somebody send tokens of the caller.
    /// @param spender Who may send them.
    /// @param value How many, unscaled.
    /// @return True.
    function approve(address spender, uint256 value) external returns (bool) {
        allowance[msg.sender][spender] = value;
        emit Approval(msg.sender, spender, value);
        return true;
    }

    /// @notice Sends tokens that their owner approved.
    /// @param from Their owner.
    /// @param to Who receives them.
    /// @param value How many, unscaled.
    /// @return True: what fails reverts.
    function transferFrom(address from, address to, uint256 value)
        external
        returns (bool)
    {
        allowance[from][msg.sender] -= value;
        _move(from, to, value);
        return true;
    }

    function _move(address from, address to, uint256 value) private {
        balanceOf[from] -= value;
        balanceOf[to] += value;
        emit Transfer(from, to, value);
    }
}

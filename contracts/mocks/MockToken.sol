// SPDX-License-Identifier: MIT
pragma solidity ^0.8.20;

/// @title Mock token
/// @notice A token that a mock vault makes and pays its caller with.
/// @dev For tests only and unsafe for production. Of ERC-20 it lacks what needs
/// an approval. Whoever makes it has all of it.
contract MockToken {
    string public constant name = "Mock reward";
    string public constant symbol = "REWARD";
    uint8 public constant decimals = 18;
    uint256 public constant totalSupply = type(uint256).max;

    mapping(address owner => uint256 amount) public balanceOf;

    event Transfer(address indexed from, address indexed to, uint256 value);

    constructor() {
        balanceOf[msg.sender] = totalSupply;
        emit Transfer(address(0), msg.sender, totalSupply);
    }

    /// @notice Sends tokens of the caller.
    /// @param to Who receives them.
    /// @param value How many, unscaled.
    /// @return True: what fails reverts.
    function transfer(address to, uint256 value) external returns (bool) {
        balanceOf[msg.sender] -= value;
        balanceOf[to] += value;
        emit Transfer(msg.sender, to, value);
        return true;
    }
}

require("@nomicfoundation/hardhat-ethers");

module.exports = { solidity: "0.8.28" };

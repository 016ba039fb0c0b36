// SPDX-License-Identifier: MIT
pragma solidity ^0.8.20;

contract Token {
    string public symbol;
    uint8 public immutable decimals;
    mapping(address => uint256) public balanceOf;

    event Transfer(address indexed from, address indexed to, uint256 value);

    constructor(string memory newSymbol, uint8 newDecimals) {
        (symbol, decimals) = (newSymbol, newDecimals);
    }

    function mint(address to, uint256 value) external {
        balanceOf[to] += value;
        emit Transfer(address(0), to, value);
    }

    function transfer(address to, uint256 value) external returns (bool) {
        balanceOf[msg.sender] -= value;
        balanceOf[to] += value;
        emit Transfer(msg.sender, to, value);
        return true;
    }
}

interface IPriceFeed {
    function latestRoundData()
        external
        view
        returns (uint80, int256, uint256, uint256, uint80);
}

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

contract VaultFactory {
    Vault private vault;

    function setVault(Vault newVault) external {
        vault = newVault;
    }

    function getLatestRoundInfo() external view returns (Round memory) {
        return vault.latestRound();
    }

    function minSLDMargin() external pure returns (uint256) {
        return 500e18;
    }
}

/// A vault that behaves as the deployed one: anyone may set its price and settle
/// it, orders one by one or all of them, and is paid in a token for the gas.
contract Vault {
    /// What governance sets: wei for a unit of gas, and dollars for a token (1E8).
    uint256 private constant GAS_PRICE = 5e9;
    uint256 private constant TOKEN_PRICE = 1e6;

    uint8 private constant PRICE_SET = 1;
    uint8 private constant SETTLED = 2;
    uint8 private constant SETTLED_IN_PART = 3;

    Token private immutable rewardToken;
    IPriceFeed private immutable feed;
    IPriceFeed private immutable coinFeed;
    /// One of the stable coin.
    uint256 private immutable unit;

    Round private round;
    uint256 private orderCount;
    uint256 private baseMargin;
    uint256 private xMargin;
    bool private terminated;
    mapping(uint256 => uint256) private payoffs;
    mapping(address => uint256) private shares;
    mapping(address => uint256) private withdrawn;
    mapping(address => uint256) public claims;

    event Settlement(
        address indexed caller, uint256 price, uint8 kind, uint256 time
    );

    constructor(
        Token newRewardToken,
        IPriceFeed newFeed,
        IPriceFeed newCoinFeed,
        uint256 newUnit
    ) {
        (rewardToken, feed, coinFeed, unit) =
        (newRewardToken, newFeed, newCoinFeed, newUnit);
    }

    /// Opens a round with computed orders.
    function startRound(
        uint256 strikePrice,
        uint256 startTime,
        uint256 endTime,
        uint256 count
    ) external {
        round = Round({
            strikePrice: strikePrice,
            APY: 12e16,
            maxVolume: 5_000 * unit,
            filledVolume: 2 * unit * count,
            minDeposit: unit,
            startTime: startTime,
            endTime: endTime,
            settledPrice: 0,
            settledAmount: 0,
            settled: false
        });
        orderCount = count;
        baseMargin = 250 * unit;
        xMargin = rewardToken.balanceOf(address(this));
    }

    function latestRound() external view returns (Round memory) {
        return round;
    }

    /// Ends a vault that nobody has deposited in.
    function terminate() external {
        require(orderCount == 0, "somebody has deposited");
        terminated = true;
    }

    /// Sets the price of an ended round. Below the strike, nothing is to be
    /// settled, and this closes the round.
    function updatePrice() external {
        uint256 gasBefore = gasleft();
        require(!terminated, "terminated");
        require(block.timestamp >= round.endTime, "the round has not ended");
        require(round.settledPrice == 0, "there is a price");
        (, int256 price,,,) = feed.latestRoundData();
        round.settledPrice = uint256(price) * 1e10;
        round.settled = round.settledPrice < round.strikePrice;
        _pay(_rewardFor(gasBefore - gasleft()), PRICE_SET);
    }

    function settleAll() external {
        _requireSettleable();
        uint256 reward = 0;
        for (uint256 id = 0; id < orderCount; ++id) {
            if (payoffs[id] == 0) reward += _settle(id);
        }
        (round.settledAmount, round.settled) = (orderCount, true);
        _pay(reward, SETTLED);
    }

    /// Settles a part.
    function settle(uint256[] calldata ids) external {
        _requireSettleable();
        uint256 reward = 0;
        for (uint256 i = 0; i < ids.length; ++i) {
            require(ids[i] < orderCount, "no such order");
            require(payoffs[ids[i]] == 0, "it is settled");
            reward += _settle(ids[i]);
        }
        round.settledAmount += ids.length;
        round.settled = round.settledAmount == orderCount;
        _pay(reward, SETTLED_IN_PART);
    }

    function queryVolume() external view returns (uint256) {
        return round.filledVolume;
    }

    function queryMarginBalance()
        external
        view
        returns (uint256 baseMarginAmount, uint256 xMarginAmount)
    {
        return (baseMargin, xMargin);
    }

    function calMargins(uint256 maxVolume, uint256 apy, uint256 endTime)
        external
        view
        returns (uint256 baseMarginAmount, uint256 xMarginAmount)
    {
        require(endTime > block.timestamp, "it ends in the past");
        uint256 time = endTime - block.timestamp;
        baseMarginAmount = maxVolume * apy / 1e18 * time / 365 days;
        xMarginAmount = 4 * baseMarginAmount * 1e18 / unit;
    }

    function _requireSettleable() private view {
        require(!terminated, "terminated");
        require(round.settledPrice != 0, "no price is set");
        require(
            round.settledPrice >= round.strikePrice,
            "the price is below the strike"
        );
        require(round.settledAmount < orderCount, "nothing is left to settle");
    }

    /// @return The reward for it.
    function _settle(uint256 id) private returns (uint256) {
        uint256 gasBefore = gasleft();
        address depositor = address(uint160(0xd0000000 + id));
        uint256 amount =
            unit * (1 + id % 3) + shares[depositor] - withdrawn[depositor];
        uint256 payoff = amount * round.settledPrice / round.strikePrice;
        payoffs[id] = payoff;
        claims[depositor] += payoff;
        return _rewardFor(gasBefore - gasleft());
    }

    /// One and a half times the cost of the gas, in the protocol's token.
    function _rewardFor(uint256 gasUsed) private view returns (uint256) {
        (, int256 coinPrice,,,) = coinFeed.latestRoundData();
        return gasUsed * GAS_PRICE * uint256(coinPrice) * 3 / 2 / TOKEN_PRICE;
    }

    /// Pays the caller out of the X margin.
    function _pay(uint256 reward, uint8 kind) private {
        if (reward > xMargin) reward = xMargin;
        xMargin -= reward;
        rewardToken.transfer(msg.sender, reward);
        emit Settlement(msg.sender, round.settledPrice, kind, block.timestamp);
    }
}

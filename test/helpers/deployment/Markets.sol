// SPDX-License-Identifier: MIT
pragma solidity 0.6.12;

/// An aggregator of prices with 8 decimals, which may fail.
contract PriceFeed {
    enum Outage {
        None,
        Text,
        Silent,
        Zero
    }

    int256 private price;
    Outage private outage;

    constructor(int256 newPrice) public {
        price = newPrice;
    }

    function set(int256 newPrice) external {
        price = newPrice;
    }

    function setOutage(Outage newOutage) external {
        outage = newOutage;
    }

    function latestRoundData()
        external
        view
        returns (uint80, int256, uint256, uint256, uint80)
    {
        require(outage != Outage.Text, "no data");
        if (outage == Outage.Silent) revert();
        return (1, outage == Outage.Zero ? 0 : price, now, now, 1);
    }
}

contract Formula {
    /// A rate with 8 decimals. Without a price it divides by zero, which is INVALID.
    function rate(uint256 volume, uint256 price)
        external
        pure
        returns (uint256)
    {
        return volume * 1e8 / price;
    }
}

contract UnderlyingAsset {
    enum Direction {
        Call,
        Put
    }

    PriceFeed private immutable feed;
    Formula private immutable formula;

    constructor(PriceFeed newFeed, Formula newFormula) public {
        (feed, formula) = (newFeed, newFormula);
    }

    function getFundingFeeRate(uint8 contractType)
        external
        view
        returns (uint256)
    {
        // The compiler refuses 0, which wraps around, and more than 2: INVALID.
        Direction direction = Direction(contractType - 1);
        (, int256 price,,,) = feed.latestRoundData();
        uint256 volume = direction == Direction.Call ? 37e6 : 21e6;
        return formula.rate(volume, uint256(price));
    }
}

contract PublicPool {
    uint256 private deposited;
    uint256 private available;
    uint256 private taken;

    constructor(uint256 unit) public {
        (deposited, available, taken) =
        (900_000 * unit, 620_000 * unit, 280_000 * unit);
    }

    function getLPAmountInfo()
        external
        view
        returns (uint256 deposit, uint256 availabe, uint256 locked)
    {
        return (deposited, available, taken);
    }
}

contract PrivatePool {
    uint256 private balance;
    uint256 private counter;

    constructor(uint256 unit) public {
        (balance, counter) = (400_000 * unit, 150_000 * unit);
    }

    function setLocked(uint256 locked) external {
        counter = locked;
    }

    /// Reverts if more is locked than there is.
    function getLPAmountInfo()
        external
        view
        returns (uint256 deposit, uint256 availabe, uint256 locked)
    {
        require(counter <= balance, "SafeMath: subtraction overflow");
        return (balance, balance - counter, counter);
    }
}

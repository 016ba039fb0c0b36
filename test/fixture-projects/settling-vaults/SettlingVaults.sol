// SPDX-License-Identifier: MIT
pragma solidity ^0.8.20;

/// What the vaults below pay with.
contract TestToken {
    string public constant symbol = "TST";
    uint8 public decimals = 6;
    mapping(address => uint256) public balanceOf;

    event Transfer(address indexed from, address indexed to, uint256 amount);

    function setDecimals(uint8 newDecimals) external {
        decimals = newDecimals;
    }

    function mint(address to, uint256 amount) external {
        balanceOf[to] += amount;
        emit Transfer(address(0), to, amount);
    }

    function transfer(address to, uint256 amount) external returns (bool) {
        balanceOf[msg.sender] -= amount;
        balanceOf[to] += amount;
        emit Transfer(msg.sender, to, amount);
        return true;
    }
}

contract TestOracle {
    uint256 public price = 1_875e18;

    function set(uint256 newPrice) external {
        price = newPrice;
    }
}

/// All six contracts in one, as a deployment could have them. Each vault below
/// settles in a way of its own.
abstract contract SettlingVault {
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

    struct Order {
        address holder;
        uint256 number;
        uint256 openPrice;
        uint256 startTime;
        uint256 closePrice;
        uint8 contractType;
        uint8 state;
    }

    struct OrderInfo {
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

    bool private initialised;
    Round internal round;
    mapping(uint256 => Order) internal orders;
    uint256 public orderCount;
    uint256 internal volume;
    TestToken public token;
    TestOracle public oracle;
    address public keeper;

    function initialise(
        TestToken newToken,
        TestOracle newOracle,
        address newKeeper,
        uint256 endTime
    ) external {
        require(!initialised, "initialised already");
        initialised = true;
        (token, oracle, keeper) = (newToken, newOracle, newKeeper);
        round.strikePrice = 1_900e18;
        round.APY = 1e17;
        round.maxVolume = 1_000;
        round.startTime = endTime - 7 days;
        round.endTime = endTime;
    }

    function open(uint256 count) external {
        for (uint256 i = 0; i < count; ++i) {
            orders[++orderCount] = Order({
                holder: address(uint160(0xbeef0000 + orderCount)),
                number: 10,
                openPrice: 1_850e18,
                startTime: block.timestamp,
                closePrice: 0,
                contractType: 1,
                state: 1
            });
        }
        volume += 10 * count;
    }

    receive() external payable {}

    function settleAll() external virtual;

    function getLatestRoundInfo() external view returns (Round memory) {
        return round;
    }

    /// Answers with the thirteen values of a struct: to declare so many makes
    /// the compiler several times as slow: only its newer pipeline can.
    function getOrderInfo(uint256 orderID) external view {
        Order storage order = orders[orderID];
        OrderInfo memory info;
        info.exType = "ETH-USD";
        info.holder = order.holder;
        info.number = order.number;
        info.openPrice = order.openPrice;
        info.startTime = order.startTime;
        info.closePrice = order.closePrice;
        info.contractType = order.contractType;
        info.state = order.state;
        (info.exFee, info.lockFee, info.newLockFee) = (1, 2, 3);
        (info.marginAmount, info.marginFee) = (4, 5);
        bytes memory encoded = abi.encode(info);
        // A struct is encoded behind its offset; values by themselves are not.
        assembly ("memory-safe") {
            return(add(encoded, 0x40), sub(mload(encoded), 0x20))
        }
    }

    function getLPAmountInfo()
        external
        view
        returns (uint256 deposit, uint256 availabe, uint256 locked)
    {
        return (address(this).balance, token.balanceOf(address(this)), volume);
    }

    function getFundingFeeRate(uint8) external pure returns (uint256) {
        return 12_345;
    }

    function queryVolume() external view virtual returns (uint256) {
        return volume;
    }

    function queryMarginBalance()
        external
        view
        virtual
        returns (uint256, uint256)
    {
        return (token.balanceOf(address(this)), 7);
    }

    function minSLDMargin() external pure returns (uint256) {
        return 500e18;
    }

    function _pay(address to, uint256 amount) internal {
        (bool success,) = to.call{value: amount}("");
        require(success, "could not pay");
    }

    function _finish(uint256 price, uint256 amount) internal {
        require(!round.settled, "settled already");
        (round.settledPrice, round.settledAmount) = (price, amount);
        round.settled = true;
        volume = 0;
    }
}

/// Loops over all orders and pays each holder.
contract PayingVault is SettlingVault {
    function settleAll() external virtual override {
        uint256 paid = 0;
        for (uint256 id = 1; id <= orderCount; ++id) {
            Order storage order = orders[id];
            (order.closePrice, order.state) = (oracle.price(), 2);
            token.transfer(order.holder, order.number);
            paid += order.number;
        }
        _finish(oracle.price(), paid);
    }
}

/// Frees what it used: gas is given back.
contract RefundingVault is SettlingVault {
    function settleAll() external override {
        for (uint256 id = 1; id <= orderCount; ++id) {
            delete orders[id];
        }
        _finish(1, 1);
    }
}

contract KeeperVault is SettlingVault {
    error NotKeeper(address caller);

    function settleAll() external override {
        if (msg.sender != keeper) revert NotKeeper(msg.sender);
        _finish(oracle.price(), 1);
    }
}

/// Settles at the oracle's price, and only once the round has ended.
contract ClockVault is SettlingVault {
    function settleAll() external override {
        require(block.timestamp >= round.endTime, "the round has not ended");
        _finish(oracle.price() + block.timestamp, block.number);
    }
}

/// Pays whoever settles, and others, in native currency.
contract NativeVault is SettlingVault {
    function settleAll() external override {
        _pay(msg.sender, 1_000);
        _pay(address(0xbeef0001), 3 ether);
        _pay(address(0xbeef0002), 5);
        _finish(2, 2);
    }
}

contract NoContractsVault is SettlingVault {
    function settleAll() external override {
        require(msg.sender.code.length == 0, "not for contracts");
        _finish(3, 3);
    }
}

/// Settles and opens its next round at once.
contract RollingVault is SettlingVault {
    function settleAll() external override {
        _finish(4, 4);
        round.startTime = round.endTime;
        round.endTime += 7 days;
        (round.settledPrice, round.settledAmount) = (0, 0);
        round.settled = false;
    }
}

/// Ten orders a call; settled with the last of them.
contract BatchVault is SettlingVault {
    uint256 private done;

    function settleAll() external override {
        for (uint256 i = 0; i < 10 && done < orderCount; ++i) {
            orders[++done].state = 2;
        }
        if (done == orderCount) _finish(5, done);
    }
}

contract IdleVault is SettlingVault {
    function settleAll() external override {}
}

/// Settles at the base fee of its block.
contract FeeVault is SettlingVault {
    function settleAll() external override {
        _finish(block.basefee, 7);
    }
}

/// Fills a purse, which gives back what it holds and destroys itself.
contract PurseVault is SettlingVault {
    function settleAll() external override {
        new Purse{value: 7}().dissolve();
        _finish(8, 8);
    }
}

contract Purse {
    constructor() payable {}

    function dissolve() external {
        selfdestruct(payable(msg.sender));
    }
}

/// Changes a bit of everything, up and down. It is its own second token.
contract MixedVault is SettlingVault {
    string public constant symbol = "SHARE";
    uint8 public constant decimals = 18;
    mapping(address => uint256) public balanceOf;

    event Transfer(address indexed from, address indexed to, uint256 amount);

    function give(address to, uint256 amount) external {
        _move(address(0), to, amount);
    }

    function settleAll() external override {
        address holder = orders[1].holder;
        token.transfer(msg.sender, 11);
        token.transfer(holder, 12);
        token.transfer(holder, 13);
        _move(msg.sender, address(this), 1e18);
        _move(msg.sender, address(0), 5);
        _pay(msg.sender, 2);
        _pay(holder, 3 ether);
        (orders[1].closePrice, orders[1].state) = (oracle.price(), 2);
        orders[orderCount].number += 1;
        round.filledVolume += 9;
        round.maxVolume -= 100;
        _finish(oracle.price(), 36);
        volume = 7;
    }

    function _move(address from, address to, uint256 amount) private {
        if (from != address(0)) balanceOf[from] -= amount;
        if (to != address(0)) balanceOf[to] += amount;
        emit Transfer(from, to, amount);
    }
}

/// EIP-1967.
contract Proxy {
    bytes32 private constant SLOT =
        0x360894a13ba1a3210667c828492db98dca3e2076cc3735a920a3ca505d382bbc;

    constructor(address implementation) {
        bytes32 slot = SLOT;
        assembly {
            sstore(slot, implementation)
        }
    }

    receive() external payable {}

    fallback() external payable {
        bytes32 slot = SLOT;
        assembly {
            calldatacopy(0, 0, calldatasize())
            let ok := delegatecall(gas(), sload(slot), 0, calldatasize(), 0, 0)
            returndatacopy(0, 0, returndatasize())
            if iszero(ok) {
                revert(0, returndatasize())
            }
            return(0, returndatasize())
        }
    }
}

/// For accounts that send transactions, not for what they call.
contract OriginVault is SettlingVault {
    function settleAll() external override {
        // solhint-disable-next-line avoid-tx-origin
        require(tx.origin != keeper && tx.origin == msg.sender, "origin");
        _finish(11, 11);
    }
}

/// A payment inside fails, and it settles all the same.
contract FailingPaymentVault is SettlingVault {
    function settleAll() external override {
        (bool success,) = address(new Refuser()).call{value: 3 ether}("");
        require(!success, "it was paid");
        _finish(12, 12);
    }
}

contract Refuser {
    receive() external payable {
        revert("no money");
    }
}

/// Its volume moves with time, whoever does what.
contract TickingVault is SettlingVault {
    function settleAll() external override {
        _finish(13, 13);
    }

    function queryVolume() external view override returns (uint256) {
        return block.timestamp;
    }
}

contract UnpaidVault is SettlingVault {
    function settleAll() external override {
        require(tx.gasprice == 0, "somebody pays for gas");
        _finish(15, 15);
    }
}

/// For a sender that still has what a development account begins with.
contract UntouchedVault is SettlingVault {
    function settleAll() external override {
        require(msg.sender.balance >= 10_000 ether, "the sender has paid");
        _finish(16, 16);
    }
}

/// Fills a purse, which gives all to somebody else and destroys itself.
contract GivingVault is SettlingVault {
    function settleAll() external override {
        new GivingPurse{value: 7}().dissolve();
        _finish(19, 19);
    }
}

contract GivingPurse {
    constructor() payable {}

    function dissolve() external {
        selfdestruct(payable(address(0xbeef0001)));
    }
}

/// Stores more if somebody pays for gas.
contract PricedVault is SettlingVault {
    mapping(uint256 => uint256) private stored;

    function settleAll() external override {
        if (tx.gasprice > 0) {
            for (uint256 i = 0; i < 12; ++i) {
                stored[i] = tx.gasprice;
            }
        }
        _finish(20, 20);
    }
}

/// Refunds the gas of whoever settles.
contract RebateVault is SettlingVault {
    function settleAll() external override {
        _pay(msg.sender, 74_251 * tx.gasprice);
        _finish(21, 21);
    }
}

/// Pays whoever settles in a token, under a condition.
contract RewardVault is SettlingVault {
    TestToken private rewardToken;
    uint256 private reward;
    bool private needsPrice;
    bool private needsBaseFee;

    function setReward(
        TestToken newToken,
        uint256 amount,
        bool byPrice,
        bool byBaseFee
    ) external {
        (rewardToken, reward) = (newToken, amount);
        (needsPrice, needsBaseFee) = (byPrice, byBaseFee);
    }

    function settleAll() external override {
        bool isDue = (!needsPrice || tx.gasprice > 0)
            && (!needsBaseFee || block.basefee > 0);
        if (reward > 0 && isDue) rewardToken.transfer(msg.sender, reward);
        _finish(22, 22);
    }
}

/// A token whose events have other forms, and which may only pretend to pay.
contract OddToken {
    uint256 private topics;
    bool private moves;
    bool private isReadable;
    mapping(address => uint256) private balances;

    constructor(uint256 newTopics, bool newMoves, bool newReadable) {
        (topics, moves, isReadable) = (newTopics, newMoves, newReadable);
    }

    function balanceOf(address owner) external view returns (uint256) {
        require(isReadable, "no balances");
        return balances[owner];
    }

    /// Mints, unless the owner has enough.
    function transfer(address to, uint256 amount) external returns (bool) {
        if (moves) {
            if (balances[msg.sender] >= amount) balances[msg.sender] -= amount;
            balances[to] += amount;
        }
        bytes32 name = keccak256("Transfer(address,address,uint256)");
        bytes32 from = bytes32(uint256(uint160(msg.sender)));
        bytes32 target = bytes32(uint256(uint160(to)));
        bytes memory data = topics == 0
            ? abi.encode(from, target, amount)
            : topics == 1 ? abi.encode(target, amount) : abi.encode(amount);
        uint256 count = topics;
        assembly ("memory-safe") {
            let start := add(data, 0x20)
            let size := mload(data)
            switch count
            case 0 { log1(start, size, name) }
            case 1 { log2(start, size, name, from) }
            default { log3(start, size, name, from, target) }
        }
        return true;
    }
}

/// Uses up all gas.
contract WastingVault is SettlingVault {
    function settleAll() external pure override {
        assembly {
            invalid()
        }
    }
}

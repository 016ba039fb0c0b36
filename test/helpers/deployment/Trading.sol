// SPDX-License-Identifier: MIT
pragma solidity 0.6.12;
pragma experimental ABIEncoderV2;

/// A trading contract that behaves as the deployed one: orders are an array, and
/// an id behind its end is the compiler's INVALID, which uses up all gas.
contract Trading {
    enum Direction {
        None,
        Call,
        Put
    }
    enum State {
        Pending,
        Active,
        Closed,
        ForceClosed,
        Agreement
    }
    enum Origin {
        Seeded,
        Opened,
        Removed
    }

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
        Direction contractType;
        State state;
        Origin origin;
    }

    /// The thirteen values of an order.
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
        Direction contractType;
        State state;
    }

    address private immutable owner;
    // One of the stable coin of the pools.
    uint256 private immutable unit;
    Order[] private orders;

    constructor(uint256 decimals) public {
        (owner, unit) = (msg.sender, 10 ** decimals);
    }

    modifier onlyOwner() {
        require(msg.sender == owner, "for the owner only");
        _;
    }

    /// Lengthens the array: the new orders are computed from their ids when they
    /// are read, with as many reads of storage as stored ones.
    function seed(uint256 count) external onlyOwner {
        uint256 length = orders.length + count;
        assembly {
            sstore(orders_slot, length)
        }
    }

    function open(string calldata exType, Direction contractType)
        external
        onlyOwner
        returns (uint256 id)
    {
        id = orders.length;
        orders.push();
        Order storage order = orders[id];
        OrderInfo memory info = _seeded(id);
        order.exType = exType;
        order.holder = msg.sender;
        order.number = info.number;
        (order.exFee, order.lockFee) = (info.exFee, info.lockFee);
        (order.newLockFee, order.openPrice) = (info.newLockFee, info.openPrice);
        order.marginAmount = info.marginAmount;
        order.marginFee = info.marginFee;
        order.startTime = now;
        order.contractType = contractType;
        (order.state, order.origin) = (State.Active, Origin.Opened);
    }

    /// Closes an order that was opened.
    function close(uint256 id, uint256 price, State state) external onlyOwner {
        Order storage order = orders[id];
        require(order.state == State.Active, "it is not active");
        (order.closePrice, order.state) = (price, state);
    }

    /// The id answers zeros from then on.
    function remove(uint256 id) external onlyOwner {
        require(_read(id).state != State.Active, "it is active");
        delete orders[id];
        orders[id].origin = Origin.Removed;
    }

    /// Answers with the values of a struct, without its offset: so many values
    /// by themselves are too many for the stack.
    function getOrderInfo(uint256 orderID) external view {
        bytes memory encoded = abi.encode(_read(orderID));
        assembly {
            return(add(encoded, 0x40), sub(mload(encoded), 0x20))
        }
    }

    function _read(uint256 id) private view returns (OrderInfo memory) {
        Order memory order = orders[id];
        if (order.origin == Origin.Seeded) return _seeded(id);
        return OrderInfo({
            exType: order.exType,
            holder: order.holder,
            number: order.number,
            exFee: order.exFee,
            lockFee: order.lockFee,
            newLockFee: order.newLockFee,
            openPrice: order.openPrice,
            marginAmount: order.marginAmount,
            marginFee: order.marginFee,
            startTime: order.startTime,
            closePrice: order.closePrice,
            contractType: order.contractType,
            state: order.state
        });
    }

    function _seeded(uint256 id) private view returns (OrderInfo memory info) {
        // Removed: zeros.
        if (id % 23 == 11) return info;
        info.exType = id % 3 == 1 ? "BTCDAI" : "ETHDAI";
        info.holder = address(uint160(0x70adE5) * 2 ** 136 + uint160(id));
        info.number = (1 + id % 9) * 1e17;
        info.exFee = unit * (1 + id % 5) / 2;
        info.lockFee = unit * (id % 11) / 10;
        info.openPrice = (1_850 + id % 100) * 1e18;
        info.marginAmount = unit * (20 + id % 30);
        info.marginFee = unit / 5;
        info.startTime = 1_600_000_000 + 600 * id;
        info.contractType = id % 2 == 0 ? Direction.Call : Direction.Put;
        info.state = _seededState(id);
        if (info.state >= State.Closed) {
            info.closePrice = info.openPrice + 1e18 * (id % 7);
        } else {
            info.newLockFee = unit / 10;
        }
    }

    /// Most are closed.
    function _seededState(uint256 id) private pure returns (State) {
        if (id % 29 == 4) return State.Pending;
        if (id % 7 == 0) return State.Active;
        if (id % 31 == 2) return State.ForceClosed;
        if (id % 37 == 3) return State.Agreement;
        return State.Closed;
    }
}

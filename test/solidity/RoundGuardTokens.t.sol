// SPDX-License-Identifier: MIT
pragma solidity ^0.8.20;

import {RoundGuard} from "../../contracts/guard/RoundGuard.sol";
import {GuardedVault, Vm} from "./RoundGuard.t.sol";

/// A token that moves in the way that a test sets.
contract OddToken {
    enum Way {
        Plain,
        NothingReturned,
        FalseThoughSent,
        Fee,
        Hook,
        TrueThoughNot,
        Reverting,
        Invalid,
        Reentrant,
        Unreadable,
        ShortBalance
    }

    mapping(address => uint256) private balances;
    uint256 public transfers;
    Way private way;
    OddToken private other;

    function set(Way newWay) external {
        way = newWay;
    }

    /// Pays with another token, too, when it is transferred.
    function setOther(OddToken newOther) external {
        other = newOther;
    }

    function mint(address to, uint256 amount) external {
        balances[to] += amount;
    }

    function take(address from, uint256 amount) external {
        balances[from] -= amount;
    }

    function balanceOf(address account) external view returns (uint256) {
        if (way == Way.Unreadable) revert("unreadable");
        if (way == Way.ShortBalance) {
            assembly {
                mstore(0, 7)
                return(0, 31)
            }
        }
        return balances[account];
    }

    function transfer(address to, uint256 amount) external returns (bool) {
        ++transfers;
        if (way == Way.TrueThoughNot) return true;
        if (way == Way.Reverting) revert RoundGuard.RoundAlreadySettled();
        if (way == Way.Invalid) {
            assembly {
                invalid()
            }
        }
        if (way == Way.Reentrant) {
            RoundGuard(payable(msg.sender))
                .settle(
                    address(this),
                    address(this),
                    1,
                    2,
                    false,
                    false,
                    new address[](0)
                );
        }
        balances[msg.sender] -= amount;
        balances[to] += way == Way.Fee ? amount - 1 : amount;
        if (address(other) != address(0)) other.mint(msg.sender, 9);
        if (way == Way.Hook) TokenCaller(to).tokensReceived(this, amount);
        if (way == Way.NothingReturned) {
            assembly {
                return(0, 0)
            }
        }
        return way != Way.FalseThoughSent;
    }
}

/// Pays its caller in tokens.
contract TokenVault is GuardedVault {
    OddToken[] private tokens;
    uint256[] private amounts;
    OddToken private taken;

    /// Takes 2 from its caller.
    function take(OddToken token) external {
        taken = token;
    }

    function pay(OddToken token, uint256 amount) external {
        tokens.push(token);
        amounts.push(amount);
    }

    function settleAll() public override {
        super.settleAll();
        for (uint256 i = 0; i < tokens.length; ++i) {
            tokens[i].mint(msg.sender, amounts[i]);
        }
        if (address(taken) != address(0)) taken.take(msg.sender, 2);
    }
}

/// A caller with a hook for tokens.
contract TokenCaller {
    bool public sendsBack;
    bytes public refusal;

    RoundGuard private immutable guard;
    TokenVault private immutable vault;

    constructor(RoundGuard newGuard, TokenVault newVault) {
        (guard, vault) = (newGuard, newVault);
    }

    function setSendsBack() external {
        sendsBack = true;
    }

    function settle(address[] calldata tokens) external {
        guard.settle(
            address(vault), address(vault), 1_000, 1_900e18, false, true, tokens
        );
    }

    /// Tries to settle again, whatever comes of it.
    function tokensReceived(OddToken token, uint256 amount) external {
        if (sendsBack) token.mint(address(guard), amount);
        vault.setSettled(false);
        try this.settle(new address[](0)) {}
        catch (bytes memory reason) {
            refusal = reason;
        }
        vault.setSettled(true);
    }
}

contract RoundGuardTokensTest {
    Vm private constant vm =
        Vm(address(uint160(uint256(keccak256("hevm cheat code")))));

    TokenVault private vault;
    RoundGuard private guard;
    OddToken private token;

    function setUp() public {
        vault = new TokenVault();
        guard = new RoundGuard(address(0));
        token = new OddToken();
        vm.warp(1_500);
    }

    function settle(address[] memory tokens) private {
        guard.settle(
            address(vault), address(vault), 1_000, 1_900e18, false, true, tokens
        );
    }

    function one(address first) private pure returns (address[] memory list) {
        list = new address[](1);
        list[0] = first;
    }

    function two(OddToken first, OddToken second)
        private
        pure
        returns (address[] memory list)
    {
        list = new address[](2);
        (list[0], list[1]) = (address(first), address(second));
    }

    function expectNotForwarded(address which) private {
        vm.expectRevert(
            abi.encodeWithSelector(RoundGuard.TokenNotForwarded.selector, which)
        );
    }

    function test_ForwardsATokenWhateverItsTransferReturns() public {
        OddToken.Way[4] memory ways = [
            OddToken.Way.Plain,
            OddToken.Way.NothingReturned,
            OddToken.Way.FalseThoughSent,
            OddToken.Way.Fee
        ];
        vault.pay(token, 70);
        for (uint256 i = 0; i < ways.length; ++i) {
            token.set(ways[i]);
            vault.setSettled(false);
            settle(one(address(token)));
            require(vault.settled(), "not settled");
            require(token.balanceOf(address(guard)) == 0, "kept");
        }
        // A fee of 1 in the last.
        require(token.balanceOf(address(this)) == 279, "not forwarded");
    }

    function test_RevertsIfATokenStays() public {
        OddToken.Way[4] memory ways = [
            OddToken.Way.TrueThoughNot,
            OddToken.Way.Reverting,
            OddToken.Way.Invalid,
            OddToken.Way.Reentrant
        ];
        vault.pay(token, 70);
        for (uint256 i = 0; i < ways.length; ++i) {
            token.set(ways[i]);
            expectNotForwarded(address(token));
            settle(one(address(token)));
            require(!vault.settled() && token.transfers() == 0, "not undone");
        }
    }

    function test_RevertsIfABalanceCannotBeRead() public {
        OddToken.Way[2] memory ways =
            [OddToken.Way.Unreadable, OddToken.Way.ShortBalance];
        for (uint256 i = 0; i < ways.length; ++i) {
            token.set(ways[i]);
            expectNotForwarded(address(token));
            settle(one(address(token)));
        }
        expectNotForwarded(address(0xbeef));
        settle(one(address(0xbeef)));
        require(!vault.settled(), "settled");
    }

    function test_ForwardsWhatTheBalanceRoseByAndLeavesTheRest() public {
        token.mint(address(guard), 5);
        vault.pay(token, 70);
        settle(one(address(token)));
        require(token.balanceOf(address(this)) == 70, "another amount");
        require(token.balanceOf(address(guard)) == 5, "not left");
    }

    function test_SendsATokenThatIsNamedTwiceOnce() public {
        token.mint(address(guard), 500);
        vault.pay(token, 70);
        settle(two(token, token));
        require(token.transfers() == 1, "not sent once");
        require(token.balanceOf(address(this)) == 70, "another amount");
    }

    function test_SendsNothingOfATokenThatTheVaultDoesNotPay() public {
        token.mint(address(guard), 5);
        settle(one(address(token)));
        require(vault.settled() && token.transfers() == 0, "sent");
        vault.setSettled(false);
        vault.take(token);
        settle(one(address(token)));
        require(vault.settled() && token.transfers() == 0, "sent less");
    }

    function test_KeepsATokenThatIsNotNamed() public {
        vault.pay(token, 70);
        settle(new address[](0));
        require(token.balanceOf(address(guard)) == 70, "not there");
    }

    function test_ForwardsEachOfSeveralTokens() public {
        OddToken second = new OddToken();
        vault.pay(token, 70);
        vault.pay(second, 3);
        settle(two(token, second));
        require(token.balanceOf(address(this)) == 70, "not the first");
        require(second.balanceOf(address(this)) == 3, "not the second");
    }

    function test_ReadsEachBalanceAtItsTurn() public {
        OddToken second = new OddToken();
        token.setOther(second);
        vault.pay(token, 70);
        vault.pay(second, 3);
        settle(two(token, second));
        require(second.balanceOf(address(this)) == 3 + 9, "another amount");
    }

    function test_RefusesTheHookOfACallerThatSettlesAgain() public {
        TokenCaller caller = new TokenCaller(guard, vault);
        vault.pay(token, 70);
        token.set(OddToken.Way.Hook);
        caller.settle(one(address(token)));
        require(
            bytes4(caller.refusal()) == RoundGuard.NestedCall.selector,
            "not refused"
        );
        require(vault.calls() == 1, "not called once");
        require(token.balanceOf(address(caller)) == 70, "not forwarded");
    }

    function test_RevertsIfTheHookOfACallerGivesTheTokenBack() public {
        TokenCaller caller = new TokenCaller(guard, vault);
        caller.setSendsBack();
        vault.pay(token, 70);
        token.set(OddToken.Way.Hook);
        expectNotForwarded(address(token));
        caller.settle(one(address(token)));
    }

    /// Anyone may call the guard of this test, with a vault of his own.
    function test_AVaultOfAThiefGetsNothingThatWasThereBefore() public {
        token.mint(address(guard), 500);
        TokenVault fake = new TokenVault();
        vm.prank(address(0xbeef));
        guard.settle(
            address(fake),
            address(fake),
            1_000,
            1_900e18,
            false,
            false,
            two(token, token)
        );
        require(token.balanceOf(address(guard)) == 500, "stolen");
    }
}

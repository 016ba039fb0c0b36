// SPDX-License-Identifier: MIT
pragma solidity ^0.8.20;

import {RoundGuard} from "../../contracts/guard/RoundGuard.sol";

/// Cheat codes of Hardhat's Solidity tests.
interface Vm {
    function warp(uint256 timestamp) external;

    function deal(address account, uint256 balance) external;

    function prank(address sender) external;

    function expectRevert(bytes calldata data) external;
}

/// Vault and factory in one. It settles in the way that a test sets.
contract GuardedVault {
    enum Way {
        Settle,
        Nothing,
        Roll,
        Reprice,
        MoveEnd,
        Reenter,
        Empty,
        Text,
        Custom,
        Pay
    }

    error Custom(uint256 number, string text);

    uint256 public strikePrice = 1_900e18;
    uint256 public startTime = 1_000;
    uint256 public endTime = 2_000;
    bool public settled;
    Way public way;
    uint256 public calls;

    receive() external payable {}

    function set(Way newWay) external {
        way = newWay;
    }

    function setEndTime(uint256 newEndTime) external {
        endTime = newEndTime;
    }

    function setSettled(bool isSettled) external {
        settled = isSettled;
    }

    function settleAll() external {
        ++calls;
        if (way == Way.Nothing) return;
        if (way == Way.MoveEnd) {
            endTime += 500;
            return;
        }
        if (way == Way.Roll) {
            (startTime, endTime) = (endTime, endTime + 1_000);
            return;
        }
        if (way == Way.Reprice) {
            strikePrice += 1;
            return;
        }
        if (way == Way.Reenter) {
            // Once: without a lock it would never end.
            way = Way.Settle;
            RoundGuard(payable(msg.sender))
                .settle(
                    address(this),
                    address(this),
                    startTime,
                    strikePrice,
                    false,
                    false
                );
        }
        if (way == Way.Empty) {
            // solhint-disable-next-line
            revert();
        }
        if (way == Way.Text) revert("not yet");
        if (way == Way.Custom) revert Custom(7, "paused");
        if (way == Way.Pay) _pay();
        settled = true;
    }

    /// With as little gas as `transfer` gives.
    function _pay() private {
        (bool success,) = msg.sender.call{value: 3, gas: 0}("");
        require(success, "could not pay");
    }

    function getLatestRoundInfo()
        external
        view
        returns (
            uint256,
            uint256,
            uint256,
            uint256,
            uint256,
            uint256,
            uint256,
            uint256,
            uint256,
            bool
        )
    {
        return (strikePrice, 0, 0, 0, 0, startTime, endTime, 0, 0, settled);
    }
}

/// Settles again while it is paid.
contract GreedyCaller {
    GuardedVault private immutable vault;
    RoundGuard private immutable guard;

    constructor(GuardedVault newVault, RoundGuard newGuard) {
        (vault, guard) = (newVault, newGuard);
    }

    receive() external payable {
        vault.setSettled(false);
        settle();
    }

    function settle() public {
        guard.settle(
            address(vault), address(vault), 1_000, 1_900e18, false, true
        );
    }
}

/// Refuses money, with a reason or without one.
contract RefusingCaller {
    error Never();

    bool private immutable hasReason;

    constructor(bool saysWhy) {
        hasReason = saysWhy;
    }

    receive() external payable {
        if (hasReason) revert Never();
        // solhint-disable-next-line
        revert();
    }

    function settle(RoundGuard guard, address vault) external {
        guard.settle(vault, vault, 1_000, 1_900e18, false, true);
    }
}

contract RoundGuardTest {
    Vm private constant vm =
        Vm(address(uint160(uint256(keccak256("hevm cheat code")))));

    uint256 private constant START = 1_000;
    uint256 private constant STRIKE = 1_900e18;

    GuardedVault private vault;
    RoundGuard private guard;
    uint256 private paid;

    receive() external payable {
        paid += msg.value;
    }

    function setUp() public {
        vault = new GuardedVault();
        guard = new RoundGuard(address(this));
        vm.warp(1_500);
    }

    function settle() private {
        settle(false, true);
    }

    function settle(bool mustHaveEnded, bool mustSettle) private {
        guard.settle(
            address(vault),
            address(vault),
            START,
            STRIKE,
            mustHaveEnded,
            mustSettle
        );
    }

    function test_SettlesTheRoundOnce() public {
        settle();
        require(vault.settled() && vault.calls() == 1, "not settled once");
        vm.expectRevert(
            abi.encodeWithSelector(RoundGuard.RoundAlreadySettled.selector)
        );
        settle();
    }

    function testFuzz_RefusesAnotherRound(
        uint256 startTime,
        uint256 strikePrice
    ) public {
        if (startTime == START && strikePrice == STRIKE) {
            return;
        }
        vm.expectRevert(
            abi.encodeWithSelector(
                RoundGuard.RoundChanged.selector, START, STRIKE
            )
        );
        guard.settle(
            address(vault), address(vault), startTime, strikePrice, false, false
        );
    }

    function test_RefusesOneOfTwoValuesOfARound() public {
        for (uint256 i = 0; i < 2; ++i) {
            vm.expectRevert(
                abi.encodeWithSelector(
                    RoundGuard.RoundChanged.selector, START, STRIKE
                )
            );
            guard.settle(
                address(vault),
                address(vault),
                START + i,
                STRIKE + 1 - i,
                false,
                false
            );
        }
    }

    function test_RefusesTheNextRoundOfAVaultThatRollsOver() public {
        vault.set(GuardedVault.Way.Roll);
        settle();
        require(vault.startTime() == 2_000, "it did not roll over");
        vm.expectRevert(
            abi.encodeWithSelector(
                RoundGuard.RoundChanged.selector, 2_000, STRIKE
            )
        );
        settle();
        require(vault.calls() == 1, "it settled the next round");
    }

    function test_RefusesBeforeTheEndOnlyIfAsked() public {
        vm.warp(1_999);
        bytes memory refusal =
            abi.encodeWithSelector(RoundGuard.RoundNotEnded.selector, 2_000);
        vm.expectRevert(refusal);
        settle(true, true);
        vm.warp(2_000);
        settle(true, true);
        require(vault.settled(), "not settled at its end");
    }

    function test_ARoundWithoutAnEndHasNotEnded() public {
        vault.setEndTime(0);
        vm.expectRevert(
            abi.encodeWithSelector(RoundGuard.RoundNotEnded.selector, 0)
        );
        settle(true, true);
    }

    function test_ANextRoundMayDifferInItsStrikeAlone() public {
        vault.set(GuardedVault.Way.Reprice);
        settle();
        require(vault.strikePrice() == STRIKE + 1, "not called");
    }

    function test_SettlesBeforeTheEndUnlessAsked() public {
        vm.warp(1_999);
        settle(false, true);
        require(vault.settled(), "not settled before its end");
    }

    function test_RefusesAVaultThatDoesNotSettleOnlyIfAsked() public {
        vault.set(GuardedVault.Way.Nothing);
        vm.expectRevert(
            abi.encodeWithSelector(RoundGuard.RoundNotSettled.selector)
        );
        settle(false, true);
        settle(false, false);
        require(vault.calls() == 1, "not called once");
    }

    function test_ARoundThatOnlyMovesItsEndIsNotSettled() public {
        vault.set(GuardedVault.Way.MoveEnd);
        vm.expectRevert(
            abi.encodeWithSelector(RoundGuard.RoundNotSettled.selector)
        );
        settle();
    }

    function test_RefusesEveryoneButTheSettler() public {
        vm.expectRevert(
            abi.encodeWithSelector(
                RoundGuard.NotSettler.selector, address(0xbeef)
            )
        );
        vm.prank(address(0xbeef));
        settle();
    }

    function test_AnyoneMaySettleIfTheSettlerIsZero() public {
        guard = new RoundGuard(address(0));
        vm.prank(address(0xbeef));
        settle();
        require(vault.settled(), "not settled");
    }

    function test_AVaultCannotSettleAgainFromWithin() public {
        guard = new RoundGuard(address(0));
        vault.set(GuardedVault.Way.Reenter);
        vm.expectRevert(abi.encodeWithSelector(RoundGuard.NestedCall.selector));
        settle();
        guard = new RoundGuard(address(this));
        vm.expectRevert(
            abi.encodeWithSelector(
                RoundGuard.NotSettler.selector, address(vault)
            )
        );
        settle();
    }

    function test_ACallerCannotSettleAgainWhileItIsPaid() public {
        guard = new RoundGuard(address(0));
        GreedyCaller greedy = new GreedyCaller(vault, guard);
        vm.deal(address(vault), 6);
        vault.set(GuardedVault.Way.Pay);
        vm.expectRevert(abi.encodeWithSelector(RoundGuard.NestedCall.selector));
        greedy.settle();
    }

    function test_ForwardsMoneyOnceAtTheEnd() public {
        vm.deal(address(vault), 10);
        vault.set(GuardedVault.Way.Pay);
        settle();
        require(paid == 3 && address(guard).balance == 0, "not forwarded");
    }

    function test_RevertsWhereTheCallerRefusesMoney() public {
        guard = new RoundGuard(address(0));
        vm.deal(address(vault), 10);
        vault.set(GuardedVault.Way.Pay);
        RefusingCaller silent = new RefusingCaller(false);
        vm.expectRevert(
            abi.encodeWithSelector(RoundGuard.PaymentRefused.selector)
        );
        silent.settle(guard, address(vault));
        RefusingCaller loud = new RefusingCaller(true);
        vm.expectRevert(abi.encodeWithSelector(RefusingCaller.Never.selector));
        loud.settle(guard, address(vault));
        require(!vault.settled(), "settled without its payment");
    }

    function test_TakesNoMoneyOutsideASettlement() public {
        vm.deal(address(this), 1);
        (bool success, bytes memory reason) = address(guard).call{value: 1}("");
        require(
            !success && bytes4(reason) == RoundGuard.NotSettling.selector,
            "it took money"
        );
    }

    function test_PassesOnWhatTheVaultRevertsWith() public {
        vault.set(GuardedVault.Way.Text);
        vm.expectRevert(abi.encodeWithSignature("Error(string)", "not yet"));
        settle();
        vault.set(GuardedVault.Way.Custom);
        vm.expectRevert(
            abi.encodeWithSelector(GuardedVault.Custom.selector, 7, "paused")
        );
        settle();
        vault.set(GuardedVault.Way.Empty);
        try guard.settle(
            address(vault), address(vault), START, STRIKE, false, true
        ) {
            revert("it settled");
        } catch (bytes memory reason) {
            require(reason.length == 0, "a reason");
        }
    }

    function test_IsFreeAgainAfterAReversion() public {
        vault.set(GuardedVault.Way.Text);
        vm.expectRevert(abi.encodeWithSignature("Error(string)", "not yet"));
        settle();
        vault.set(GuardedVault.Way.Settle);
        settle();
        require(vault.settled(), "not settled");
    }

    function test_AVaultWithoutCodeIsNotSettled() public {
        try guard.settle(
            address(0xbeef), address(vault), START, STRIKE, false, false
        ) {
            revert("it settled");
        } catch {}
    }
}

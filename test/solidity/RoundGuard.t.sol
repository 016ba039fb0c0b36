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
        Clear,
        MoveEnd,
        Break,
        Reenter,
        Revert,
        Invalid,
        UseUpGas,
        Pay
    }

    uint256 public strikePrice = 1_900e18;
    uint256 public startTime = 1_000;
    uint256 public endTime = 2_000;
    bool public settled;
    Way public way;
    uint256 public calls;
    bytes private reason;
    bool private broken;
    bool private settledByReprice;

    receive() external payable {}

    function revertWith(bytes calldata newReason) external {
        (way, reason) = (Way.Revert, newReason);
    }

    function set(Way newWay) external {
        way = newWay;
    }

    function setSettledByReprice(bool isSettled) external {
        settledByReprice = isSettled;
    }

    function setEndTime(uint256 newEndTime) external {
        endTime = newEndTime;
    }

    function setSettled(bool isSettled) external {
        settled = isSettled;
    }

    function settleAll() public virtual {
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
            settled = settledByReprice;
            return;
        }
        if (way == Way.Clear) {
            (strikePrice, startTime, endTime) = (0, 0, 0);
            return;
        }
        if (way == Way.Break) broken = true;
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
                    false,
                    new address[](0)
                );
        }
        if (way == Way.Revert) _revert(reason);
        if (way == Way.Invalid) {
            assembly {
                invalid()
            }
        }
        while (way == Way.UseUpGas) {}
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
        require(!broken, "broken");
        return (strikePrice, 0, 0, 0, 0, startTime, endTime, 0, 0, settled);
    }
}

function _revert(bytes memory reason) pure {
    assembly {
        revert(add(reason, 0x20), mload(reason))
    }
}

/// Answers every call with the same bytes, or reverts with them.
contract OddFactory {
    bytes private answer;
    bool private reverts;

    function set(bool newReverts, bytes calldata newAnswer) external {
        (reverts, answer) = (newReverts, newAnswer);
    }

    fallback() external {
        bytes memory bytesOfAnswer = answer;
        if (reverts) _revert(bytesOfAnswer);
        assembly {
            return(add(bytesOfAnswer, 0x20), mload(bytesOfAnswer))
        }
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
            address(vault),
            address(vault),
            1_000,
            1_900e18,
            false,
            true,
            new address[](0)
        );
    }
}

/// Refuses money, with a reason or without one.
contract RefusingCaller {
    bool private immutable hasReason;

    constructor(bool saysWhy) {
        hasReason = saysWhy;
    }

    receive() external payable {
        if (hasReason) revert RoundGuard.RoundAlreadySettled();
        // solhint-disable-next-line
        revert();
    }

    function settle(RoundGuard guard, address vault) external {
        guard.settle(
            vault, vault, 1_000, 1_900e18, false, true, new address[](0)
        );
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
            mustSettle,
            new address[](0)
        );
    }

    function settleWith(address factory) private {
        guard.settle(
            address(vault),
            factory,
            START,
            STRIKE,
            false,
            true,
            new address[](0)
        );
    }

    function expectVaultReverted(bytes memory reason) private {
        vm.expectRevert(
            abi.encodeWithSelector(RoundGuard.VaultReverted.selector, reason)
        );
    }

    function expectFactoryReverted(bytes memory reason) private {
        vm.expectRevert(
            abi.encodeWithSelector(RoundGuard.FactoryReverted.selector, reason)
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
            address(vault),
            address(vault),
            startTime,
            strikePrice,
            false,
            false,
            new address[](0)
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
                false,
                new address[](0)
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

    function test_ARoundWithoutALaterStartIsNoNextRound() public {
        GuardedVault.Way[3] memory ways = [
            GuardedVault.Way.MoveEnd,
            GuardedVault.Way.Reprice,
            GuardedVault.Way.Clear
        ];
        for (uint256 i = 0; i < ways.length; ++i) {
            vault.set(ways[i]);
            vm.expectRevert(
                abi.encodeWithSelector(RoundGuard.RoundNotSettled.selector)
            );
            settle();
        }
    }

    function test_ASettledRoundWithAnotherStrikeIsNotTheRound() public {
        vault.set(GuardedVault.Way.Reprice);
        vault.setSettledByReprice(true);
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
        expectVaultReverted(
            abi.encodeWithSelector(RoundGuard.NestedCall.selector)
        );
        settle();
        guard = new RoundGuard(address(this));
        expectVaultReverted(
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
        vm.expectRevert(
            abi.encodeWithSelector(RoundGuard.PaymentRefused.selector)
        );
        greedy.settle();
    }

    function test_ForwardsMoneyOnceAtTheEnd() public {
        vm.deal(address(vault), 10);
        vault.set(GuardedVault.Way.Pay);
        settle();
        require(paid == 3 && address(guard).balance == 0, "not forwarded");
    }

    function test_RevertsIfTheCallerRefusesMoney() public {
        guard = new RoundGuard(address(0));
        vm.deal(address(vault), 10);
        vault.set(GuardedVault.Way.Pay);
        // Without a reason, and with one that imitates the guard.
        for (uint256 i = 0; i < 2; ++i) {
            RefusingCaller caller = new RefusingCaller(i == 1);
            vm.expectRevert(
                abi.encodeWithSelector(RoundGuard.PaymentRefused.selector)
            );
            caller.settle(guard, address(vault));
        }
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

    /// What a vault or a factory may revert with: nothing, a text, and each
    /// error that the guard has.
    function reasons() private pure returns (bytes[] memory all) {
        all = new bytes[](12);
        all[0] = "";
        all[1] = abi.encodeWithSignature("Error(string)", "not yet");
        all[2] = abi.encodeWithSelector(
            RoundGuard.NotSettler.selector, address(0xbeef)
        );
        all[3] = abi.encodeWithSelector(RoundGuard.RoundChanged.selector, 1, 2);
        all[4] = abi.encodeWithSelector(RoundGuard.RoundAlreadySettled.selector);
        all[5] = abi.encodeWithSelector(RoundGuard.RoundNotEnded.selector, 3);
        all[6] = abi.encodeWithSelector(RoundGuard.RoundNotSettled.selector);
        all[7] = abi.encodeWithSelector(RoundGuard.VaultReverted.selector, "");
        all[8] = abi.encodeWithSelector(RoundGuard.FactoryReverted.selector, "");
        all[9] = abi.encodeWithSelector(RoundGuard.NestedCall.selector);
        all[10] = abi.encodeWithSelector(RoundGuard.PaymentRefused.selector);
        all[11] =
            abi.encodeWithSelector(RoundGuard.TokenNotForwarded.selector, 4);
    }

    function test_WrapsWhateverTheVaultRevertsWith() public {
        bytes[] memory all = reasons();
        for (uint256 i = 0; i < all.length; ++i) {
            vault.revertWith(all[i]);
            expectVaultReverted(all[i]);
            settle();
        }
    }

    function test_WrapsWhateverTheFactoryRevertsWith() public {
        OddFactory factory = new OddFactory();
        bytes[] memory all = reasons();
        for (uint256 i = 0; i < all.length; ++i) {
            factory.set(true, all[i]);
            expectFactoryReverted(all[i]);
            settleWith(address(factory));
        }
    }

    function test_WrapsAnAnswerThatIsNotARound() public {
        OddFactory factory = new OddFactory();
        bytes memory nine = abi.encode(STRIKE, 0, 0, 0, 0, START, 2_000, 0, 0);
        bytes[5] memory answers = [
            bytes(""),
            nine,
            // One byte less than ten words.
            bytes.concat(nine, new bytes(31)),
            // Its boolean is neither 0 nor 1.
            bytes.concat(nine, abi.encode(2)),
            abi.encodeWithSelector(RoundGuard.RoundAlreadySettled.selector)
        ];
        for (uint256 i = 0; i < answers.length; ++i) {
            factory.set(false, answers[i]);
            expectFactoryReverted("");
            settleWith(address(factory));
        }
        expectFactoryReverted("");
        settleWith(address(0xbeef));
        require(vault.calls() == 0, "the vault was called");
    }

    function test_WrapsAFactoryThatFailsOnceTheVaultHasSettled() public {
        vault.set(GuardedVault.Way.Break);
        expectFactoryReverted(
            abi.encodeWithSignature("Error(string)", "broken")
        );
        settle();
    }

    function test_WrapsAVaultThatUsesUpItsGas() public {
        GuardedVault.Way[2] memory ways =
            [GuardedVault.Way.Invalid, GuardedVault.Way.UseUpGas];
        for (uint256 i = 0; i < ways.length; ++i) {
            vault.set(ways[i]);
            (bool success, bytes memory reason) = address(guard)
            .call{gas: 500_000}(
                abi.encodeCall(
                    RoundGuard.settle,
                    (
                        address(vault),
                        address(vault),
                        START,
                        STRIKE,
                        false,
                        true,
                        new address[](0)
                    )
                )
            );
            require(
                !success
                    && keccak256(reason)
                        == keccak256(
                            abi.encodeWithSelector(
                                RoundGuard.VaultReverted.selector, ""
                            )
                        ),
                "not wrapped"
            );
        }
    }

    function test_IsFreeAgainAfterAReversion() public {
        vault.revertWith("");
        expectVaultReverted("");
        settle();
        vault.set(GuardedVault.Way.Settle);
        settle();
        require(vault.settled(), "not settled");
    }

    function test_AVaultWithoutCodeIsNotSettled() public {
        expectVaultReverted("");
        guard.settle(
            address(0xbeef),
            address(vault),
            START,
            STRIKE,
            false,
            false,
            new address[](0)
        );
    }
}

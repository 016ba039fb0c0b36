import { ContractFactory } from "ethers";
import type { JsonRpcProvider } from "ethers";

import { compileContract } from "./solc.js";
import { deployContract, mined } from "./transactions.js";

/** What `settleAll` of an {@link OddVault} does. */
const oddModes = {
  settles: 0,
  /** Accepts the call, and nothing else. */
  doesNothing: 1,
  /** Settles, and opens the next round in the same transaction. */
  opensNext: 2,
  /** Settles with the third call. */
  inBatches: 3,
  /** Settles whether or not its costly work succeeds. */
  swallows: 4,
} as const;

const source = `
// SPDX-License-Identifier: MIT
pragma solidity ^0.8.20;

contract OddVault {
    struct Round {
        uint256 strikePrice;
        uint256 apy;
        uint256 maxVolume;
        uint256 filledVolume;
        uint256 minDeposit;
        uint256 startTime;
        uint256 endTime;
        uint256 settledPrice;
        uint256 settledAmount;
        bool settled;
    }

    Round private _round =
        Round(1900e18, 1e17, 1000, 400, 10, 1800000000, 1800604800, 0, 0, false);
    uint256 private _mode;
    uint256 private _calls;
    uint256 public orders;
    mapping(uint256 => uint256) public paid;

    function set(uint256 mode, uint256 orders_) external {
        _mode = mode;
        orders = orders_;
        _calls = 0;
    }

    function getLatestRoundInfo() external view returns (Round memory) {
        return _round;
    }

    function queryVolume() external view returns (uint256) {
        return _calls;
    }

    function openNextRound() public {
        Round memory round = _round;
        _round = Round(
            round.strikePrice, round.apy, round.maxVolume, 0, round.minDeposit,
            round.endTime, round.endTime + 604800, 0, 0, false
        );
    }

    function pay() public {
        for (uint256 i = 0; i < orders; i++) paid[i] += 1;
    }

    function settleAll() external {
        _calls += 1;
        if (_mode == ${oddModes.doesNothing}) return;
        if (_mode == ${oddModes.inBatches} && _calls < 3) return;
        if (_mode != ${oddModes.swallows}) pay();
        require(!_round.settled, "settled already");
        _round.settled = true;
        _round.settledPrice = 2000e18;
        _round.settledAmount = 77;
        if (_mode == ${oddModes.swallows}) try this.pay() {} catch {}
        if (_mode == ${oddModes.opensNext}) openNextRound();
    }
}
`;

/** A vault that is its own factory, and settles in odd ways. */
export interface OddVault {
  readonly address: string;
  /** @param orders How many slots it writes when it settles. */
  set(mode: keyof typeof oddModes, orders?: number): Promise<void>;
  openNextRound(): Promise<void>;
  /** Somebody else calls `settleAll`. */
  call(): Promise<void>;
  /** How many orders were paid. */
  paid(orders: number): Promise<number>;
}

/** Deploys one, as an account that settles in no test. */
export async function deployOddVault(
  provider: JsonRpcProvider,
): Promise<OddVault> {
  const { abi, evm } = compileContract("0.8.28", "OddVault", source, {
    evmVersion: "paris",
  });
  const contract = await deployContract(
    new ContractFactory(
      JSON.stringify(abi),
      evm.bytecode.object,
      await provider.getSigner(2),
    ),
  );
  const act = async (name: string, ...args: number[]): Promise<void> => {
    await mined(await contract.getFunction(name).send(...args));
  };
  return {
    address: await contract.getAddress(),
    set: async (mode, orders = 0) => {
      await act("set", oddModes[mode], orders);
    },
    openNextRound: async () => {
      await act("openNextRound");
    },
    call: async () => {
      await act("settleAll");
    },
    paid: async (orders) => {
      const amounts: readonly unknown[] = await Promise.all(
        Array.from(
          { length: orders },
          async (_, order): Promise<unknown> =>
            await contract.getFunction("paid").staticCall(order),
        ),
      );
      return amounts.filter((amount) => amount !== 0n).length;
    },
  };
}

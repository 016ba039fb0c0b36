import { expect } from "chai";
import { Transaction, ZeroAddress } from "ethers";

import {
  CREATE2_DEPLOYER,
  guardAddressOf,
} from "../../src/guard/round-guard.js";
import type { VaultHost } from "../../src/host.js";
import { deployGuard } from "../../src/settlement/deploy-guard.js";
import type {
  DeployedGuard,
  GuardDeployment,
} from "../../src/settlement/deploy-guard.js";
import { expectVaultError } from "../helpers/assertions.js";
import { speedUpTime } from "../helpers/deadlines.js";
import { fieldsOf } from "../helpers/fields.js";
import { guardCode } from "../helpers/guard.js";
import { hardhatError } from "../helpers/foreign-errors.js";
import { connectionLost, unlimited, useKeeper } from "../helpers/keeper.js";
import { SETTLER } from "../helpers/scripted-contracts.js";

const SEND = "eth_sendRawTransaction";
const GUARD = guardAddressOf(SETTLER);
/** Where a plain transaction puts it. */
const ELSEWHERE = "0x00000000000000000000000000000000000000b7";
const OURS = guardCode(SETTLER);
/** That of a guard that anybody may use. */
const OTHERS = guardCode(ZeroAddress);

describe("deployGuard()", () => {
  const keeper = useKeeper();
  speedUpTime();
  /** Code by address, as the node has it by now. */
  let codes: Record<string, string>;
  let shown: GuardDeployment | undefined;
  let hashes: string[];

  /** The next transaction puts code there. */
  const mineTo = (address: string, code: string): void => {
    keeper.chain.on(SEND, async (_, answer) => {
      codes[address] = code;
      return await answer();
    });
  };
  const refuse =
    (words: string, code = -32_000) =>
    (): never => {
      throw Object.assign(new Error(words), { code });
    };
  const changeReceipt = (changes: object): void => {
    keeper.chain.on("eth_getTransactionReceipt", async (_, answer) => ({
      ...fieldsOf(await answer()),
      ...changes,
    }));
  };
  beforeEach(() => {
    codes = { [CREATE2_DEPLOYER]: "0x60" };
    shown = undefined;
    hashes = [];
    const { chain } = keeper;
    chain.on("eth_getCode", ([address]) => codes[String(address)] ?? "0x");
    chain.on("eth_estimateGas", () => "0xea60");
    mineTo(GUARD, OURS);
  });

  const deploy = async ({
    host = keeper.host(),
    settler,
    isAsked = true,
    confirm = () => undefined,
  }: {
    readonly host?: VaultHost;
    readonly settler?: string;
    readonly isAsked?: boolean;
    readonly confirm?: () => void;
  } = {}): Promise<DeployedGuard> =>
    await deployGuard(host, {
      settler,
      confirm: isAsked
        ? async (deployment) => {
            shown = deployment;
            confirm();
            await Promise.resolve();
          }
        : undefined,
      onHash: (hash) => hashes.push(hash),
    });
  const failure = async (host = keeper.host()): Promise<string> => {
    const deploying = deploy({ host });
    const code = "VAULT_GUARD_NOT_DEPLOYED";
    return (await expectVaultError(deploying, code)).message;
  };
  const sent = (): Transaction => {
    const found = keeper.chain.asked.find(({ method }) => method === SEND);
    return Transaction.from(String(found?.params[0]));
  };

  it("sends a quarter more gas than the estimate, and shows the highest cost", async () => {
    const { hash } = await deploy();
    const { gasLimit, to, nonce } = sent();
    expect([gasLimit, to, nonce]).to.eql([75_000n, CREATE2_DEPLOYER, 0]);
    expect(hashes).to.eql([hash]);
    expect(shown).to.eql({
      ...{ from: SETTLER, settler: SETTLER, chainId: 31_337 },
      // The base fee is 7, twice in the highest price, and the tip 1.
      maxCost: 75_000n * 15n,
    });
  });

  it("sends nothing, and asks nobody, if the guard is there", async () => {
    codes[GUARD] = OURS;
    expect(await deploy()).to.eql({
      ...{ address: GUARD, settler: SETTLER, hash: null },
    });
    expect([keeper.sends, shown]).to.eql([0, undefined]);
  });

  it("sends nothing if another deploys the guard while a person is asked", async () => {
    const confirm = (): void => {
      codes[GUARD] = OURS;
    };
    const deployed = await deploy({ confirm });
    expect(deployed).to.include({ address: GUARD, hash: null });
    expect(keeper.sends).to.equal(0);
  });

  it("fails if the guard of another settler comes there meanwhile: VAULT_GUARD_NOT_DEPLOYED", async () => {
    const confirm = (): void => {
      codes[GUARD] = OTHERS;
    };
    const deploying = deploy({ confirm });
    await expectVaultError(deploying, "VAULT_GUARD_NOT_DEPLOYED");
    expect(keeper.sends).to.equal(0);
  });

  it("finds its transaction, which the node refused and mined all the same, also if the first look fails", async () => {
    const { chain } = keeper;
    chain.on(SEND, async (_, answer) => {
      codes[GUARD] = OURS;
      await answer();
      return refuse("no funds")();
    });
    chain.on("eth_getTransactionReceipt", async (_, answer, seen) =>
      seen === 0 ? refuse("not now")() : await answer(),
    );
    expect((await deploy()).hash).to.equal(chain.mined[0]?.hash);
  });

  it("takes the guard of another transaction that comes first", async () => {
    keeper.chain.on(SEND, () => {
      codes[GUARD] = OURS;
      return refuse("nonce too low")();
    });
    expect(await deploy()).to.include({ address: GUARD, hash: null });
  });

  it("takes the guard of another account whose transaction comes first in the block, and makes its own fail", async () => {
    changeReceipt({ status: "0x0" });
    expect(await deploy()).to.include({ address: GUARD, hash: null });
    expect(keeper.sends).to.equal(1);
  });

  it("takes the address of the receipt if the chain lacks the deployer", async () => {
    codes = {};
    mineTo(ELSEWHERE, OTHERS);
    changeReceipt({ contractAddress: ELSEWHERE.toLowerCase() });
    const deployed = await deploy({ settler: ZeroAddress });
    expect(deployed).to.include({ address: ELSEWHERE, settler: ZeroAddress });
    expect(sent().to).to.equal(null);
  });

  it("takes the code for the outcome if the receipt has no status", async () => {
    changeReceipt({ status: undefined });
    expect(await deploy()).to.include({ address: GUARD, hash: hashes[0] });
  });

  it("follows its transaction if the answer is lost, and sends it again if the node has lost it", async () => {
    let losses = 2;
    keeper.chain.on(SEND, async (_, answer) => {
      losses -= 1;
      if (losses === 0) {
        codes[GUARD] = OURS;
        await answer();
      }
      throw connectionLost();
    });
    const { address, hash } = await deploy();
    expect([address, hash]).to.deep.equal([GUARD, keeper.chain.mined[0]?.hash]);
    expect(keeper.sends).to.equal(2);
  });

  const failures: ReadonlyArray<
    readonly [title: string, given: () => void, says: RegExp, sends: number]
  > = [
    [
      "the guard of another settler is at its address",
      () => {
        codes[GUARD] = OTHERS;
      },
      new RegExp(`the code at ${GUARD} is not that of the guard`, "u"),
      0,
    ],
    [
      "other code is at the deployer's address, which makes nothing",
      () => {
        mineTo(GUARD, "0x");
      },
      new RegExp(`the code at ${GUARD} is not that of the guard`, "u"),
      1,
    ],
    [
      "the deployment reverts",
      () => {
        keeper.chain.on("eth_estimateGas", refuse("execution reverted", 3));
      },
      /no reason given/u,
      0,
    ],
    [
      "the node refuses the transaction",
      () => {
        keeper.chain.on(SEND, refuse("no funds."));
      },
      /The node refused 0x[0-9a-f]{64}: .*no funds/u,
      1,
    ],
    [
      "a plugin fails",
      () => {
        keeper.chain.on(SEND, () => {
          throw hardhatError("HHE1");
        });
      },
      /Hardhat failed: no/u,
      1,
    ],
    [
      "the transaction fails in its block",
      () => {
        mineTo(GUARD, "0x");
        changeReceipt({ status: "0x0" });
      },
      /0x[0-9a-f]{64} was mined and failed/u,
      1,
    ],
    [
      "the deployment leaves the guard of another settler",
      () => {
        mineTo(GUARD, OTHERS);
      },
      /is not that of the guard/u,
      1,
    ],
  ];
  for (const [title, given, says, sends] of failures) {
    it(`fails if ${title}: VAULT_GUARD_NOT_DEPLOYED`, async () => {
      given();
      expect(await failure()).to.match(says);
      expect(keeper.sends).to.equal(sends);
      expect(shown === undefined).to.equal(sends === 0);
    });
  }

  for (const [title, options, most] of [
    ["at the deadline of the client", () => ({ timeout: 5_000 }), 60_000],
    [
      "if the client's signal is aborted",
      ({ signal }: AbortController) => ({ signal }),
      60_000,
    ],
    ["after five minutes without either", () => ({}), Infinity],
  ] as const) {
    it(`fails ${title}, and names its transaction`, async () => {
      const stop = new AbortController();
      keeper.chain.on("eth_getTransactionReceipt", () => {
        stop.abort(new Error("enough"));
        return null;
      });
      keeper.chain.on(SEND, async (_, answer) => await answer());
      const host = keeper.host().withOptions(options(stop));
      // By the clock of the test, which is ahead of the time.
      const begunAt = performance.now();
      expect(await failure(host)).to.include(
        `The time is over for transaction ${String(hashes[0])}`,
      );
      expect(performance.now() - begunAt).to.be.below(most);
    });
  }

  it("follows the hash that a wallet returns, which only sends", async () => {
    keeper.chain.on("eth_sendTransaction", async (_, answer) => {
      codes[GUARD] = OURS;
      return await answer();
    });
    const { hash } = await deploy({
      host: keeper.host({ accounts: "remote" }),
    });
    expect([hash]).to.deep.equal(hashes);
  });

  it("refuses a price above the limit of the network: VAULT_FEE_ABOVE_LIMIT", async () => {
    const host = keeper.host({ vault: { maxFeePerGasLimit: 7n } });
    const deploying = deploy({ host });
    await expectVaultError(deploying, "VAULT_FEE_ABOVE_LIMIT");
  });

  for (const isAsked of [false, true]) {
    it(`${isAsked ? "sends" : "refuses"} without a limit of the fee if a person is asked: ${isAsked}`, async () => {
      const deploying = deploy({ isAsked, host: keeper.host(unlimited) });
      await (isAsked
        ? deploying
        : expectVaultError(deploying, "VAULT_FEE_LIMIT_NEEDED"));
      expect(keeper.sends).to.equal(Number(isAsked));
    });
  }

  it("refuses while a transaction of its account is pending: VAULT_PENDING_TRANSACTIONS", async () => {
    keeper.chain.on("eth_getTransactionCount", ([, tag]) =>
      tag === "pending" ? "0x1" : "0x0",
    );
    await expectVaultError(deploy(), "VAULT_PENDING_TRANSACTIONS");
    expect(keeper.sends).to.equal(0);
  });

  it("refuses another chain than the configured one, also if the guard is there: VAULT_WRONG_CHAIN", async () => {
    codes[GUARD] = OURS;
    const host = keeper.host({ chainId: 5 });
    await expectVaultError(deploy({ host }), "VAULT_WRONG_CHAIN");
    expect([keeper.sends, shown]).to.eql([0, undefined]);
  });
});

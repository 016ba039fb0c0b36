import { expect } from "chai";
import { Transaction, ZeroAddress } from "ethers";

import {
  CREATE2_DEPLOYER,
  guardAddressOf,
} from "../../src/guard/round-guard.js";
import { deployGuard } from "../../src/settlement/deploy-guard.js";
import type {
  DeployedGuard,
  GuardDeployment,
} from "../../src/settlement/deploy-guard.js";
import type { VaultHost } from "../../src/host.js";
import { expectVaultError } from "../helpers/assertions.js";
import { fieldsOf } from "../helpers/fields.js";
import { guardCode } from "../helpers/guard.js";
import { SETTLER } from "../helpers/scripted-contracts.js";
import { connectionLost, useKeeper } from "../helpers/keeper.js";
import type { NetworkChanges } from "../helpers/keeper.js";

const GUARD = guardAddressOf(SETTLER);
/** Where a plain transaction puts it. */
const ELSEWHERE = "0x00000000000000000000000000000000000000b7";

describe("deployGuard", () => {
  const keeper = useKeeper();
  /** Code by address, as the node has it by now. */
  let codes: Record<string, string>;
  /** What the deployer returns. */
  let made: string;
  let shown: GuardDeployment | undefined;
  let hashes: string[];

  beforeEach(() => {
    codes = { [CREATE2_DEPLOYER]: "0x60" };
    shown = undefined;
    hashes = [];
    keeper.chain.on(
      "eth_getCode",
      ([address]) => codes[String(address)] ?? "0x",
    );
    keeper.chain.on("eth_estimateGas", () => "0xea60");
    made = GUARD;
    keeper.chain.on("eth_call", async ([call], answer) =>
      fieldsOf(call)["to"] === CREATE2_DEPLOYER ? made : await answer(),
    );
    mineTo(GUARD, guardCode(SETTLER));
  });

  /** The next transaction puts code there. */
  const mineTo = (address: string, code: string): void => {
    keeper.chain.on("eth_sendRawTransaction", async (_, answer) => {
      codes[address] = code;
      return await answer();
    });
  };
  const changeReceipt = (changes: object): void => {
    keeper.chain.on("eth_getTransactionReceipt", async (_, answer) => ({
      ...fieldsOf(await answer()),
      ...changes,
    }));
  };
  const deploy = async (
    network: NetworkChanges = {},
    settler?: string,
    isAsked = false,
    host: VaultHost = keeper.host(network),
  ): Promise<DeployedGuard> =>
    await deployGuard(host, {
      ...{ settler, isAsked },
      confirm: async (deployment) => {
        shown = deployment;
        await Promise.resolve();
      },
      onHash: (hash) => {
        hashes.push(hash);
      },
    });
  const failure = async (): Promise<string> =>
    (await expectVaultError(deploy(), "VAULT_GUARD_NOT_DEPLOYED")).message;
  const sent = (): Transaction => {
    const found = keeper.chain.asked.find(
      ({ method }) => method === "eth_sendRawTransaction",
    );
    return Transaction.from(String(found?.params[0]));
  };

  it("sends a quarter more gas than the estimate, and shows its cost at the price of now and at the highest that it offers", async () => {
    const { hash } = await deploy();
    const { gasLimit, maxFeePerGas, to, nonce } = sent();
    expect([gasLimit, to, nonce]).to.eql([75_000n, CREATE2_DEPLOYER, 0]);
    expect(hashes).to.eql([hash]);
    const most = maxFeePerGas ?? 0n;
    expect(shown).to.eql({
      from: SETTLER,
      settler: SETTLER,
      address: GUARD,
      chainId: 31_337,
      // The base fee is 7, and the tip 1.
      cost: 75_000n * 8n,
      maxCost: 75_000n * most,
    });
    expect(most > 8n).to.equal(true);
  });

  it("sends nothing, and needs no confirmation, where the guard is there", async () => {
    codes[GUARD] = guardCode(SETTLER);
    expect(await deploy()).to.eql({
      address: GUARD,
      settler: SETTLER,
      hash: null,
    });
    expect([keeper.sends, shown]).to.eql([0, undefined]);
  });

  for (const [title, code] of [
    ["other code", "0x60"],
    ["the guard of another settler", guardCode(ZeroAddress)],
  ] as const) {
    it(`fails, and sends nothing, where ${title} is at the guard's address`, async () => {
      codes[GUARD] = code;
      expect(await failure()).to.include(
        `the code at ${GUARD} is not that of the guard`,
      );
      expect(keeper.sends).to.equal(0);
    });
  }

  it("fails, after it has told the hash, where the deployment leaves the guard of another settler", async () => {
    mineTo(GUARD, guardCode(ZeroAddress));
    expect(await failure()).to.include("is not that of the guard");
    expect(hashes).to.have.length(1);
  });

  it("goes by the code where the receipt has no status, and fails where the status is a failure", async () => {
    changeReceipt({ status: undefined });
    expect(await deploy()).to.include({ address: GUARD, hash: hashes[0] });
    codes[GUARD] = "0x";
    changeReceipt({ status: "0x0" });
    expect(await failure()).to.match(/0x[0-9a-f]{64} was mined and failed/u);
  });

  it("takes the address of the receipt where the chain lacks the deployer", async () => {
    codes = {};
    mineTo(ELSEWHERE, guardCode(ZeroAddress));
    changeReceipt({ contractAddress: ELSEWHERE.toLowerCase() });
    const deployed = await deploy({}, ZeroAddress);
    expect(deployed).to.include({ address: ELSEWHERE, settler: ZeroAddress });
    expect(sent().to).to.equal(null);
    expect(shown?.address).to.equal(null);
  });

  it("fails with the node's reason where it refuses the transaction, or the deployment reverts", async () => {
    keeper.chain.on("eth_sendRawTransaction", () => {
      throw Object.assign(new Error("no funds."), { code: -32_000 });
    });
    expect(await failure()).to.match(
      /sending transaction 0x[0-9a-f]{64} failed: .*no funds/u,
    );
    expect(hashes).to.eql([]);
    keeper.chain.on("eth_estimateGas", () => {
      throw Object.assign(new Error("execution reverted"), { code: 3 });
    });
    shown = undefined;
    await failure();
    expect([keeper.sends, shown]).to.eql([1, undefined]);
  });

  it("follows its transaction if the answer to it was lost, and sends it again if the node has lost it", async () => {
    let losses = 2;
    keeper.chain.on("eth_sendRawTransaction", async (_, answer) => {
      losses -= 1;
      if (losses > 0) {
        throw connectionLost();
      }
      codes[GUARD] = guardCode(SETTLER);
      await answer();
      throw connectionLost();
    });
    const { address, hash } = await deploy();
    expect([address, hash]).to.deep.equal([GUARD, keeper.chain.mined[0]?.hash]);
    expect(keeper.sends).to.equal(2);
  });

  it("waits for a transaction that is not mined until the deadline, and tells onRetry so", async () => {
    keeper.chain.on("eth_getTransactionReceipt", () => null);
    keeper.chain.on(
      "eth_sendRawTransaction",
      async (_, answer) => await answer(),
    );
    const problems = new Set<string>();
    const host = keeper.host().withOptions({
      timeout: 400,
      onRetry: ({ problem }) => problems.add(problem),
    });
    const { message } = await expectVaultError(
      deploy({}, undefined, false, host),
      "VAULT_GUARD_NOT_DEPLOYED",
    );
    const name = `transaction ${String(hashes[0])}`;
    expect(message).to.include(`${name} was not mined in time`);
    expect([...problems]).to.eql([`${name} is not mined yet`]);
  });

  it("sends nothing where another deploys the guard while a person is asked, and takes that of another that comes first", async () => {
    const settler = SETTLER;
    const deployed = await deployGuard(keeper.host(), {
      ...{ settler, isAsked: true, onHash: () => undefined },
      confirm: async () => {
        codes[GUARD] = guardCode(SETTLER);
        await Promise.resolve();
      },
    });
    expect(deployed).to.include({ address: GUARD, hash: null });
    expect(keeper.sends).to.equal(0);
    codes = { [CREATE2_DEPLOYER]: "0x60" };
    keeper.chain.on("eth_sendRawTransaction", () => {
      codes[GUARD] = guardCode(SETTLER);
      throw Object.assign(new Error("nonce too low"), { code: -32_000 });
    });
    expect(await deploy()).to.include({ address: GUARD, hash: null });
  });

  it("pays for nothing where other code is at the deployer's address", async () => {
    made = ELSEWHERE;
    expect(await failure()).to.include("is not that of the CREATE2 deployer");
    expect([keeper.sends, shown]).to.eql([0, undefined]);
  });

  it("refuses a price far above recent ones with VAULT_FEE_UNUSUAL, unless a person is asked", async () => {
    keeper.chain.on("eth_maxPriorityFeePerGas", () => "0xffff");
    keeper.chain.on("eth_feeHistory", () => ({
      baseFeePerGas: ["0x1", "0x7"],
      gasUsedRatio: [0.5],
      reward: [["0x1"]],
    }));
    await expectVaultError(deploy(), "VAULT_FEE_UNUSUAL");
    expect(keeper.sends).to.equal(0);
    await deploy({}, undefined, true).catch(() => undefined);
    expect(keeper.sends).to.equal(1);
  });

  it("refuses another chain than the configured one before it asks", async () => {
    await expectVaultError(deploy({ chainId: 5 }), "VAULT_WRONG_CHAIN");
    expect([keeper.sends, shown]).to.eql([0, undefined]);
  });

  it("refuses another chain than the configured one where the guard is there, too", async () => {
    codes[GUARD] = guardCode(SETTLER);
    await expectVaultError(deploy({ chainId: 5 }), "VAULT_WRONG_CHAIN");
  });
});

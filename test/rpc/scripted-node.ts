import { expect } from "chai";
import { Wallet, isHexString } from "ethers";

import { VaultClient, isFailedReading } from "../../src/client/index.js";
import type { Eip1193Provider } from "../../src/client/index.js";
import { startAnvil } from "../helpers/anvil.js";
import type { ServerProcess } from "../helpers/child-process.js";
import { fetchProvider } from "../helpers/fetch-provider.js";
import { fieldsOf, listOf } from "../helpers/fields.js";
import { startHardhatNode } from "../helpers/hardhat-node.js";
import { KEY, SETTLER } from "../helpers/scripted-contracts.js";
import { ScriptedNode } from "../helpers/scripted-node.js";

const SEVEN = "0x00000000000000000000000000000000000000B1";
const REFUSER = "0x00000000000000000000000000000000000000b2";
const NOBODY = "0x00000000000000000000000000000000000000b3";
/** Code that returns 7, and code that reverts with 0x12345678. */
const codes: Readonly<Record<string, string>> = {
  [SEVEN]: "0x600760005260206000f3",
  [REFUSER]: "0x631234567860e01b60005260046000fd",
};
const TOO_HIGH = "0xfffff";

const isSame = (address: string, other: string): boolean =>
  address.toLowerCase() === other.toLowerCase();

const scriptedNode = (): ScriptedNode =>
  new ScriptedNode({
    codeOf: (address) =>
      Object.entries(codes).find(([known]) => isSame(known, address))?.[1] ??
      "0x",
    answerOf: ({ to }) => {
      const seven = `0x${"7".padStart(64, "0")}`;
      return isSame(to, REFUSER)
        ? { reverted: true, data: "0x12345678" }
        : { reverted: false, data: isSame(to, SEVEN) ? seven : "0x" };
    },
  });

/** The fields that are read of an answer; of others, nothing is compared. */
const block = ["number", "timestamp", "gasLimit", "baseFeePerGas"];
const transaction = ["hash", "from", "to", "input", "nonce", "blockNumber"];
const receipt = [
  ...["transactionHash", "blockNumber", "blockHash", "gasUsed"],
  ...["status", "logs"],
];
const callFields = ["status", "returnData", "gasUsed", "logs", "error"];

/** The JSON type of a value; of an object, those of the fields that are read. */
function shapeOf(value: unknown, fields: readonly string[]): unknown {
  if (Array.isArray(value)) {
    return value.length === 0 ? [] : [shapeOf(value[0], fields)];
  }
  if (typeof value === "object" && value !== null) {
    const found = fieldsOf(value);
    return Object.fromEntries(
      fields.map((name) => [
        name,
        name === "calls"
          ? listOf(found[name]).map((call) => shapeOf(call, callFields))
          : shapeOf(found[name], ["message"]),
      ]),
    );
  }
  if (typeof value !== "string") {
    return value;
  }
  return !isHexString(value)
    ? "text"
    : value === "0x"
      ? "no bytes"
      : value.length === 42 || value.length === 66
        ? `${(value.length - 2) / 2} bytes`
        : "hex";
}

interface Exercised {
  readonly answers: Record<string, unknown>;
  readonly errors: Record<string, unknown>;
}

/** Makes the requests of the product, and notes the forms of the answers. */
async function exercise(
  node: Eip1193Provider,
  change: (method: string, ...params: readonly unknown[]) => unknown,
): Promise<Exercised> {
  const answers: Exercised["answers"] = {};
  const errors: Exercised["errors"] = {};
  const ask = async (
    name: string,
    method: string,
    params: readonly unknown[] = [],
    fields: readonly string[] = [],
  ): Promise<unknown> => {
    try {
      const answer = await node.request({ method, params });
      answers[name] = shapeOf(answer, fields);
      return answer;
    } catch (error) {
      const { code, data } = fieldsOf(error);
      answers[name] = "an error";
      errors[name] = [code, typeof data === "string" ? data : "no data"];
      return undefined;
    }
  };
  const call = { from: SETTLER, to: SEVEN, data: "0xa69590a8" };
  const refused = { ...call, to: REFUSER };
  for (const method of [
    ...["eth_chainId", "eth_blockNumber", "eth_accounts", "eth_gasPrice"],
    ...["web3_clientVersion", "eth_maxPriorityFeePerGas", "eth_nonsense"],
  ]) {
    await ask(method, method);
  }
  await ask("balance", "eth_getBalance", [SETTLER, "latest"]);
  await ask("code", "eth_getCode", [SEVEN, "latest"]);
  await ask("no code", "eth_getCode", [NOBODY, "latest"]);
  for (const tag of ["latest", "0x0", TOO_HIGH, "pending"]) {
    const fields = tag === "pending" ? block : [...block, "hash"];
    await ask(`block ${tag}`, "eth_getBlockByNumber", [tag, false], fields);
  }
  await ask("call", "eth_call", [call, "latest"]);
  const nobody = { ...call, to: NOBODY };
  await ask("call without code", "eth_call", [nobody, "latest"]);
  await ask("call with an override", "eth_call", [call, "latest", {}]);
  await ask("refused call", "eth_call", [refused, "latest"]);
  await ask("call at a block that is not there", "eth_call", [call, TOO_HIGH]);
  await ask("gas", "eth_estimateGas", [call]);
  await ask("refused gas", "eth_estimateGas", [refused]);
  const unknown = [`0x${"77".repeat(32)}`];
  await ask("no receipt", "eth_getTransactionReceipt", unknown);
  await ask("no transaction", "eth_getTransactionByHash", unknown);
  const next = { number: TOO_HIGH, time: "0xffffffff" };
  const simulated = [call, refused].map(({ data, ...rest }) => ({
    ...rest,
    input: data,
  }));
  const blockStateCalls = [{ blockOverrides: next, calls: simulated }];
  await ask(
    "simulation",
    "eth_simulateV1",
    [{ blockStateCalls }, "latest"],
    ["number", "timestamp", "calls"],
  );
  await change("evm_setAutomine", false);
  const sign = async (to: string): Promise<string> =>
    await new Wallet(KEY).signTransaction({
      to,
      nonce: 0,
      gasLimit: 100_000,
      gasPrice: 10n ** 10n,
      chainId: 31_337,
    });
  const raw = await sign(SEVEN);
  const hash = await ask("send", "eth_sendRawTransaction", [raw]);
  await ask("already known", "eth_sendRawTransaction", [raw]);
  const lookUp = async (when: string): Promise<void> => {
    for (const tag of ["latest", "pending"]) {
      answers[`nonce ${tag} ${when}`] = await node.request({
        method: "eth_getTransactionCount",
        params: [SETTLER, tag],
      });
    }
    for (const [method, fields] of [
      ["eth_getTransactionByHash", transaction],
      ["eth_getTransactionReceipt", receipt],
    ] as const) {
      await ask(`${method} ${when}`, method, [hash], fields);
    }
    const tag = when === "pending" ? "pending" : "latest";
    const found = await node.request({
      method: "eth_getBlockByNumber",
      params: [tag, true],
    });
    answers[`transactions ${when}`] = shapeOf(
      fieldsOf(found)["transactions"],
      when === "pending" ? ["hash", "nonce"] : transaction,
    );
  };
  await lookUp("pending");
  await change("evm_mine");
  await lookUp("mined");
  const sent = {
    ...call,
    nonce: "0x1",
    gas: "0x186a0",
    gasPrice: "0x2540be400",
  };
  await ask("send from an account", "eth_sendTransaction", [sent]);
  const low = { ...sent, nonce: "0x0" };
  await ask("nonce of an account too low", "eth_sendTransaction", [low]);
  await change("evm_mine");
  await ask("nonce too low", "eth_sendRawTransaction", [await sign(REFUSER)]);
  const { baseFeePerGas, gasUsedRatio, reward } = fieldsOf(
    await node.request({
      method: "eth_feeHistory",
      params: ["0x2", "latest", [50]],
    }),
  );
  // One base fee more than blocks: that of the next one.
  answers["fee history"] = [
    listOf(baseFeePerGas).length,
    listOf(gasUsedRatio).map((ratio) => Number(ratio) > 0),
    shapeOf(reward, []),
  ];
  const client = new VaultClient(node, {
    vault: SEVEN,
    vaultFactory: REFUSER,
    trading: REFUSER,
  });
  const { volume, round } = await client.snapshot();
  const orders = await Array.fromAsync(
    client.orders({ firstId: 1, lastId: 2 }),
  );
  Object.assign(answers, {
    volume,
    failures: [round, ...orders].map(
      (read) => isFailedReading(read) && read.error.message,
    ),
  });
  return { answers, errors };
}

describe("the scripted node of the tests", () => {
  let nodes: readonly ServerProcess[];
  let scripted: Exercised;
  let real: readonly Exercised[];
  before(async () => {
    nodes = await Promise.all([startAnvil(), startHardhatNode()]);
    const node = scriptedNode();
    scripted = await exercise(node, (method) => {
      node.mines = false;
      if (method === "evm_mine") {
        node.mine();
      }
    });
    real = await Promise.all(
      nodes.map(async ({ url }) => {
        const provider = fetchProvider(url);
        const change = async (
          method: string,
          ...params: readonly unknown[]
        ): Promise<unknown> => await provider.request({ method, params });
        for (const [address, code] of Object.entries(codes)) {
          await change("hardhat_setCode", address, code);
        }
        await change("hardhat_setBalance", SETTLER, "0xde0b6b3a7640000");
        await change("hardhat_impersonateAccount", SETTLER);
        await change("evm_mine");
        return await exercise(provider, change);
      }),
    );
  });
  after(async () => {
    await Promise.all(nodes.map(async (node) => await node.stop()));
  });

  it("answers each request of the product in anvil's form", () => {
    expect(scripted.answers).to.deep.equal(real[0]?.answers);
  });

  it("answers each request of the product in the form of hardhat node, which numbers no pending block and has no eth_simulateV1", () => {
    const { "block pending": pending, simulation, ...rest } = scripted.answers;
    expect(real[1]?.answers).to.deep.equal({
      ...rest,
      "block pending": { ...fieldsOf(pending), number: null },
      simulation: "an error",
    });
    expect(simulation).to.not.equal("an error");
  });

  it("fails with the code and the data that anvil or hardhat node fails with", () => {
    expect(Object.keys(scripted.errors)).to.have.length(7);
    for (const [name, error] of Object.entries(scripted.errors)) {
      expect(
        real.map(({ errors }) => errors[name]),
        name,
      ).to.deep.include(error);
    }
  });
});

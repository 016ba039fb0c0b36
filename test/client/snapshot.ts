import { expect } from "chai";
import { getAddress } from "ethers";

import { VaultClient, isFailedReading } from "../../src/client/index.js";
import type { ContractAddresses } from "../../src/client/index.js";
import type { Eip1193Provider } from "../../src/rpc/eip1193.js";
import { startAnvil } from "../helpers/anvil.js";
import { expectVaultError } from "../helpers/assertions.js";
import type { ServerProcess } from "../helpers/child-process.js";
import { startHardhatNode } from "../helpers/hardhat-node.js";
import { createTestHre, httpNetwork } from "../helpers/hre.js";
import { recordCalls } from "../helpers/recording-provider.js";
import { ScriptedNode } from "../helpers/scripted-node.js";

const CALLER = "0x00000000000000000000000000000000000A11cE";
const NO_CODE = "0x000000000000000000000000000000000000dEaD";
/** Runtime code of contracts that answer every call alike. */
const codes = {
  /** The caller, as a word. */
  caller: "0x3360005260206000f3",
  threeBytes: "0x60036000f3",
  /** Sixteen words, each of them 0xff…ff. */
  allOnes: `0x${Array.from({ length: 16 }, (_, index) => `600019${push(index * 32)}52`).join("")}6102006000f3`,
  /** Reads one storage slot after the other, until the gas is used up. */
  endlessLoop: "0x60005b805450600101600256",
  /** 20,000 bytes of zeros. */
  long: "0x614e206000f3",
  invalidOpcode: "0xfe",
  silentRevert: "0x60006000fd",
} as const;

function push(value: number): string {
  return `61${value.toString(16).padStart(4, "0")}`;
}

/** The values and the codes of the errors, place by place. */
function outline(value: unknown): unknown {
  if (isFailedReading(value)) {
    return { error: value.error.code, message: value.error.message };
  }
  return typeof value === "object" && value !== null
    ? Object.fromEntries(
        Object.entries(value).map(([key, inner]) => [key, outline(inner)]),
      )
    : value;
}

let placed = 0xc0de;

async function placeCode(
  provider: Eip1193Provider,
  code: string,
): Promise<string> {
  placed += 1;
  const address = getAddress(`0x${placed.toString(16).padStart(40, "0")}`);
  await provider.request({
    method: "hardhat_setCode",
    params: [address, code],
  });
  return address;
}

/** Ways in which nodes do not take a state override. */
const refusals = {
  "refuses overrides": (): Error =>
    Object.assign(new Error("too many arguments, want at most 2"), {
      code: -32602,
    }),
  "answers overrides with HTTP 400": (): Error =>
    Object.assign(new Error("Bad Request"), { statusCode: 400 }),
  "ignores overrides": undefined,
};

/** A node that knows eth_call with two params only. */
function withoutOverrides(
  provider: Eip1193Provider,
  refusal: (() => Error) | undefined,
): Eip1193Provider {
  return {
    request: async ({ method, params = [] }) => {
      if (params.length > 2 && method === "eth_call") {
        if (refusal !== undefined) {
          throw refusal();
        }
        return await provider.request({ method, params: params.slice(0, 2) });
      }
      return await provider.request({ method, params });
    },
  };
}

describe("client - snapshot", () => {
  let anvil: ServerProcess;
  let hardhatNode: ServerProcess;

  before(async () => {
    [anvil, hardhatNode] = await Promise.all([
      startAnvil(),
      startHardhatNode(),
    ]);
  });

  after(async () => {
    await anvil.stop();
    await hardhatNode.stop();
  });

  for (const node of ["anvil", "hardhat node", "in process"] as const) {
    describe(`on ${node}`, () => {
      let provider: Eip1193Provider;
      let addresses: ContractAddresses;

      before(async () => {
        const hre = await createTestHre({
          networks: {
            anvil: httpNetwork(anvil.url),
            hardhatNode: httpNetwork(hardhatNode.url),
          },
        });
        const connection = await hre.network.create(
          {
            anvil: "anvil",
            "hardhat node": "hardhatNode",
            "in process": "default",
          }[node],
        );
        ({ provider } = connection);
        ({ addresses } = await connection.vault.deployMocks());
      });

      /** Contracts that fail in every way there is, beside good ones. */
      async function hostileAddresses(): Promise<
        [ContractAddresses, ContractAddresses]
      > {
        const at = async (
          code: keyof typeof codes,
          index: number,
        ): Promise<string> => {
          const address = getAddress(
            `0x00000000000000000000000000000000c0de00${index.toString(16).padStart(2, "0")}`,
          );
          await provider.request({
            method: "hardhat_setCode",
            params: [address, codes[code]],
          });
          return address;
        };
        return [
          {
            ...addresses,
            underlyingAsset: await at("endlessLoop", 1),
            publicPool: await at("threeBytes", 2),
            privatePool: NO_CODE,
            vaultFactory: await at("allOnes", 3),
            vault: await at("long", 4),
          },
          {
            ...addresses,
            publicPool: await at("invalidOpcode", 5),
            privatePool: await at("silentRevert", 6),
          },
        ];
      }

      it("should be one eth_call with an override", async () => {
        const recorder = recordCalls(provider);
        await new VaultClient(recorder, addresses).snapshot();
        expect(recorder.calls.map(({ method }) => method)).to.deep.equal([
          "eth_call",
        ]);
        expect(recorder.calls[0]?.params).to.have.length(3);
      });

      it("should hold what the single reads answer", async () => {
        const client = new VaultClient(provider, addresses);
        const { chainId, block, ...readings } = await client.snapshot();
        expect(chainId).to.equal(await client.chainId());
        expect(block).to.deep.equal(await client.block());
        expect(readings).to.deep.equal({
          fundingFeeRate: {
            call: await client.getFundingFeeRate("call"),
            put: await client.getFundingFeeRate("put"),
          },
          round: await client.getLatestRoundInfo(),
          pools: {
            public: await client.getLPAmountInfo("public"),
            private: await client.getLPAmountInfo("private"),
          },
          volume: await client.queryVolume(),
          marginBalance: await client.queryMarginBalance(),
          minXMargin: await client.minXMargin(),
        });
      });

      for (const [name, refusal] of Object.entries(refusals)) {
        it(`should be the same on a node that ${name}`, async () => {
          for (const contracts of [addresses, ...(await hostileAddresses())]) {
            const inOneCall = await new VaultClient(
              provider,
              contracts,
            ).snapshot();
            const recorder = recordCalls(withoutOverrides(provider, refusal));
            const client = new VaultClient(recorder, contracts);
            const callByCall = await client.snapshot();
            expect(outline(callByCall)).to.deep.equal(outline(inOneCall));

            recorder.calls.length = 0;
            await client.snapshot();
            expect(
              recorder.calls.filter(({ params }) => params?.length === 3),
              "the refusal is remembered",
            ).to.deep.equal([]);
          }
        });
      }

      it("should tell each failure apart, as the single reads do", async () => {
        const [contracts] = await hostileAddresses();
        const client = new VaultClient(provider, contracts);
        const snapshot = await client.snapshot();
        const codesOf = (reading: unknown): unknown =>
          isFailedReading(reading) ? reading.error.code : "a value";
        expect({
          publicPool: codesOf(snapshot.pools.public),
          privatePool: codesOf(snapshot.pools.private),
          round: codesOf(snapshot.round),
          minXMargin: snapshot.minXMargin,
          volume: codesOf(snapshot.volume),
        }).to.deep.equal({
          publicPool: "VAULT_RETURN_DATA_MALFORMED",
          privatePool: "VAULT_NO_CODE",
          // A bool that is neither 0 nor 1.
          round: "VAULT_RETURN_DATA_MALFORMED",
          minXMargin: snapshot.minXMargin,
          // More words than one, which are ignored.
          volume: "a value",
        });
        expect(codesOf(snapshot.fundingFeeRate.call)).to.not.equal("a value");
      });

      it("should be read at the block that is asked for", async () => {
        const client = new VaultClient(provider, addresses);
        const { number } = await client.block();
        await provider.request({
          method: "hardhat_mine",
          params: ["0x2"],
        });
        const past = await client.snapshot({ blockTag: number });
        expect(past.block).to.deep.equal(await client.block(number));
        const latest = await client.snapshot();
        expect(latest.block).to.deep.equal(await client.block());
        expect(latest.block.number).to.equal(number + 2);
      });

      it("should let the contracts see the caller that is given", async () => {
        await provider.request({
          method: "hardhat_setCode",
          params: [NO_CODE.replace("dEaD", "bEEF").toLowerCase(), codes.caller],
        });
        const client = new VaultClient(provider, {
          ...addresses,
          vault: NO_CODE.replace("dEaD", "bEEF").toLowerCase(),
        });
        const { volume } = await client.snapshot({ from: CALLER });
        expect(volume).to.equal(BigInt(CALLER));
        expect((await client.snapshot()).volume).to.equal(0n);
      });

      it("should fail where there is no such block, and forget nothing", async () => {
        const recorder = recordCalls(provider);
        const client = new VaultClient(recorder, addresses);
        await expectVaultError(
          client.snapshot({ blockTag: 10_000_000 }),
          "VAULT_BLOCK_NOT_FOUND",
        );
        recorder.calls.length = 0;
        await client.snapshot();
        expect(recorder.calls).to.have.length(1);
      });
    });
  }

  it("should ask of the pending block by its name, which has no number yet", async () => {
    for (const overrides of [true, false]) {
      const recorder = recordCalls(
        new ScriptedNode({
          head: 5,
          overrides,
          codeOf: () => "0x00",
          // What fails through the lens is asked for by itself.
          answerOf: () => ({ reverted: true, data: "0x12345678" }),
        }),
      );
      const client = new VaultClient(recorder, { vault: CALLER });
      const blocksOf = async (
        blockTag: "pending" | "latest",
      ): Promise<Set<unknown>> => {
        recorder.calls.length = 0;
        const { volume } = await client.snapshot({ blockTag });
        expect(isFailedReading(volume)).to.equal(true);
        return new Set(
          recorder.calls
            .filter(
              ({ method, params = [] }) =>
                method === "eth_call" && params.length === 2,
            )
            .map(({ params = [] }) => params[1]),
        );
      };
      expect(await blocksOf("pending")).to.deep.equal(new Set(["pending"]));
      expect(await blocksOf("latest")).to.deep.equal(new Set(["0x5"]));
    }
  });

  it("should ask by itself for what fails through the lens, before it calls it failed", async () => {
    const hre = await createTestHre();
    const { provider } = await hre.network.create();
    // Answers 7 to callers without code and refuses the others.
    const accountsOnly = await placeCode(
      provider,
      "0x333b600f57600760005260206000f35b60006000fd",
    );
    const client = new VaultClient(provider, { vault: accountsOnly });
    const { volume } = await client.snapshot();
    expect(volume === 7n, "a volume of 7").to.equal(true);
  });

  it("should not take a node that fails for a moment for one that refuses", async () => {
    const hre = await createTestHre();
    const { vault, provider } = await hre.network.create();
    const { addresses } = await vault.deployMocks();
    // The snapshot, and a request without a call.
    let failures = 2;
    const recorder = recordCalls(provider, () => {
      if (failures-- > 0) {
        throw Object.assign(new Error("daily request count exceeded"), {
          code: -32005,
        });
      }
    });
    const client = new VaultClient(recorder, addresses);
    await expectVaultError(client.snapshot(), "VAULT_RPC_ERROR");
    recorder.calls.length = 0;
    await client.snapshot();
    expect(recorder.calls, "still in one call").to.have.length(1);
  });

  it("should ask a second time before it settles for call by call", async () => {
    const hre = await createTestHre();
    const { vault, provider } = await hre.network.create();
    const { addresses } = await vault.deployMocks();
    let failures = 1;
    const recorder = recordCalls(provider, ({ method, params }) => {
      if (method === "eth_call" && params?.length === 3 && failures-- > 0) {
        throw Object.assign(new Error("header not found"), { code: -32000 });
      }
    });
    const client = new VaultClient(recorder, addresses);
    expect((await client.snapshot()).round).to.deep.equal(
      await vault.getLatestRoundInfo(),
    );
    recorder.calls.length = 0;
    await client.snapshot();
    expect(recorder.calls, "in one call again").to.have.length(1);
  });

  it("should number blocks as Arbitrum's nodes do", async () => {
    const hre = await createTestHre();
    const { provider } = await hre.network.create();
    // arbBlockNumber() of ArbSys: answers 0x123456.
    await provider.request({
      method: "hardhat_setCode",
      params: [
        "0x0000000000000000000000000000000000000064",
        "0x6212345660005260206000f3",
      ],
    });
    const client = new VaultClient(provider, {});
    expect((await client.snapshot()).block.number).to.equal(0x123456);
    expect((await client.snapshot({ blockTag: 0 })).block.number).to.equal(0);
  });

  it("should say of a missing address what is missing, and read the rest", async () => {
    const hre = await createTestHre();
    const { vault, provider } = await hre.network.create();
    const { addresses } = await vault.deployMocks();
    const recorder = recordCalls(provider);
    const { volume, ...snapshot } = await new VaultClient(recorder, {
      ...addresses,
      vault: undefined,
    }).snapshot();
    expect(isFailedReading(volume) && volume.error.code).to.equal(
      "VAULT_CONTRACT_NOT_CONFIGURED",
    );
    expect(snapshot.round).to.deep.equal(await vault.getLatestRoundInfo());
    expect(recorder.calls).to.have.length(1);
  });
});

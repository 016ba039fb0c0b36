import { expect } from "chai";
import { getAddress } from "ethers";

import { VaultClient, isFailedReading } from "../../src/client/index.js";
import type {
  ContractAddresses,
  Eip1193Provider,
} from "../../src/client/index.js";
import { everyNode } from "../helpers/every-node.js";
import type { TestNode } from "../helpers/every-node.js";
import { connectTo } from "../helpers/hre.js";

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
  /** Returns 7 to callers without code, and reverts for the others. */
  accountsOnly: "0x333b600f57600760005260206000f35b60006000fd",
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

async function placeCode(
  provider: Eip1193Provider,
  code: string,
  place: number,
): Promise<string> {
  const address = getAddress(`0x${place.toString(16).padStart(40, "0")}`);
  await provider.request({
    method: "hardhat_setCode",
    params: [address, code],
  });
  return address;
}

/** A node that knows eth_call with two params only. */
const withoutOverrides = (provider: Eip1193Provider): Eip1193Provider => ({
  request: async (args) => {
    if (args.method === "eth_call" && args.params?.length === 3) {
      throw Object.assign(new Error("too many arguments"), { code: -32602 });
    }
    return await provider.request(args);
  },
});

describe("client - snapshot of a node", () => {
  for (const { name, start } of everyNode) {
    describe(name, () => {
      let node: TestNode;
      let provider: Eip1193Provider;
      let addresses: ContractAddresses;
      before(async () => {
        node = await start();
        const connection = await connectTo(node.url);
        ({ provider } = connection);
        ({ addresses } = await connection.vault.deployMocks());
      });
      after(async () => {
        await node.stop();
      });

      it("snapshot() returns the same in one call and contract by contract, whatever the contracts do", async () => {
        const at = async (
          code: keyof typeof codes,
          index: number,
        ): Promise<string> =>
          await placeCode(provider, codes[code], 0xc0de00 + index);
        for (const contracts of [
          addresses,
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
            vault: await at("accountsOnly", 7),
          },
        ]) {
          const inOneCall = await new VaultClient(
            provider,
            contracts,
          ).snapshot();
          const callByCall = await new VaultClient(
            withoutOverrides(provider),
            contracts,
          ).snapshot();
          expect(outline(callByCall)).to.deep.equal(outline(inOneCall));
          expect(isFailedReading(inOneCall.volume)).to.equal(false);
        }
      });

      it("snapshot() lets the contracts see the caller and the block that are given", async () => {
        const vault = await placeCode(provider, codes.caller, 0xbeef);
        const client = new VaultClient(provider, { ...addresses, vault });
        const { number } = await client.block();
        await provider.request({ method: "hardhat_mine", params: ["0x2"] });
        const past = await client.snapshot({ from: CALLER, blockTag: number });
        expect(past.block).to.deep.equal(await client.block(number));
        const latest = await client.snapshot({ from: CALLER });
        expect(latest.block).to.deep.equal(await client.block());
        expect(latest.block.number).to.equal(number + 2);
        expect(latest.volume).to.equal(BigInt(CALLER));
        expect((await client.snapshot()).volume).to.equal(0n);
      });
    });
  }

  it("should number blocks as Arbitrum's nodes do", async () => {
    const { provider } = await connectTo(undefined);
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
});

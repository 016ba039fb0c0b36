import { expect } from "chai";
import { zeroPadValue } from "ethers";

import {
  hasSelector,
  readCodeBehind,
  requireFunction,
} from "../../src/client/selectors.js";
import type { CodeBehind } from "../../src/client/selectors.js";
import { vaultError } from "../../src/errors.js";
import {
  contractRoleNames,
  operationNames,
  operations,
  targetsOf,
} from "../../src/protocol/index.js";
import type { ContractRole } from "../../src/protocol/index.js";
import { Chain } from "../../src/rpc/node.js";
import { expectVaultError } from "../helpers/assertions.js";
import { createTestHre } from "../helpers/hre.js";

const PROXY = "0x00000000000000000000000000000000000a11ce";
const OUTER = "0x0000000000000000000000000000000000000b0b";
const BEACON = "0x000000000000000000000000000000000000bea0";
const slots = {
  implementation:
    "0x360894a13ba1a3210667c828492db98dca3e2076cc3735a920a3ca505d382bbc",
  beacon: "0xa3f0ad74e5423aebfd80d3ef4346578335a9a72aeaee59ff6cb3582b35133d50",
};
/** Passes its call data on to the zero address. */
const DELEGATES = "0x365f5f37365f365f5f5af400";

describe("client - selectors", () => {
  let chain: Chain;
  let addresses: Readonly<Record<ContractRole, string>>;

  before(async () => {
    const hre = await createTestHre();
    const { vault, provider } = await hre.network.create();
    ({ addresses } = await vault.deployMocks());
    chain = new Chain(provider, "test");
  });

  const set = async (
    kind: "Code" | "StorageAt",
    ...params: readonly string[]
  ): Promise<void> => {
    await chain.request(`hardhat_set${kind}`, params);
  };
  /** The operations whose selectors are in the code, by role. */
  const found = (behind: CodeBehind): string[] =>
    operationNames.filter((name) =>
      hasSelector(behind, operations[name].selector),
    );
  const expectedOf = (role: ContractRole): string[] =>
    operationNames.filter((name) =>
      targetsOf(name).some((target) => target.role === role),
    );

  it("should find every operation of a contract in its code, and no other", async () => {
    for (const role of contractRoleNames) {
      const behind = await readCodeBehind(chain, addresses[role]);
      expect(behind.proxies, role).to.deep.equal([]);
      expect(behind.isOpen, role).to.equal(false);
      expect(behind.size, role).to.be.above(0);
      // The mock of the vault calls others, whose selectors it has too.
      expect(found(behind), role).to.include.members(expectedOf(role));
      if (role !== "vault") {
        expect(found(behind), role).to.deep.equal(expectedOf(role));
      }
    }
  });

  it("should find them behind an EIP-1167 proxy", async () => {
    await set(
      "Code",
      PROXY,
      `0x363d3d373d3d3d363d73${addresses.trading.slice(2)}5af43d82803e903d91602b57fd5bf3`,
    );
    const behind = await readCodeBehind(chain, PROXY);
    expect(behind.proxies).to.deep.equal([
      { kind: "EIP-1167", implementation: addresses.trading },
    ]);
    expect(found(behind)).to.deep.equal(["getOrderInfo"]);
    expect(behind.isOpen).to.equal(false);
  });

  it("should find them behind an EIP-1967 proxy, and one in front of it", async () => {
    await set("Code", PROXY, DELEGATES);
    await set(
      "StorageAt",
      PROXY,
      slots.implementation,
      zeroPadValue(addresses.vaultFactory, 32),
    );
    await set(
      "Code",
      OUTER,
      `0x363d3d373d3d3d363d73${PROXY.slice(2)}5af43d82803e903d91602b57fd5bf3`,
    );
    const behind = await readCodeBehind(chain, OUTER);
    expect(behind.proxies.map(({ kind }) => kind)).to.deep.equal([
      "EIP-1167",
      "EIP-1967",
    ]);
    expect(found(behind)).to.deep.equal(expectedOf("vaultFactory"));
  });

  it("should find them behind a beacon", async () => {
    await set("Code", PROXY, DELEGATES);
    await set("StorageAt", PROXY, slots.implementation, `0x${"0".repeat(64)}`);
    await set("StorageAt", PROXY, slots.beacon, zeroPadValue(BEACON, 32));
    // Answers every call with the address.
    await set(
      "Code",
      BEACON,
      `0x73${addresses.publicPool.slice(2)}5f5260205ff3`,
    );
    const behind = await readCodeBehind(chain, PROXY);
    expect(behind.proxies).to.deep.equal([
      { kind: "EIP-1967 beacon", implementation: addresses.publicPool },
    ]);
    expect(found(behind)).to.deep.equal(["getLPAmountInfo"]);
    expect(behind.isOpen).to.equal(false);
  });

  it("should find none behind a beacon that answers no address", async () => {
    await set("Code", PROXY, DELEGATES);
    await set("StorageAt", PROXY, slots.implementation, `0x${"0".repeat(64)}`);
    await set("StorageAt", PROXY, slots.beacon, zeroPadValue(BEACON, 32));
    const { publicPool } = addresses;
    for (const [what, code] of [
      ["nothing", "0x"],
      ["a revert", "0x5f5ffd"],
      ["zeros", "0x60205ff3"],
      ["two words", `0x73${publicPool.slice(2)}5f5260405ff3`],
      ["21 bytes", `0x7401${publicPool.slice(2)}5f5260205ff3`],
      ["20 bytes", `0x73${publicPool.slice(2)}5f526014600cf3`],
    ] as const) {
      await set("Code", BEACON, code);
      const behind = await readCodeBehind(chain, PROXY);
      expect(behind.proxies, what).to.deep.equal([]);
      expect(behind.isOpen, what).to.equal(true);
    }
  });

  it("should tell that calls go on to somewhere unknown", async () => {
    await set("Code", PROXY, DELEGATES);
    await set("StorageAt", PROXY, slots.beacon, `0x${"0".repeat(64)}`);
    const behind = await readCodeBehind(chain, PROXY);
    expect(behind).to.include({ isOpen: true });
    expect(behind.proxies).to.deep.equal([]);
  });

  it("should take no pushed byte and no metadata for a call", async () => {
    for (const code of [
      // PUSH1 0xf4
      "0x60f45f5260205ff3",
      `0x5f5ff3fe${"f4".repeat(40)}0028`,
    ]) {
      await set("Code", PROXY, code);
      expect(await readCodeBehind(chain, PROXY)).to.include({ isOpen: false });
    }
  });

  it("should end where proxies point at each other, and where there is no code", async () => {
    const minimal = (target: string): string =>
      `0x363d3d373d3d3d363d73${target.slice(2)}5af43d82803e903d91602b57fd5bf3`;
    await set("Code", PROXY, minimal(OUTER));
    await set("Code", OUTER, minimal(PROXY));
    expect((await readCodeBehind(chain, PROXY)).proxies).to.have.length(4);
    await set("Code", PROXY, "0x");
    expect(await readCodeBehind(chain, PROXY)).to.include({ size: 0 });
    expect((await readCodeBehind(chain, OUTER)).code.at(-1)?.length).to.equal(
      0,
    );
  });
});

/** A chain with this code at every address, and nothing in any storage. */
const chainWith = (code: () => string): Chain =>
  new Chain(
    {
      request: async ({ method }) =>
        await Promise.resolve(
          method === "eth_getCode" ? code() : `0x${"0".repeat(64)}`,
        ),
    },
    "test",
  );

describe("client - code that passes calls on", () => {
  const zeros = (bytes: number): string => "00".repeat(bytes);
  /** The last two bytes of code are the length of what describes it, less two. */
  const codes: ReadonlyArray<
    readonly [what: string, code: string, isOpen: boolean]
  > = [
    ["a single byte", "f4", true],
    ["two bytes, and no metadata", "f4ff", true],
    ["nothing that does", "00ffff", false],
    ["a byte that PUSH1 pushes", "60f4ffff", false],
    ["behind what PUSH1 pushes", "6000f4ffff", true],
    ["bytes that PUSH32 pushes", `7f${"f4".repeat(32)}00ffff`, false],
    ["behind what PUSH32 pushes", `7f${zeros(32)}f4ffff`, true],
    ["behind PUSH0, which pushes none", "5ff4ffff", true],
    ["behind DUP1, which pushes none", "80f4ffff", true],
    ["in 99 bytes of metadata", `00f4${zeros(96)}0061`, false],
    ["in front of 99 bytes of metadata", `f4${zeros(97)}0061`, true],
    ["in what is too long for metadata", `00f4${zeros(97)}0062`, true],
    ["in what has to be code, being all of it", `f4${zeros(37)}0026`, true],
    ["in the last byte", "00f4", true],
  ];
  for (const [what, code, isOpen] of codes) {
    it(`should be found as it is executed: ${what}`, async () => {
      const behind = await readCodeBehind(
        chainWith(() => `0x${code}`),
        PROXY,
      );
      expect(behind).to.deep.include({ isOpen, proxies: [] });
    });
  }
});

describe("client - a function that a contract does not have", () => {
  const { selector } = operations.queryVolume;
  const require = async (chain: Chain): Promise<void> => {
    await requireFunction(
      chain,
      { operation: "queryVolume", role: "vault" },
      { address: PROXY, source: "here" },
      "latest",
    );
  };

  it("should be told by its name, where it is found nowhere", async () => {
    const { details } = await expectVaultError(
      require(chainWith(() => `0x62${selector.slice(2)}00ffff`)),
      "VAULT_NO_FUNCTION",
    );
    expect(details).to.deep.equal({
      address: PROXY,
      function: "queryVolume",
      contract: "vault",
      source: "here",
    });
  });

  it("should not be claimed where it may be there", async () => {
    for (const code of [`63${selector.slice(2)}00ffff`, "f4ffff"]) {
      await require(chainWith(() => `0x${code}`));
    }
    await require(
      chainWith(() => {
        throw new Error("the method eth_getCode does not exist");
      }),
    );
  });

  it("should not hide that something else is wrong", async () => {
    const chain = chainWith(() => "0x");
    for (const wrong of [
      new TypeError("a defect"),
      vaultError("VAULT_INTERNAL", { problem: "a hole" }),
    ]) {
      chain.code = async () => await Promise.reject(wrong);
      const thrown: unknown = await require(chain).catch(
        (error: unknown) => error,
      );
      expect(thrown).to.equal(wrong);
    }
  });
});

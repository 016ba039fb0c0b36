import { expect } from "chai";
import { HDNodeWallet, Wallet } from "ethers";

import type { NetworkConfig } from "hardhat/types/config";

import { RpcClient } from "../../src/rpc/rpc-client.js";
import { findSender } from "../../src/settlement/signer.js";
import { expectVaultError } from "../helpers/assertions.js";
import { endDeadlines, speedUpTime } from "../helpers/deadlines.js";
import { hardhatError } from "../helpers/foreign-errors.js";
import { KEY, SETTLER, VAULT } from "../helpers/scripted-contracts.js";
import { itSettles, keyOf, remote, useKeeper } from "../helpers/keeper.js";
import type { NetworkChanges, SettlementCase } from "../helpers/keeper.js";
import { DEV_MNEMONIC } from "../helpers/world.js";

const STRANGER = Wallet.createRandom().address;
const OTHER = new Wallet(`0x${"22".repeat(32)}`);

const mnemonic = (
  phrase: string,
  changes: NetworkChanges = {},
): NetworkChanges => ({
  accounts: {
    mnemonic: keyOf(phrase),
    passphrase: keyOf(""),
    path: "m/44'/60'/0'/0",
    initialIndex: 0,
    count: 3,
    ...changes,
  },
});

const ANOTHER_PHRASE =
  "legal winner thank year wave sausage worth useful legal winner thank yellow";

const addressOf = (path: string, passphrase = ""): string =>
  HDNodeWallet.fromPhrase(DEV_MNEMONIC, passphrase, path).address;

const twoKeys = { accounts: [OTHER.privateKey, KEY] };

/** From which account each of these configurations settles. */
const signing = [
  ["the first of two keys", { accounts: [KEY, OTHER.privateKey] }, SETTLER],
  [
    "the key of the network's from",
    { ...twoKeys, from: SETTLER.toLowerCase() },
    SETTLER,
  ],
  [
    "the first account of a mnemonic between blanks",
    mnemonic(` ${DEV_MNEMONIC}\n`),
    addressOf("m/44'/60'/0'/0/0"),
  ],
  [
    "a mnemonic with path, index and passphrase",
    mnemonic(DEV_MNEMONIC, {
      path: "m/44'/60'/1'/0/",
      initialIndex: 3,
      passphrase: keyOf("secret"),
    }),
    addressOf("m/44'/60'/1'/0/3", "secret"),
  ],
  [
    "the last account of a mnemonic",
    { ...mnemonic(DEV_MNEMONIC), from: addressOf("m/44'/60'/0'/0/2") },
    addressOf("m/44'/60'/0'/0/2"),
  ],
  ["the node's first account", remote, SETTLER],
  ["the key of the option from, an address", twoKeys, SETTLER, SETTLER],
  [
    "the key of the option from, a signer",
    twoKeys,
    SETTLER,
    { address: SETTLER },
  ],
] as const;

describe("settleAll: signers", () => {
  const keeper = useKeeper();

  const withKeys = (network: NetworkChanges): NetworkChanges => ({
    ...network,
    ...(Array.isArray(network["accounts"])
      ? { accounts: network["accounts"].map((key) => keyOf(String(key))) }
      : {}),
  });
  const secret = "0xfeedc0ffee";
  const wrongWords = DEV_MNEMONIC.replace(/junk$/u, "test");

  itSettles(keeper, [
    ...signing.map(([name, network, from, option]): SettlementCase => {
      let signer: unknown;
      return {
        title: `settleAll settles with ${name}`,
        network: withKeys(network),
        options: {
          from: option,
          onEvent: (event) => {
            if (event.type === "preflight") {
              const { from: account, signing: kind } = event.preflight;
              signer = [account, kind];
            }
          },
        },
        is: { status: "settled" },
        sends: 1,
        then: ({ chain }) => {
          expect(chain.mined[0]?.from).to.equal(from);
          const kind = network === remote ? "remote" : "local";
          expect(signer).to.deep.equal([from, kind]);
        },
      };
    }),
    {
      title:
        "settleAll sends through eth_sendTransaction for an account that a plugin adds to the node's",
      given: ({ chain }) => {
        chain.on("eth_accounts", () => [OTHER.address.toLowerCase()]);
      },
      options: { from: OTHER.address },
      is: { status: "settled" },
      sends: 1,
      then: ({ chain }) => {
        expect(chain.count("eth_sendTransaction")).to.equal(1);
        expect(chain.mined[0]?.from).to.equal(OTHER.address);
      },
    },
    ...(
      [
        ["VAULT_UNKNOWN_SIGNER", "another key", {}, STRANGER, [SETTLER]],
        [
          "VAULT_UNKNOWN_SIGNER",
          "another account",
          remote,
          STRANGER,
          [SETTLER],
        ],
        ["VAULT_UNKNOWN_SIGNER", "any account", remote, STRANGER, []],
        ["VAULT_NO_SIGNER", "any account or `from`", remote, undefined, []],
      ] as const
    ).map(([code, what, network, from, accounts]): SettlementCase => ({
      title: `settleAll refuses with ${code}, and names the known accounts, if the network lacks ${what}`,
      given: ({ chain }) => {
        chain.on("eth_accounts", () => accounts);
      },
      network,
      options: { from },
      is: { status: "refused", hash: null, code },
      says: [
        "scripted",
        ...(from === undefined ? [] : [from, accounts[0] ?? "none"]),
      ],
    })),
    {
      title:
        "settleAll throws VAULT_RPC_INVALID_RESPONSE if the accounts are no list",
      given: ({ chain }) => {
        chain.on("eth_accounts", () => "none");
      },
      network: remote,
      throws: "VAULT_RPC_INVALID_RESPONSE",
    },
    ...(
      [
        ["VAULT_CONFIG_VARIABLE", [keyOf(hardhatError("HHE7"))], "no"],
        ["VAULT_INVALID_KEY", [keyOf(secret)], "networks.scripted.accounts[0]"],
        [
          "VAULT_INVALID_KEY",
          mnemonic(wrongWords)["accounts"],
          "networks.scripted.accounts.mnemonic",
        ],
        [
          "VAULT_CONFIG_VARIABLE",
          mnemonic("", { mnemonic: keyOf(hardhatError("HHE7")) })["accounts"],
          "no",
        ],
      ] as const
    ).map(([throws, accounts, text]): SettlementCase => ({
      title: `settleAll throws ${throws}, without the value, for ${Array.isArray(accounts) ? "a key" : "a mnemonic"}`,
      network: { accounts },
      throws,
      says: new RegExp(
        `^(?!.*(?:feedc0ffee|test test)).*${text.replaceAll(/[.[\]]/gu, "\\$&")}`,
        "su",
      ),
    })),
  ]);

  for (const [name, accounts, planted] of [
    ["a key", [keyOf(`0x${"5e".repeat(32)}`)], "5e".repeat(32)],
    ["a mnemonic", mnemonic(ANOTHER_PHRASE)["accounts"], ANOTHER_PHRASE],
    [
      "a passphrase",
      mnemonic(ANOTHER_PHRASE, { passphrase: keyOf("tulips in december") })[
        "accounts"
      ],
      "tulips in december",
    ],
  ] as const) {
    it(`settleAll hides ${name} that a node quotes`, async () => {
      keeper.chain.on("eth_getTransactionCount", () => {
        throw Object.assign(new Error(`no nonce for <${planted}>`), {
          code: -32_000,
        });
      });
      const { message } = await expectVaultError(
        keeper.settle({}, { accounts }),
        "VAULT_RPC_ERROR",
      );
      expect(message).to.include("no nonce for").and.not.include(planted);
    });
  }

  const refused = (): never => {
    throw Object.assign(new Error("nope"), { code: -32_000 });
  };
  /** Transactions counted at the observed block, and with those in the pool. */
  const counts: ReadonlyArray<
    readonly [title: string, observed: () => string, pending: string]
  > = [
    ["the node that counts the pool is behind", () => "0x1", "0x0"],
    ["one was mined since", () => "0x0", "0x1"],
    ["the observed block has no state any more", refused, "0x1"],
  ];
  itSettles(keeper, [
    ...counts.map(([title, observed, pending]): SettlementCase => ({
      title: `settleAll takes the mined transactions of its account as nonce if ${title}`,
      given: ({ chain }) => {
        chain.on("eth_getTransactionCount", ([, tag]) =>
          tag === "0x5" ? observed() : tag === "pending" ? pending : "0x1",
        );
      },
      options: {
        onEvent: (event) => {
          if (event.type === "sending") {
            endDeadlines();
          }
        },
      },
      is: {},
      sends: 1,
      then: ({ events }) => {
        expect(events[1]).to.include({ type: "sending", nonce: 1 });
      },
    })),
    {
      title:
        "settleAll refuses with VAULT_PENDING_TRANSACTIONS while its account has a transaction in the pool",
      given: async ({ chain }) => {
        chain.mines = false;
        const params = [{ from: SETTLER, to: VAULT, data: "0x" }];
        await chain.request({ method: "eth_sendTransaction", params });
      },
      is: { status: "refused", code: "VAULT_PENDING_TRANSACTIONS", hash: null },
      says: ["1, from nonce 0 on"],
      events: "preflight",
      sends: 1,
    },
    {
      title:
        "settleAll names those that wait after the block that was seen, though the newest count is of a node that is behind",
      given: ({ chain }) => {
        chain.on("eth_getTransactionCount", ([, tag]) =>
          tag === "0x5" ? "0x3" : tag === "pending" ? "0x5" : "0x2",
        );
      },
      is: { status: "refused", code: "VAULT_PENDING_TRANSACTIONS", hash: null },
      says: ["2, from nonce 3 on"],
      sends: 0,
    },
  ]);

  describe("the default sender of a simulation", () => {
    speedUpTime();

    const find = async (
      config: object = remote,
      client = new RpcClient(keeper.chain, "scripted"),
    ): Promise<string> =>
      // it reads nothing else of the configuration
      await findSender(client, { type: "http", ...config } as NetworkConfig);

    it("is the network's from, else VAULT_INVALID_ADDRESS if that is no address", async () => {
      expect(await find({ from: STRANGER.toLowerCase() })).to.equal(STRANGER);
      const invalid = find({ from: "0x12" });
      const { message } = await expectVaultError(
        invalid,
        "VAULT_INVALID_ADDRESS",
      );
      expect(message).to.include("networks.scripted.from");
      expect(keeper.chain.asked).to.deep.equal([]);
    });

    it("is the first account, which a client asks for once", async () => {
      const client = new RpcClient(keeper.chain, "scripted");
      expect(await find(remote, client)).to.equal(SETTLER);
      expect(await find(remote, client)).to.equal(SETTLER);
      expect(keeper.chain.count("eth_accounts")).to.equal(1);
    });

    for (const [code, what, error] of [
      ["VAULT_NO_SENDER", "no account", undefined],
      ["VAULT_NO_SENDER", "no list", { code: -32_601 }],
      ["VAULT_NETWORK_UNREACHABLE", "no answer", { code: "ECONNRESET" }],
    ] as const) {
      it(`fails with ${code} if the node has ${what}`, async () => {
        keeper.chain.on("eth_accounts", () => {
          if (error !== undefined) {
            throw Object.assign(new Error("no"), error);
          }
          return [];
        });
        const { message, fix } = await expectVaultError(find(), code);
        expect(message).to.include("scripted");
        const isAdvised = code === "VAULT_NO_SENDER";
        expect(fix.includes("the option `from`")).to.equal(isAdvised);
      });
    }
  });
});

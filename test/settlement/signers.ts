import { expect } from "chai";
import { HDNodeWallet, Wallet } from "ethers";

import type { NetworkConfig } from "hardhat/types/config";

import { RpcClient } from "../../src/rpc/rpc-client.js";
import { findSender } from "../../src/settlement/signer.js";
import { expectVaultError } from "../helpers/assertions.js";
import { speedUpTime } from "../helpers/deadlines.js";
import { hardhatError } from "../helpers/foreign-errors.js";
import { KEY, SETTLER } from "../helpers/scripted-node.js";
import {
  connectionLost,
  itSettles,
  keyOf,
  remote,
  useStage,
} from "../helpers/settlement-stage.js";
import type { NetworkChanges, StageCase } from "../helpers/settlement-stage.js";
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

const addressOf = (path: string, passphrase = ""): string =>
  HDNodeWallet.fromPhrase(DEV_MNEMONIC, passphrase, path).address;

/** From which account each of these configurations settles. */
const signing: ReadonlyArray<
  readonly [name: string, network: NetworkChanges, from: string]
> = [
  ["the first of two keys", { accounts: [KEY, OTHER.privateKey] }, SETTLER],
  [
    "the key of the network's from",
    { accounts: [OTHER.privateKey, KEY], from: SETTLER.toLowerCase() },
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
];

const NONE = { status: "refused", hash: null } as const;

describe("settleAll: signers", () => {
  const stage = useStage();

  const withKeys = (network: NetworkChanges): NetworkChanges => ({
    ...network,
    ...(Array.isArray(network["accounts"])
      ? { accounts: network["accounts"].map((key) => keyOf(String(key))) }
      : {}),
  });
  const secret = "0x1234567890";
  const wrongWords = DEV_MNEMONIC.replace(/junk$/u, "test");

  itSettles(stage, [
    ...signing.map(([name, network, from]): StageCase => {
      let signer: unknown;
      return {
        title: `settleAll settles with ${name}`,
        network: withKeys(network),
        options: {
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
    ...["an address", "a signer"].map((what): StageCase => ({
      title: `settleAll settles with the key of from, ${what}`,
      network: withKeys({ accounts: [OTHER.privateKey, KEY] }),
      options: { from: what === "a signer" ? { address: SETTLER } : SETTLER },
      is: { status: "settled" },
      sends: 1,
      then: ({ chain }) => {
        expect(chain.mined[0]?.from).to.equal(SETTLER);
      },
    })),
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
    ...[{}, remote].map((network): StageCase => ({
      title: `settleAll refuses an unknown from with VAULT_UNKNOWN_SIGNER, and names the node's accounts (${network === remote ? "remote" : "keys"})`,
      network,
      options: { from: STRANGER },
      is: { ...NONE, code: "VAULT_UNKNOWN_SIGNER" },
      says: [STRANGER, SETTLER, "scripted"],
    })),
    {
      title:
        "settleAll refuses with VAULT_UNKNOWN_SIGNER if the node has no account",
      given: ({ chain }) => {
        chain.on("eth_accounts", () => []);
      },
      options: { from: STRANGER },
      is: { ...NONE, code: "VAULT_UNKNOWN_SIGNER" },
      says: ["none"],
    },
    {
      title: "settleAll refuses with VAULT_NO_SIGNER without any account",
      given: ({ chain }) => {
        chain.on("eth_accounts", () => []);
      },
      network: remote,
      is: { ...NONE, code: "VAULT_NO_SIGNER" },
      says: ["scripted"],
    },
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
    ).map(([throws, accounts, text]): StageCase => ({
      title: `settleAll throws ${throws}, without the value, for ${Array.isArray(accounts) ? "a key" : "a mnemonic"}`,
      network: { accounts },
      throws,
      says: new RegExp(
        `^(?!.*(?:1234567890|test test)).*${text.replaceAll(/[.[\]]/gu, "\\$&")}`,
        "su",
      ),
    })),
  ]);

  for (const [name, accounts, planted] of [
    ["a key", [keyOf(`0x${"5e".repeat(32)}`)], "5e".repeat(32)],
    [
      "a mnemonic",
      mnemonic(
        "legal winner thank year wave sausage worth useful legal winner thank yellow",
      )["accounts"],
      "legal winner thank year wave sausage worth useful legal winner thank yellow",
    ],
  ] as const) {
    it(`settleAll hides ${name} that a node quotes`, async () => {
      stage.chain.on("eth_getTransactionCount", () => {
        throw Object.assign(new Error(`no nonce for <${planted}>`), {
          code: -32_000,
        });
      });
      const { message } = await expectVaultError(
        stage.settle({}, { accounts }),
        "VAULT_RPC_ERROR",
      );
      expect(message).to.include("no nonce for").and.not.include(planted);
    });
  }

  describe("the default sender of a simulation", () => {
    speedUpTime();

    const find = async (config: object = remote): Promise<string> =>
      await findSender(
        new RpcClient(stage.chain, "scripted"),
        // eslint-disable-next-line @typescript-eslint/consistent-type-assertions -- it reads nothing else of the configuration
        { type: "http", ...config } as unknown as NetworkConfig,
      );

    it("is the network's from, which must be an address", async () => {
      expect(await find({ from: STRANGER.toLowerCase() })).to.equal(STRANGER);
      const { message } = await expectVaultError(
        find({ from: "0x12" }),
        "VAULT_INVALID_ADDRESS",
      );
      expect(message).to.include("networks.scripted.from");
      expect(stage.chain.asked).to.deep.equal([]);
    });

    it("is the first account, which a client asks for once", async () => {
      const client = new RpcClient(stage.chain, "scripted");
      for (let time = 0; time < 2; time += 1) {
        const config = { type: "http", ...remote };
        expect(
          // eslint-disable-next-line @typescript-eslint/consistent-type-assertions -- it reads nothing else of the configuration
          await findSender(client, config as unknown as NetworkConfig),
        ).to.equal(SETTLER);
      }
      expect(stage.chain.count("eth_accounts")).to.equal(1);
    });

    for (const [what, answer] of [
      ["has no account", () => []],
      [
        "refuses to list accounts",
        () => {
          throw Object.assign(new Error("Method not found"), { code: -32_601 });
        },
      ],
    ] as const) {
      it(`fails with VAULT_NO_SENDER, which names the option, if the node ${what}`, async () => {
        stage.chain.on("eth_accounts", answer);
        const { message } = await expectVaultError(find(), "VAULT_NO_SENDER");
        expect(message)
          .to.include("scripted")
          .and.to.match(/\bas\b/u);
      });
    }

    it("fails with VAULT_NETWORK_UNREACHABLE if the answer is lost", async () => {
      stage.chain.on("eth_accounts", () => {
        throw connectionLost();
      });
      await expectVaultError(find(), "VAULT_NETWORK_UNREACHABLE");
    });
  });
});

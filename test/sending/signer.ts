import { expect } from "chai";
import { HDNodeWallet, Transaction, Wallet } from "ethers";
import type { NetworkConfig } from "hardhat/types/config";

import type { AccountLike } from "../../src/client/inputs.js";
import { RpcClient } from "../../src/rpc/rpc-client.js";
import {
  findFreeNonce,
  findSender,
  resolveSigner,
} from "../../src/sending/signer.js";
import type { Signer } from "../../src/sending/signer.js";
import { expectVaultError } from "../helpers/assertions.js";
import { speedUpTime } from "../helpers/deadlines.js";
import {
  StatusError,
  codedError,
  hardhatError,
} from "../helpers/foreign-errors.js";
import { OTHER_KEY, keyOf, remote, unsigned } from "../helpers/keeper.js";
import type { NetworkChanges } from "../helpers/keeper.js";
import { KEY, SETTLER } from "../helpers/scripted-contracts.js";
import { ScriptedNode } from "../helpers/scripted-node.js";
import { DEV_MNEMONIC } from "../helpers/world.js";

const STRANGER = Wallet.createRandom().address;
const OTHER = new Wallet(OTHER_KEY).address;
const ANOTHER_PHRASE =
  "legal winner thank year wave sausage worth useful legal winner thank yellow";

const keys = (...given: ReadonlyArray<string | Error>): NetworkChanges => ({
  accounts: given.map(keyOf),
});
const mnemonic = (
  phrase: string | Error,
  changes: NetworkChanges = {},
): NetworkChanges => ({
  accounts: {
    ...{ mnemonic: keyOf(phrase), passphrase: keyOf("") },
    ...{ path: "m/44'/60'/0'/0", initialIndex: 0, count: 3, ...changes },
  },
});
const addressOf = (path: string, passphrase = ""): string =>
  HDNodeWallet.fromPhrase(DEV_MNEMONIC, passphrase, path).address;

const configOf = (network: NetworkChanges): NetworkConfig =>
  // nothing else of the configuration is read
  ({ type: "http", ...network }) as unknown as NetworkConfig;

describe("the account that settles", () => {
  speedUpTime();
  let node: ScriptedNode;
  let rpc: RpcClient;
  beforeEach(() => {
    node = new ScriptedNode();
    rpc = new RpcClient(node, "scripted");
  });
  const refuse = (words: string, code: number | string) => (): never => {
    throw Object.assign(new Error(words), { code });
  };
  const resolve = async (
    network: NetworkChanges,
    given?: AccountLike,
  ): Promise<Signer> => await resolveSigner(rpc, configOf(network), given);

  const both = keys(OTHER_KEY, KEY);
  for (const [title, network, address, given] of [
    ["the first of two keys", both, OTHER],
    ["the key of from", { ...both, from: SETTLER.toLowerCase() }, SETTLER],
    ["the key of a given address", both, SETTLER, SETTLER],
    [
      "the first of a mnemonic between blanks",
      mnemonic(` ${DEV_MNEMONIC}\n`),
      addressOf("m/44'/60'/0'/0/0"),
    ],
    [
      "one by path, index and passphrase",
      mnemonic(DEV_MNEMONIC, {
        ...{ path: "m/44'/60'/1'/0/", initialIndex: 3 },
        passphrase: keyOf("secret"),
      }),
      addressOf("m/44'/60'/1'/0/3", "secret"),
    ],
    [
      "the last of a mnemonic",
      { ...mnemonic(DEV_MNEMONIC), from: addressOf("m/44'/60'/0'/0/2") },
      addressOf("m/44'/60'/0'/0/2"),
    ],
  ] as const) {
    it(`is ${title}, which signs`, async () => {
      const signer = await resolve(network, given);
      expect(signer).to.include({ address, kind: "local" });
      const { chainId, nonce, to } = unsigned;
      const raw = await signer.sign?.(Transaction.from({ chainId, nonce, to }));
      expect(Transaction.from(raw ?? "").from).to.equal(address);
      expect(node.asked).to.deep.equal([]);
    });
  }

  for (const [from, given] of [
    [SETTLER, STRANGER],
    [STRANGER, undefined],
  ] as const) {
    it(`is any account in process, which does not sign here, ${given === undefined ? "by from" : "given"}`, async () => {
      const signer = await resolve({ type: "edr-simulated", from }, given);
      expect(signer).to.deep.equal({ address: STRANGER, kind: "in-process" });
    });
  }

  for (const [code, network, given, accounts, says] of [
    ["VAULT_UNKNOWN_SIGNER", both, STRANGER, [SETTLER], SETTLER],
    ["VAULT_UNKNOWN_SIGNER", remote, STRANGER, [], "none"],
    ["VAULT_NO_SIGNER", remote, undefined, [], "scripted"],
  ] as const) {
    it(`is none, with the known accounts ${accounts.join()}: ${code}`, async () => {
      node.on("eth_accounts", () => accounts);
      const { message } = await expectVaultError(resolve(network, given), code);
      expect(message)
        .to.include(says)
        .and.include(given ?? "");
    });
  }

  const missing = hardhatError("HHE7");
  const wrongWords = DEV_MNEMONIC.replace(/junk$/u, "test");
  for (const [code, network, says] of [
    ["VAULT_CONFIG_VARIABLE", keys(missing), "no"],
    ["VAULT_INVALID_ARGUMENT", keys("0xfeedc0ffee"), "scripted.accounts[0]"],
    [
      "VAULT_INVALID_ARGUMENT",
      mnemonic(wrongWords),
      "scripted.accounts.mnemonic",
    ],
  ] as const) {
    it(`is none if ${says} is not valid, which the error does not repeat: ${code}`, async () => {
      const { message } = await expectVaultError(resolve(network), code);
      expect(message).to.include(says);
      expect(message).to.not.match(/feedc0ffee|test test/u);
    });
  }

  for (const [name, network, secret] of [
    ["a key", keys(`0x${"5e".repeat(32)}`), "5e".repeat(32)],
    ["a mnemonic", mnemonic(ANOTHER_PHRASE), ANOTHER_PHRASE],
    [
      "a passphrase",
      mnemonic(ANOTHER_PHRASE, { passphrase: keyOf("tulips in may") }),
      "tulips in may",
    ],
  ] as const) {
    it(`keeps ${name} out of the errors of a node that repeats it`, async () => {
      const signer = await resolve(network);
      const words = `no nonce for <${secret}>`;
      node.on("eth_getTransactionCount", refuse(words, -32_000));
      const { message } = await expectVaultError(
        findFreeNonce(rpc, signer, 5),
        "VAULT_RPC_ERROR",
      );
      expect(message).to.include("no nonce for").and.not.include(secret);
    });
  }

  /** Counts at the observed block, at the newest one, and with the pool. */
  for (const [title, observed, latest, pending, nonce] of [
    ["no other transaction", "0x1", "0x1", "0x1", 1],
    ["a count of the pool that is behind", "0x1", "0x1", "0x0", 1],
    ["a transaction that was mined since", "0x0", "0x1", "0x1", 1],
    ["no state of the observed block", undefined, "0x1", "0x1", 1],
    [
      "two that wait, and a node behind",
      "0x3",
      "0x2",
      "0x5",
      "2, from nonce 3",
    ],
  ] as const) {
    it(`has with ${title} ${typeof nonce === "number" ? `the nonce ${nonce}` : "no nonce: VAULT_PENDING_TRANSACTIONS"}`, async () => {
      node.on("eth_getTransactionCount", ([, tag]) =>
        tag === "pending"
          ? pending
          : tag === "latest"
            ? latest
            : (observed ?? refuse("pruned", -32_000)()),
      );
      const signer = { address: SETTLER, kind: "remote" } as const;
      const found = findFreeNonce(rpc, signer, 5);
      if (typeof nonce === "number") {
        expect(await found).to.equal(nonce);
      } else {
        const code = "VAULT_PENDING_TRANSACTIONS";
        const { message } = await expectVaultError(found, code);
        expect(message).to.include(nonce);
      }
    });
  }

  it("has in process the next nonce after its pending transactions", async () => {
    node.on("eth_getTransactionCount", ([, tag]) =>
      tag === "pending" ? "0x5" : "0x1",
    );
    const signer = { address: SETTLER, kind: "in-process" } as const;
    expect(await findFreeNonce(rpc, signer, 5)).to.equal(5);
  });

  it("has no nonce if the node cannot be reached: VAULT_NETWORK_UNREACHABLE", async () => {
    node.on("eth_getTransactionCount", ([, tag]) => {
      if (tag === "pending") {
        return "0x0";
      }
      throw codedError("ECONNREFUSED");
    });
    const signer = { address: SETTLER, kind: "remote" } as const;
    const finding = findFreeNonce(rpc, signer, 5);
    await expectVaultError(finding, "VAULT_NETWORK_UNREACHABLE");
  });

  const find = async (network: NetworkChanges = remote): Promise<string> =>
    await findSender(rpc, configOf(network));

  it("findSender() returns from, and asks for nothing", async () => {
    expect(await find({ from: STRANGER.toLowerCase() })).to.equal(STRANGER);
    expect(node.asked).to.deep.equal([]);
  });

  it("findSender() returns the first account, which a client asks for once", async () => {
    node.on("eth_accounts", () => [SETTLER, STRANGER]);
    expect([await find(), await find()]).to.deep.equal([SETTLER, SETTLER]);
    expect(node.count("eth_accounts")).to.equal(1);
  });

  for (const [code, what, error] of [
    ["VAULT_NO_SENDER", "no account", undefined],
    [
      "VAULT_NO_SENDER",
      "no list",
      Object.assign(new Error("no"), { code: -32_601 }),
    ],
    ["VAULT_NO_SENDER", "a gateway that forbids it", new StatusError(403)],
    [
      "VAULT_RPC_ERROR",
      "no time, by its limit of the rate",
      Object.assign(new Error("slow down"), { code: -32_005 }),
    ],
    [
      "VAULT_RPC_ERROR",
      "no time, by HTTP's code for that",
      Object.assign(new Error("slow down"), { code: 429 }),
    ],
    ["VAULT_NETWORK_UNREACHABLE", "no answer", codedError("ECONNRESET")],
  ] as const) {
    it(`findSender() throws ${code} if the node has ${what}`, async () => {
      node.on("eth_accounts", () => {
        if (error !== undefined) {
          throw error;
        }
        return [];
      });
      const { message } = await expectVaultError(find(), code);
      expect(message).to.include("scripted");
    });
  }
});

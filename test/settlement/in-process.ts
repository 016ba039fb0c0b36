import { expect } from "chai";
import type { NetworkConnection } from "hardhat/types/network";

import type {
  HardhatVault,
  SettlementEvent,
  SettlementPreflight,
} from "../../src/types.js";
import { expectVaultError } from "../helpers/assertions.js";
import { connectTo } from "../helpers/hre.js";
import { deploySettlingVault } from "../helpers/settling-vaults.js";
import { mined } from "../helpers/transactions.js";

const STRANGER = "0x00000000000000000000000000000000000000AA";
const HOLDER = "0x00000000000000000000000000000000BeEF0000";
const ONE = 10n ** 18n;

describe("settleAll in process", () => {
  let connection: NetworkConnection;
  /** Settling moves two tokens and native currency, from and to the settler. */
  let vault: HardhatVault;
  let address: string;
  let token: string;
  let settler: string;
  let start: unknown;

  before(async () => {
    connection = await connectTo(undefined);
    const [signer] = await connection.ethers.getSigners();
    if (signer === undefined) {
      throw new Error("there is no account");
    }
    settler = signer.address;
    const made = await deploySettlingVault(signer, "MixedVault");
    const give = made.contract.getFunction("give");
    await mined(await give.send(settler, 3n * ONE));
    address = await made.contract.getAddress();
    token = await made.token.getAddress();
    vault = connection.vault.at(made.contracts);
    start = await connection.provider.request({ method: "evm_snapshot" });
  });
  afterEach(async () => {
    const { provider } = connection;
    await provider.request({ method: "evm_revert", params: [start] });
    start = await provider.request({ method: "evm_snapshot" });
  });
  after(async () => {
    await connection.close();
  });

  it("settleAll previews each transfer of tokens and of native currency, and finds no difference", async () => {
    const { status, preview, differences } = await vault.settleAll();

    expect(status).to.equal("settled");
    const moves = preview?.transfers?.map(
      (one) => [one.token, one.from, one.to, one.amount] as const,
    );
    expect(moves).to.have.deep.members([
      ["native", address, settler, 2n],
      ["native", address, HOLDER, 3n * ONE],
      [token, address, settler, 11n],
      [token, address, HOLDER, 12n],
      [token, address, HOLDER, 13n],
      [address, settler, address, ONE],
      [address, settler, "0x0000000000000000000000000000000000000000", 5n],
    ]);
    expect(differences).to.deep.equal([]);
    const contract = preview?.balances.find((one) => one.account === address);
    expect(contract?.after).to.equal((contract?.before ?? 0n) - 3n * ONE - 2n);
  });

  it("settleAll previews what it writes to round, pools, volume and margins", async () => {
    const { preview, before, after } = await vault.settleAll();

    const changes = preview?.changes.map((one) => [
      `${one.reading}.${one.field}`,
      one.after,
    ]);
    expect(Object.fromEntries(changes ?? [])).to.include({
      "round.filledVolume": 9n,
      "round.maxVolume": 900n,
      "round.settledAmount": 36n,
      "pools.private.locked": 7n,
      "volume.volume": 7n,
      "marginBalance.baseMarginAmount": 1_000_000n - 36n,
    });
    expect([before?.settled, after?.settled]).to.deep.equal([false, true]);
    expect(after).to.include({ settledAmount: 36n, filledVolume: 9n });
  });

  it("settleAll emits preflight, sending, hash and mined, with the tokens' descriptions", async () => {
    const events: SettlementEvent[] = [];
    const { hash, blockNumber } = await vault.settleAll({
      onEvent: (event) => events.push(event),
    });

    const [shown, ...others] = events;
    expect(shown).to.have.deep.nested.property(
      "preflight.tokens",
      new Map([
        [token, { symbol: "TST", decimals: 6 }],
        [address, { symbol: "SHARE", decimals: 18 }],
      ]),
    );
    expect(others.map((event) => ({ ...event, nonce: null }))).to.deep.equal([
      { type: "sending", hash: null, nonce: null },
      { type: "hash", hash, nonce: null },
      { type: "mined", hash, blockNumber, nonce: null },
    ]);
  });

  it("settleAll shows the account, and that Hardhat signs, and sends nothing after No", async () => {
    const shown: SettlementPreflight[] = [];
    const { status, code } = await vault.settleAll({
      confirm: async (preflight) => {
        shown.push(preflight);
        return await Promise.resolve("no");
      },
    });

    expect([status, code]).to.deep.equal(["refused", "VAULT_NOT_CONFIRMED"]);
    expect(shown[0]).to.include({ from: settler, signing: "in-process" });
    expect((await vault.getLatestRoundInfo()).settled).to.equal(false);
  });

  it("settleAll is reverted with the reason for an account that lacks the shares", async () => {
    expect(await vault.settleAll({ from: STRANGER })).to.include({
      status: "reverted",
      code: "VAULT_CALL_REVERTED",
      reason:
        "panic code 0x11 (Arithmetic operation overflowed outside of an unchecked block)",
    });
  });

  it("settleAll throws VAULT_NO_CODE if the factory has no code", async () => {
    const without = vault.at({ vaultFactory: STRANGER });
    const { details } = await expectVaultError(
      without.settleAll(),
      "VAULT_NO_CODE",
    );
    expect(details).to.include({ address: STRANGER, source: "at()" });
  });

  it("settleAll does not advise to resume if its time is over, and the round is settled for the next", async () => {
    const first = await vault.settleAll({ confirmations: 2, timeout: 2_000 });
    expect(first.status).to.equal("unconfirmed");
    expect(first.reason).to.match(/with 1 of 2 confirmations\.$/u);

    const next = await vault.settleAll({ resumeFirst: true });
    expect(next).to.include({ status: "nothing-to-do", hash: null });
  });

  it("settleAll throws VAULT_CONTRACT_NOT_CONFIGURED without addresses, also with resume", async () => {
    const other = await connectTo(undefined);
    await expectVaultError(
      other.vault.settleAll({ resumeFirst: true }),
      "VAULT_CONTRACT_NOT_CONFIGURED",
    );
    await other.close();
  });
});

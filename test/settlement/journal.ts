import fs, { existsSync, readdirSync } from "node:fs";
import {
  mkdir,
  mkdtemp,
  readFile,
  rm,
  symlink,
  writeFile,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { mock } from "node:test";

import { expect } from "chai";

import { expectVaultError } from "../helpers/assertions.js";
import { fieldsOf } from "../helpers/fields.js";
import { freePort } from "../helpers/free-port.js";
import { openLaneWithNode } from "../helpers/settlement-lane.js";
import type { LaneWithNode } from "../helpers/settlement-lane.js";
import { DEV_KEYS } from "../helpers/world.js";

const POLLING = { pollingInterval: 20, timeout: 20_000 };

describe("the journal of a settlement", () => {
  let lane: LaneWithNode;
  let restore: () => Promise<void>;
  /** The journal of a settlement that was signed and never left. */
  let unsent: Record<string, unknown>;

  before(async () => {
    lane = await openLaneWithNode();
    restore = await lane.world.checkpoint();
    // The second call looks at the round between journal and broadcast.
    lane.server.before({ method: "eth_call", occurrence: 1 }, async () => {
      unsent = fieldsOf(JSON.parse(await readFile(lane.journal, "utf8")));
    });
    await lane.vault.settleAll(POLLING);
  });
  beforeEach(async () => {
    await restore();
    lane.server.reset();
    await lane.removeJournals();
  });
  after(async () => {
    await lane.close();
  });

  it("should be read and written nowhere but in the project", async () => {
    const outside = await mkdtemp(path.join(tmpdir(), "hardhat-vault-out-"));
    const victim = path.join(outside, "victim.json");
    try {
      await writeFile(victim, "{}");
      await mkdir(path.dirname(lane.journal), { recursive: true });
      await symlink(victim, lane.journal);
      for (const resume of [false, true]) {
        const { message } = await expectVaultError(
          lane.vault.settleAll({ ...POLLING, resume }),
          "VAULT_INVALID_JOURNAL",
        );
        expect(message).to.contain("a symbolic link leads out of the project");
      }
      expect(await readFile(victim, "utf8")).to.equal("{}");
    } finally {
      await rm(outside, { recursive: true });
    }
  });

  const write = async (content: unknown): Promise<void> => {
    await mkdir(path.dirname(lane.journal), { recursive: true });
    await writeFile(
      lane.journal,
      typeof content === "string" ? content : JSON.stringify(content),
    );
  };
  const resume = { ...POLLING, resume: true };
  const sent = (): number =>
    lane.server.requests.filter(
      ({ method }) => method === "eth_sendRawTransaction",
    ).length;

  it("should let one of two settlements begin, from whatever accounts", async () => {
    for (let attempt = 0; attempt < 3; attempt += 1) {
      await restore();
      lane.server.reset();
      await lane.removeJournals();
      const vaults = [
        lane.vault,
        await lane.connect({ accounts: [DEV_KEYS[1]] }),
      ];
      // Both have asked all that there is to ask before they are journalled.
      let arrived = 0;
      let release = (): void => undefined;
      const all = new Promise<void>((resolve) => {
        release = resolve;
      });
      for (const occurrence of [0, 1, 2, 3]) {
        lane.server.before(
          { method: "eth_getTransactionCount", occurrence },
          async () => {
            arrived += 1;
            if (arrived === 4) {
              release();
            }
            await all;
          },
        );
      }

      const both = vaults.map(async (vault) => await vault.settleAll(POLLING));
      // Else one may be mined before the other looks for its journal.
      lane.server.before(
        { method: "eth_sendRawTransaction", occurrence: 0 },
        async () => {
          await Promise.race(both);
        },
      );
      const settlements = await Promise.all(both);

      expect(settlements.map(({ status }) => status)).to.have.members([
        "settled",
        "refused",
      ]);
      expect(sent()).to.equal(1);
      expect(await lane.world.settlers()).to.have.length(1);
    }
  });

  it("should be given way to where another process began while the question was open", async () => {
    const settlement = await lane.vault.settleAll({
      ...POLLING,
      confirm: async () => {
        await write(unsent);
        return true;
      },
    });

    expect(settlement).to.include({
      status: "refused",
      code: "VAULT_SETTLEMENT_UNFINISHED",
      hash: fieldsOf(unsent["transaction"])["hash"],
    });
    expect(settlement.reason).to.include("the option `resume`");
    expect(sent()).to.equal(0);
    expect(JSON.parse(await readFile(lane.journal, "utf8"))).to.deep.equal(
      unsent,
    );
  });

  it("should not be sent in another round, and not stand in its way", async () => {
    await write(unsent);
    await lane.world.openNextRound();

    const settlement = await lane.vault.settleAll(resume);

    expect(settlement).to.include({ status: "refused" });
    expect(settlement.reason).to.include(
      "The round changed. Expected: the round from",
    );
    expect(sent()).to.equal(0);
    expect((await lane.vault.settleAll(POLLING)).status).to.equal("settled");
    expect(await lane.world.settlers()).to.deep.equal([lane.settler]);
  });

  it("settles by --resume, or throws and keeps the journal, whatever request fails", async () => {
    await write(unsent);
    expect(await lane.vault.settleAll(resume)).to.include({
      status: "settled",
    });
    const methods = lane.server.requests.map(({ method }) => method);
    const keys = methods.map((method, index) => ({
      method,
      occurrence: methods.slice(0, index).filter((one) => one === method)
        .length,
    }));

    for (const key of keys) {
      await restore();
      lane.server.reset();
      await write(unsent);
      lane.server.inject({ ...key, kind: "500" });

      const { status } = await lane.vault
        .settleAll(resume)
        .catch(async (error: unknown) => {
          expect(error).to.have.property("kind", "rpc");
          expect(sent()).to.equal(0);
          expect(existsSync(lane.journal)).to.equal(true);
          return await lane.vault.settleAll(resume);
        });

      expect(status, JSON.stringify(key)).to.be.oneOf([
        "settled",
        "unconfirmed",
      ]);
      expect(lane.server.unused).to.deep.equal([]);
    }
  });

  it("throws VAULT_NETWORK_UNREACHABLE on --resume while the node is down, and names no other network's settlement", async () => {
    await write(unsent);
    const text = await readFile(lane.journal, "utf8");
    const elsewhere = await lane.connect({
      url: `http://127.0.0.1:${await freePort()}`,
    });

    const { message } = await expectVaultError(
      elsewhere.settleAll(resume),
      "VAULT_NETWORK_UNREACHABLE",
    );

    expect(message)
      .to.include("Network live")
      .and.not.include(fieldsOf(unsent["transaction"])["hash"]);
    expect(await readFile(lane.journal, "utf8")).to.equal(text);
  });

  const broken: ReadonlyArray<
    readonly [name: string, change: () => unknown, problem: string]
  > = [
    ["is empty", () => "", "not JSON"],
    ["is cut", () => JSON.stringify(unsent).slice(0, 300), "not JSON"],
    ["is of a later version", () => ({ ...unsent, version: 2 }), "version"],
    ["lacks a part", () => ({ ...unsent, round: undefined }), "round"],
    [
      "has another transaction's bytes",
      () => ({
        ...unsent,
        transaction: { ...fieldsOf(unsent["transaction"]), nonce: 77 },
      }),
      "its signed bytes are not its transaction",
    ],
  ];
  for (const [name, change, problem] of broken) {
    it(`should be refused, and kept, when it ${name}`, async () => {
      await write(change());
      const text = await readFile(lane.journal, "utf8");

      for (const options of [POLLING, resume]) {
        const { message } = await expectVaultError(
          lane.vault.settleAll(options),
          "VAULT_INVALID_JOURNAL",
        );
        expect(message).to.include(problem);
      }

      expect(sent()).to.equal(0);
      expect(await readFile(lane.journal, "utf8")).to.equal(text);
    });
  }

  /** As on a full disk: files can be made, and nothing can be written to them. */
  const fillDisk = (): (() => void) => {
    const full = Object.assign(
      new Error("ENOSPC: no space left on device, write"),
      {
        code: "ENOSPC",
      },
    );
    const writes = [
      mock.method(fs, "writeFileSync", () => {
        throw full;
      }),
      mock.method(fs, "write", (...args: readonly unknown[]) => {
        // eslint-disable-next-line @typescript-eslint/consistent-type-assertions -- of its many forms each has the callback last
        (args.at(-1) as (error: Error) => void)(full);
      }),
    ];
    return () => {
      for (const mocked of writes) {
        mocked.mock.restore();
      }
    };
  };
  const written = (): readonly string[] =>
    readdirSync(path.dirname(lane.journal));

  it("should send nothing and leave nothing where the disk is full before", async () => {
    await mkdir(path.dirname(lane.journal), { recursive: true });
    let empty = (): void => undefined;

    const { message } = await expectVaultError(
      lane.vault.settleAll({
        ...POLLING,
        confirm: async () => {
          empty = fillDisk();
          return await Promise.resolve(true);
        },
      }),
      "VAULT_JOURNAL_NOT_WRITTEN",
    ).finally(() => {
      empty();
    });

    expect(message).to.include("ENOSPC");
    expect(sent()).to.equal(0);
    expect(written()).to.deep.equal([]);
    expect((await lane.vault.settleAll(POLLING)).status).to.equal("settled");
  });

  it("should leave the entry of before where the disk is full afterwards", async () => {
    let empty = (): void => undefined;
    const troubles: string[] = [];

    const settlement = await lane.vault.settleAll({
      ...POLLING,
      onEvent: (event) => {
        if (event.type === "sending") {
          empty = fillDisk();
        } else if (event.type === "trouble") {
          troubles.push(event.message);
        }
      },
    });
    empty();

    expect(settlement).to.include({ status: "settled" });
    expect(troubles.join()).to.include("ENOSPC");
    expect(written()).to.deep.equal([path.basename(lane.journal)]);
    expect(await lane.vault.settleAll(resume)).to.deep.equal({
      ...settlement,
      preview: null,
    });
  });

  /** As somebody may write it who has no key: nothing in it is signed. */
  const forged = (changes: Record<string, unknown> = {}): unknown => ({
    ...unsent,
    transaction: {
      ...fieldsOf(unsent["transaction"]),
      raw: undefined,
      hash: undefined,
      ...changes,
    },
  });
  const signed = (): readonly unknown[] =>
    lane.server.requests.flatMap(({ method, params }) =>
      method.startsWith("eth_send") ? [params[0]] : [],
    );

  for (const [what, accounts, gap] of [
    ["a key of the configuration", [DEV_KEYS[0]], 0],
    ["a key of the node", "remote", 0],
    ["a key of the node, with a nonce that is not the next", "remote", 3],
  ] as const) {
    it(`gets no signature on --resume from ${what}, and stands in no one's way`, async () => {
      const vault = await lane.connect({
        accounts: accounts === "remote" ? accounts : [...accounts],
      });
      lane.server.hide("eth_signTransaction");
      const { nonce } = fieldsOf(unsent["transaction"]);
      await write(forged({ nonce: Number(nonce) + gap }));

      const settlement = await vault.settleAll(resume);

      expect(settlement).to.include({
        status: "refused",
        code: "VAULT_SETTLEMENT_LOST",
        hash: null,
      });
      expect(signed()).to.deep.equal([]);
      expect((await vault.settleAll(POLLING)).status).to.equal("settled");
      lane.server.show();
      expect(await lane.world.settlers()).to.deep.equal([lane.settler]);
    });
  }

  it("should be told from the journal of a node that was started anew", async () => {
    await write({ ...unsent, genesisHash: `0x${"ab".repeat(32)}` });

    expect(await lane.vault.settleAll(resume)).to.include({
      status: "refused",
      code: "VAULT_NOTHING_TO_RESUME",
    });
    expect(sent()).to.equal(0);

    // Its transaction cannot matter here, so a new settlement may be made.
    expect((await lane.vault.settleAll(POLLING)).status).to.equal("settled");
  });
});

import { existsSync } from "node:fs";
import { writeFile } from "node:fs/promises";

import { expect } from "chai";

import { VaultError } from "../../src/client/index.js";
import type {
  SettleAllOptions,
  Settlement,
} from "../../src/settlement/options.js";
import {
  STATE_OVERRIDES,
  faultKinds,
  keysOf,
} from "../helpers/faulty-rpc-server.js";
import type { FaultKind, RequestKey } from "../helpers/faulty-rpc-server.js";
import { isFull } from "../helpers/sample.js";
import {
  startKeepers,
  requestsOfSettlement,
  runCases,
  startCase,
} from "../helpers/keeper-on-node.js";
import type { KeeperOnNode } from "../helpers/keeper-on-node.js";
import { SENDS } from "../helpers/keeper.js";

/** How long Hardhat waits for an answer: longer than a busy machine takes. */
const PATIENT_MS = 60_000;
/** The same for late answers, and how long those take. */
const [HASTY_MS, LATE_MS] = [2_000, 2_200];

/** Each costs a start of Hardhat, and saves time where cases wait. */
const KEEPERS = isFull ? 8 : 3;

/** Accounts, and what their node does not have. */
const everyMode = [
  ["local keys", []],
  ["remote, node signs", []],
  ["remote, node sends", ["eth_signTransaction", STATE_OVERRIDES]],
] as const;
/** Where a node signs, what comes after the signature is as with local keys. */
const accountModes = everyMode.filter(
  ([mode]) => isFull || mode !== "remote, node signs",
);

const rivals = ["somebody else settles", "the next round opens"] as const;

interface Result {
  readonly settlement: Settlement | undefined;
  readonly error: VaultError | undefined;
  /** What was asked, the resuming run left out. */
  readonly keys: readonly RequestKey[];
}

for (const [mode, hidden] of accountModes) {
  describe(`settleAll under faults: ${mode}`, () => {
    let keepers: readonly KeeperOnNode[];
    /** The same, with connections that wait less for an answer, for late ones. */
    let hasty: readonly KeeperOnNode[];
    let close: () => Promise<void>;
    let requests: readonly RequestKey[];

    before(async () => {
      const settings =
        mode === "local keys" ? {} : ({ accounts: "remote" } as const);
      ({ keepers, close } = await startKeepers(KEEPERS, {
        hidden,
        // A busy machine takes long for what somebody else does before a request goes on.
        settings: { ...settings, timeout: PATIENT_MS },
        delay: LATE_MS,
      }));
      hasty = isFull
        ? await Promise.all(
            keepers.map(async (keeper) => ({
              ...keeper,
              vault: await keeper.connect({ ...settings, timeout: HASTY_MS }),
            })),
          )
        : keepers;
      // What a node can do is found out once by each connection.
      for (const all of new Set([keepers, hasty])) {
        await Promise.all(
          all.map(async (keeper) => {
            await startCase(keeper);
            await settle(keeper, {});
          }),
        );
      }
      // Whoever signs, what comes before the nonce is one.
      requests = await requestsOfSettlement(keepers, mode === "local keys");
    });
    after(async () => {
      await close();
    });

    it("settles once, or sends nothing and says so, if any request fails in any way", async () => {
      const kinds = isFull ? faultKinds : decisiveKinds;
      const keys = isFull ? requests : decisive(requests);
      await runCases(
        `${kinds.length} faults × ${keys.length} requests`,
        hasty,
        keys.flatMap((key) => kinds.map((kind) => ({ ...key, kind }))),
        checkFault,
      );
    });

    it("takes up its own settlement if the answer to any look-up is old", async () => {
      await runCases("look-ups behind", keepers, laggingMethods, checkLag);
    });

    for (const rival of rivals) {
      it(`settles once or not at all if at any request ${rival}`, async () => {
        const keys = isFull ? requests : decisive(requests);
        await runCases(
          `${rival} × ${keys.length} requests but those beside a look, and once more where sending is lost`,
          keepers,
          rivalCases(requests, rival).filter(({ method, occurrence }) =>
            keys.some(
              (key) => key.method === method && key.occurrence === occurrence,
            ),
          ),
          checkRival,
        );
      });
    }
  });
}

/**
 * The requests that decide if a transaction leaves, and if it is found: the last look
 * at the round with the header of its block, the send, and the first look for the receipt.
 */
function decisive(requests: readonly RequestKey[]): readonly RequestKey[] {
  const send = requests.findIndex(({ method }) => SENDS.includes(method));
  const look = lastLookBefore(requests, send);
  return requests.filter(
    ({ method, occurrence }, index) =>
      [look - 1, look, send].includes(index) ||
      (method === "eth_getTransactionReceipt" && occurrence === 0),
  );
}

/** The round is read right before the transaction leaves. */
function lastLookBefore(requests: readonly RequestKey[], send: number): number {
  return requests
    .slice(0, send)
    .findLastIndex(({ method }) => method === "eth_call");
}

/** A fault of each sort: no request, no answer, an error, a refusal, no JSON. */
const decisiveKinds = [
  ...(["drop before forwarding", "drop after forwarding"] as const),
  ...(["JSON-RPC error", "JSON-RPC refusal", "non-JSON body"] as const),
];

/** What a gateway may ask a node for that is behind, one more each time. */
const laggingMethods = [
  ["eth_getTransactionReceipt", "eth_getTransactionByHash"],
  ["eth_getTransactionCount"],
  ["eth_blockNumber"],
  ["eth_getBlockByNumber"],
].map((_, index, all) => all.slice(0, index + 1).flat());

/** Its own settlement, taken up where the look-up has not caught up yet. */
async function checkLag(
  keeper: KeeperOnNode,
  methods: readonly string[],
): Promise<void> {
  const head = await keeper.chain.provider.getBlockNumber();
  const journal = keeper.journalWhenSent();
  const { settlement } = await settle(keeper, {});
  expect(settlement?.status).to.equal("settled");
  // As if the process had died before it saw that.
  await writeFile(keeper.journal, await journal);
  keeper.server.reset();
  keeper.server.fallBehind(head, methods);

  const early = await settle(keeper, { resume: true, timeout: 300 });

  expect(early.settlement).to.include({
    status: "unconfirmed",
    hash: settlement?.hash,
  });
  expect(early.settlement?.reason).not.to.include("somebody else");
  expect(existsSync(keeper.journal)).to.equal(true);
  keeper.server.reset();
  const late = await settle(keeper, { resume: true });
  expect(late.settlement).to.deep.equal({
    ...settlement,
    ...{ preview: null, differences: null },
    // A transaction of another keeper in its block may leave open whose settlement it is.
    reason: late.settlement?.reason,
  });
}

/** A round that changes right before some request. */
interface RivalCase extends RequestKey {
  readonly rival: (typeof rivals)[number];
  /** The request that sends, where its first one is to be lost. */
  readonly lostSend: RequestKey | undefined;
  /** False where the change is seen before anything is sent. */
  readonly isSent: boolean;
}

/** Each request once with a send that arrives, and once with a lost one. */
function rivalCases(
  requests: readonly RequestKey[],
  rival: RivalCase["rival"],
): readonly RivalCase[] {
  const sendIndex = requests.findIndex(({ method }) => SENDS.includes(method));
  // What happens later, nobody sees.
  const lastLook = lastLookBefore(requests, sendIndex);
  const send = requests[sendIndex];
  return requests.flatMap((key, index) =>
    isBesideLook(key)
      ? []
      : [
          undefined,
          // Without signed bytes nothing more is asked of what was lost.
          ...(index > sendIndex && send?.method === "eth_sendTransaction"
            ? []
            : [send]),
        ].map((lostSend) => ({
          ...key,
          rival,
          lostSend,
          isSent:
            index > lastLook ||
            // A round that opens before anything was looked at is the one meant.
            (rival === "the next round opens" && isFirstLook(key)),
        })),
  );
}

/** The header of the block that the round is first read at. */
function isFirstLook({ method, occurrence }: RequestKey): boolean {
  return method === "eth_getBlockByNumber" && occurrence === 0;
}

/**
 * The first block of the chain and the pending one, requested together with the header of
 * the first look: a change right before them is made before or after that header, as the node
 * answers them.
 */
function isBesideLook({ method, occurrence }: RequestKey): boolean {
  return (
    (method === "eth_getBlockByNumber" && [1, 2].includes(occurrence)) ||
    // The kind of chain is asked together with the last look.
    ["hardhat_metadata", "anvil_nodeInfo"].includes(method)
  );
}

/** A settlement in which one request fails. */
async function checkFault(
  keeper: KeeperOnNode,
  fault: RequestKey & { readonly kind: FaultKind },
): Promise<void> {
  keeper.server.inject(fault);
  expect(keeper.server.unused, "faults that wait").to.have.length(1);
  const before = await chainState(keeper);
  const isUnsigned = fault.method === "eth_sendTransaction";
  // Of what is lost without signed bytes, nobody learns more in time.
  const options = isUnsigned ? { timeout: 5_000 } : {};
  const { settlement, error, keys } = await settle(keeper, options);
  await keeper.server.idle();
  const after = await chainState(keeper);

  expect(keeper.server.unused, "faults that did not fire").to.deep.equal([]);
  const ours = await keeper.chain.settlers(before.count);
  const wasSent = keys.some(({ method }) => SENDS.includes(method));
  if (settlement?.status === "settled") {
    expect(ours, "settlements on chain").to.deep.equal([keeper.settler]);
    expect(after.round).to.deep.equal({ ...before.round, settled: true });
    await expectMined(keeper, settlement);
    expect(existsSync(keeper.journal)).to.equal(false);
    return;
  }
  if (wasSent) {
    // An account of the node or a wallet is asked to sign and send once.
    expect(isUnsigned, settlement?.reason ?? undefined).to.equal(true);
    const isError = ["JSON-RPC error", "JSON-RPC refusal"].includes(fault.kind);
    expect(settlement?.status, settlement?.reason ?? "").to.equal(
      isError ? "refused" : "unconfirmed",
    );
    if (!isError) {
      const { settlement: resumed } = await settle(keeper, { resume: true });
      expect(resumed?.code).to.equal("VAULT_SETTLEMENT_LOST");
    }
  } else {
    expect(settlement).to.equal(undefined);
    expect(error?.kind).to.equal("rpc");
  }
  expect(ours, "settlements on chain").to.deep.equal([]);
  expect(after.nonce).to.equal(before.nonce);
  // Where it got as far as a journal, that does not keep the next one off.
  if (existsSync(keeper.journal)) {
    expect((await settle(keeper, {})).settlement?.status).to.equal("settled");
  }
}

/** A settlement during which the round changes under its feet. */
async function checkRival(
  keeper: KeeperOnNode,
  { rival, lostSend, isSent, ...request }: RivalCase,
): Promise<void> {
  const { chain, server } = keeper;
  server.before(request, async () => {
    await (rival === "the next round opens"
      ? chain.openNextRound()
      : chain.settleByOther());
  });
  if (lostSend !== undefined) {
    server.inject({ ...lostSend, kind: "drop before forwarding" });
  }
  const before = await chainState(keeper);
  // Nobody learns what became of a lost one: the whole timeout passes.
  const options = lostSend === undefined ? {} : { timeout: 5_000 };
  const { settlement, keys } = await settle(keeper, options);
  await server.idle();
  const after = await chainState(keeper);

  expect(server.unused, "what did not happen").to.deep.equal(
    lostSend === undefined || isSent
      ? []
      : [`${lostSend.method} ${lostSend.occurrence}`],
  );
  expect(keys.some(({ method }) => SENDS.includes(method))).to.equal(isSent);
  const ours = (await chain.settlers(before.count)).filter(
    (settler) => settler === keeper.settler,
  );
  expect(ours.length, "settlements by us").to.be.at.most(1);
  if (after.nonce > before.nonce) {
    expect(settlement?.hash, "a hash is never lost").not.to.equal(null);
    await expectMined(keeper, settlement);
  }
  const isNextRound = after.round.startTime !== settlement?.before?.startTime;
  const settledTheNext = isNextRound && after.round.settled;
  if (settledTheNext) {
    // Nothing can be read between the last look and the send.
    expect(SENDS).to.include(request.method);
    expect(request.occurrence).to.equal(0);
    expect(settlement?.status).to.equal("not-settled");
    expect(settlement?.reason).to.match(/^MISMATCH/u);
    return;
  }
  if (settlement?.status === "settled") {
    expect(ours).to.deep.equal([keeper.settler]);
    return;
  }
  expect(ours).to.deep.equal([]);
  expect(settlement?.status).to.be.oneOf(
    rival === "the next round opens"
      ? ["refused", "unconfirmed"]
      : ["nothing-to-do", "reverted", "unconfirmed"],
  );
  expect(settlement?.status === "unconfirmed").to.equal(
    lostSend !== undefined && isSent,
  );
}

async function settle(
  keeper: KeeperOnNode,
  options: SettleAllOptions,
): Promise<Result> {
  const { server, vault } = keeper;
  let settlement: Settlement | undefined;
  let error: VaultError | undefined;
  try {
    settlement = await vault.settleAll({
      ...(options.resume === true ? {} : { from: keeper.settler }),
      pollingInterval: 20,
      timeout: 60_000,
      ...options,
    });
  } catch (thrown) {
    if (!VaultError.isVaultError(thrown) || thrown.kind === "bug") {
      throw thrown;
    }
    error = thrown;
  }
  return { settlement, error, keys: keysOf(server) };
}

async function chainState({ chain, settler }: KeeperOnNode) {
  const [count, round, nonce] = await Promise.all([
    chain.settlementCount(),
    chain.round(),
    chain.provider.getTransactionCount(settler),
  ]);
  return { count, round, nonce };
}

async function expectMined(
  { chain, settler }: KeeperOnNode,
  settlement: Settlement | undefined,
): Promise<void> {
  const receipt = await chain.provider.getTransactionReceipt(
    settlement?.hash ?? "",
  );
  expect(receipt?.from).to.equal(settler);
  expect(settlement?.blockNumber).to.equal(receipt?.blockNumber);
}

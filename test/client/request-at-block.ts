import { expect } from "chai";

import { requestAtBlock } from "../../src/client/reader.js";
import type { VaultErrorCode } from "../../src/errors.js";
import { expectVaultError } from "../helpers/assertions.js";
import { speedUpTime } from "../helpers/deadlines.js";
import { codedError } from "../helpers/foreign-errors.js";
import { header, recording } from "../helpers/recording-node.js";

const refusal = (): Error => codedError("", { code: -32_000 });
const gone = codedError("ECONNREFUSED");
const old = { ...header, number: "0x5" };
const hangs = async (): Promise<never> => await new Promise(() => undefined);

/** Answers to the requests for a value, and for headers; the last one stays. */
type Row = readonly [
  end: VaultErrorCode | "value",
  title: string,
  values: Readonly<Record<string, readonly unknown[]>>,
  headers?: unknown,
  block?: string,
];

describe("client - a request at a block that a node refuses", () => {
  speedUpTime();

  const rows: readonly Row[] = [
    [
      "value",
      "refuses it once",
      { "0x5": [refusal(), "0x7"], latest: ["0x7"] },
    ],
    [
      "VAULT_ARCHIVE_NODE_NEEDED",
      "answers it at the newest block only",
      { "0x5": [refusal()], latest: ["0x7"] },
    ],
    [
      "VAULT_ARCHIVE_NODE_NEEDED",
      "answers it at the newest block only, not at its first one",
      { earliest: [refusal()], latest: ["0x7"] },
      old,
      "earliest",
    ],
    [
      "VAULT_RPC_ERROR",
      "refuses it at the newest block, too",
      { "0x5": [refusal()], latest: [refusal()] },
    ],
    [
      "VAULT_RPC_ERROR",
      "refuses the header, too",
      { "0x5": [refusal()], latest: ["0x7"] },
      refusal(),
    ],
    [
      "VAULT_RPC_ERROR",
      "refuses it at a tag, which names another block each time",
      { safe: [refusal()], latest: ["0x7"] },
      old,
      "safe",
    ],
    [
      "VAULT_BLOCK_NOT_FOUND",
      "does not have the block",
      { "0x5": [refusal()], latest: ["0x7"] },
      null,
    ],
    [
      "VAULT_NETWORK_UNREACHABLE",
      "is gone when it is asked again",
      { "0x5": [refusal(), gone], latest: ["0x7"] },
    ],
    [
      "VAULT_RPC_ERROR",
      "is gone when it is asked at the newest block",
      { "0x5": [refusal()], latest: [gone] },
    ],
    [
      "VAULT_RPC_TIMEOUT",
      "does not answer when it is asked for the block",
      { "0x5": [refusal()], latest: ["0x7"] },
      hangs,
    ],
  ];
  for (const [end, title, values, headers = old, block = "0x5"] of rows) {
    it(`ends with ${end} if the node ${title}`, async () => {
      const asked = new Map<unknown, number>();
      const { rpc } = recording((method, [, tag]) => {
        if (method === "eth_getBlockByNumber") {
          return typeof headers === "function" ? hangs() : headers;
        }
        const times = asked.get(tag) ?? 0;
        asked.set(tag, times + 1);
        const answers = values[String(tag)] ?? [];
        return answers[times] ?? answers.at(-1);
      });
      const timed = rpc.withOptions({ timeout: 10_000 });
      const work = requestAtBlock(
        timed,
        block,
        async (at) => await timed.request("eth_call", [{}, at]),
      );
      if (end === "value") {
        expect(await work).to.equal("0x7");
        return;
      }
      const { details } = await expectVaultError(work, end);
      if (end === "VAULT_ARCHIVE_NODE_NEEDED") {
        expect(details).to.include({ block: 5, problem: "no" });
      }
    });
  }
});

import { expect } from "chai";
import type { HardhatRuntimeEnvironment } from "hardhat/types/hre";

import type { CommandResult } from "../helpers/cli.js";
import { pastRound } from "../helpers/past-rounds.js";
import {
  ScriptedNode,
  contractsWithHistory,
  handlerOf,
  settledRound,
} from "../helpers/scripted-node.js";
import type { History } from "../helpers/scripted-node.js";
import { fieldsOf, listOf } from "../helpers/fields.js";
import { hreOnLive } from "../helpers/hre.js";
import { startRpcServer } from "../helpers/rpc-server.js";
import type { RpcServer } from "../helpers/rpc-server.js";
import { parseDocument, runVaultTask } from "../helpers/run-vault-task.js";

const FACTORY = "0x00000000000000000000000000000000000fac70";
const HEAD = 12_345;
const [one, two, three] = [pastRound(1), pastRound(2), pastRound(3)] as const;
const history: History = [
  [1_000, one],
  [2_000, settledRound(one)],
  [2_500, two],
  [3_000, three],
  [9_999, settledRound(three)],
];

describe("vault rounds", () => {
  let server: RpcServer;
  let hre: HardhatRuntimeEnvironment;

  const serve = (answers: History): void => {
    server.handler = handlerOf(
      new ScriptedNode({
        chainId: 1,
        head: HEAD,
        ...contractsWithHistory(answers),
      }),
    );
  };

  before(async () => {
    server = await startRpcServer({});
    hre = await hreOnLive(server.url, {
      vault: { contracts: { vaultFactory: FACTORY }, tokenDecimals: 0 },
    });
  });
  after(async () => {
    await server.stop();
  });
  beforeEach(() => {
    serve(history);
  });

  const rounds = async (
    args: Readonly<Record<string, unknown>> = {},
  ): Promise<CommandResult> => await runVaultTask(hre, "rounds", args);

  it("rounds prints a table of scaled values, and notes on what no block shows", async () => {
    const { stdout, stderr, exitCode } = await rounds();
    expect({ stderr, exitCode }).to.deep.equal({ stderr: "", exitCode: 0 });
    expect(stdout.split("\n").slice(1)).to.deep.equal([
      "Start                 End                   Strike price  Filled volume             Settled price  First block  Settled block  Last block",
      "2023-11-21T22:13:20Z  2023-11-28T22:13:20Z         1,900       1 tokens  1,900.000000000000000001        1,000          2,000       2,499",
      "2023-11-28T22:13:20Z  2023-12-05T22:13:20Z         1,900       2 tokens                         0        2,500       not seen       2,999",
      "2023-12-05T22:13:20Z  2023-12-12T22:13:20Z         1,900       3 tokens  1,900.000000000000000001        3,000          9,999      12,345",
      "",
      "3 rounds; 2 seen to be settled.",
      UNREAD,
      "'not seen': no block shows this round settled. It was replaced unsettled, or in the block that settled it.",
      "",
    ]);
  });

  it("rounds says of a latest round that it was settled before the range", async () => {
    const { stdout } = await rounds({ fromBlock: "10000" });
    expect(stdout).to.match(/ 10,000 +before +12,345\n/u);
  });

  it("rounds reads the blocks from --from-block to --to-block or --block", async () => {
    for (const args of [
      { fromBlock: "1500", toBlock: "2600" },
      { fromBlock: "0x5dc", block: "2600" },
    ]) {
      const document = parseDocument(await rounds({ ...args, json: true }));
      expect(document).to.deep.include({
        block: { number: 2_600, timestamp: 1_700_002_600 },
      });
      expect(wholeRounds(document)).to.deep.equal([
        json(settledRound(one), 1_500, 2_000, 2_499),
        json(two, 2_500, null, 2_600),
      ]);
    }
  });

  it("rounds streams NDJSON and CSV to stdout, and notes on gaps and order to stderr", async () => {
    serve([
      [5_000, two],
      [6_000, "no code"],
      [7_000, one],
    ]);
    const ndjson = await rounds({ format: "ndjson" });
    expect(
      ndjson.stdout
        .trimEnd()
        .split("\n")
        .map((line) => withoutGap(JSON.parse(line))),
    ).to.deep.equal([
      json(two, 5_000, null, 5_999),
      { ...json(one, 7_000, null, HEAD), outOfOrder: true },
    ]);
    expect(ndjson.stderr).to.include("from block 6000 to 6999");
    expect(ndjson.stderr).to.include(
      "first seen in block 7000 breaks the order",
    );
    const csv = await rounds({ format: "csv" });
    expect(csv.stdout.split("\n").slice(1)).to.deep.equal([
      "1900000000000000000000,100000000000000000,1000,2,10,1701209600,1701814400,0,0,false,5000,,5999,440,false",
      `1900000000000000000000,100000000000000000,1000,1,10,1700604800,1701209600,0,0,false,7000,,${HEAD},440,true`,
      "",
    ]);
    expect(csv.stderr).to.equal(ndjson.stderr);
    const document = parseDocument(await rounds({ json: true }));
    expect(document).to.have.property("notes").with.length(3);
  });
});

const UNREAD =
  "Up to 440 blocks in a row were not read, since the blocks before and after show the same round. If the contract was missing in between, the list does not show it.";

function wholeRounds(document: unknown): readonly unknown[] {
  return listOf(fieldsOf(document)["rounds"]).map(withoutGap);
}

function withoutGap(round: unknown): unknown {
  const { unreadBlocks, ...rest } = fieldsOf(round);
  expect(unreadBlocks).to.be.a("number");
  return rest;
}

function json(
  round: ReturnType<typeof pastRound>,
  firstBlock: number,
  settledBlock: number | null,
  lastBlock: number,
): Record<string, unknown> {
  return {
    ...Object.fromEntries(
      Object.entries(round).map(([name, value]) => [
        name,
        typeof value === "bigint" ? value.toString() : value,
      ]),
    ),
    firstBlock,
    settledBlock,
    lastBlock,
  };
}

import { expect } from "chai";

import { readOperationNames } from "../../src/protocol/index.js";
import {
  captureTask,
  ordersTask,
  readTask,
  setTask,
  settleTask,
  simulateTask,
  watchTask,
} from "../../tasks/definitions.js";
import type { Task } from "../../tasks/definitions.js";
import { parseOptions } from "../../tasks/parse-options.js";
import { SECOND } from "../helpers/names.js";
import { rowsOf } from "../helpers/rows.js";
import { parseTyped } from "../helpers/run-vault-task.js";

const SECRET = "ab".repeat(32);
const BAD_CHECKSUM = SECOND.replace("C8", "c8");
const ABOVE = (2n ** 256n).toString();

describe("values of options", () => {
  const tasks: readonly Task[] = [
    ...[simulateTask, ordersTask, settleTask, watchTask, captureTask, setTask],
    ...readOperationNames.map(readTask),
  ];
  const parse = (typed: string): Readonly<Record<string, unknown>> => {
    const [task, args] = parseTyped(typed);
    const described =
      tasks.find(({ name }) => name === task) ??
      expect.fail(`${task} is not listed`);
    return parseOptions(described, args);
  };
  /** JSON without quotes, with an `n` behind a bigint. */
  const textOf = (value: object): string =>
    JSON.stringify(value, (_, inner: unknown) =>
      typeof inner === "bigint" ? `${inner}n` : inner,
    ).replaceAll('"', "");
  const margins = "margins --end-time 1800000000 --apy 12 --max-volume";
  for (const [typed = "", name = "", text] of rowsOf(`
    simulate --ids '1, 2,5-7,7,0x10' | ids | [1n,2n,5n,6n,7n,16n]
    simulate --tokens '${SECOND.toLowerCase()}, ${SECOND}' | tokens | [${SECOND},${SECOND}]
    simulate --at-time end | atTime | end
    simulate --timeout 0.001 | timeout | 1
    orders --ids 0-499999 | ids | {firstId:0n,lastId:499999n}
    orders --ids 500- | ids | {firstId:500n}
    orders --ids 1,5-6 | ids | {ids:[1n,5n,6n]}
    settle --max-fee-per-gas '1.5 gwei' | maxFeePerGas | 1500000000n
    settle --max-fee-per-gas 1000wei | maxFeePerGas | 1000n
    ${margins} 3 | maxVolume | 3
    ${margins} 0x10 --raw | maxVolume | 16n
    ${margins} 3 | apy | 120000000000000000n
    ${margins} 3 --raw | apy | 12n
  `)) {
    it(`${name} of vault ${typed} is read as ${text}`, () => {
      expect(textOf({ is: parse(typed)[name] })).to.equal(`{is:${text}}`);
    });
  }

  for (const [typed = "", code = "", words = ""] of rowsOf(`
    volume --block newest | VAULT_INVALID_BLOCK | --block
    simulate --block pending | VAULT_INVALID_ARGUMENT | --block: pending
    volume --from 0x12 | VAULT_INVALID_ADDRESS | --from
    volume --from ${BAD_CHECKSUM} | VAULT_INVALID_ADDRESS | checksum
    simulate --tokens ${SECOND}, | VAULT_INVALID_ADDRESS | --tokens
    volume --at ${SECOND} | VAULT_INVALID_ARGUMENT | role=0x…[,role=0x…] is needed
    volume --at vault=${SECOND},vault=${SECOND} | VAULT_INVALID_ARGUMENT | each role once
    volume --timeout 0 | VAULT_INVALID_ARGUMENT | seconds from 0.001 to 2147483 is needed, got "0"
    volume --timeout 2147484 | VAULT_INVALID_ARGUMENT | got "2147484"
    watch --until soon | VAULT_INVALID_TIME | --until
    simulate --at-time -7d | VAULT_INVALID_TIME | not end or a time
    settle --confirmations 1.5 | VAULT_INVALID_INTEGER | --confirmations
    order ${ABOVE} | VAULT_INVALID_INTEGER | <id>
    settle --max-fee-per-gas 50 | VAULT_INVALID_ARGUMENT | wei or gwei
    settle --max-fee-per-gas 1.5wei | VAULT_INVALID_DECIMAL | "1.5"
    simulate --ids 9-5 | VAULT_INVALID_ARGUMENT | "9-5" is not a range
    simulate --ids 1-99999999999999999999 | VAULT_INVALID_ARGUMENT | at most 10,000
    orders --ids 1,5- | VAULT_INVALID_INTEGER | An id in --ids
    orders --ids 1,2-999999999 | VAULT_INVALID_ARGUMENT | at most 10,000
    orders --state CALL | VAULT_INVALID_ENUM | --state
    ${margins} 1 --apy -1 | VAULT_INVALID_DECIMAL | --apy
    orders --out '' | VAULT_INVALID_ARGUMENT | --out: a file name is needed
    capture --out '' | VAULT_INVALID_ARGUMENT | --out: a file name is needed
    capture | VAULT_MISSING_OPTION | --out
    mock set | VAULT_MISSING_OPTION | <changes>
  `)) {
    it(`vault ${typed.slice(0, 60)} is refused with ${code}: ${words}`, () => {
      expect(() => parse(typed))
        .to.throw(words)
        .with.property("code", code);
    });
  }

  it("an error does not repeat what may be a private key", () => {
    for (const typed of [`volume --from ${SECRET}`, `volume --at ${SECRET}`]) {
      expect(() => parse(typed))
        .to.throw("may be a private key")
        .with.property("message")
        .that.does.not.include(SECRET);
    }
  });

  it("an option takes 10,000 ids, each counted once, and not one more", () => {
    const ids = (count: number) => ({ ids: `1,0,1-${count - 1}` });
    expect(() => parseOptions(ordersTask, ids(10_000))).to.not.throw();
    expect(() => parseOptions(ordersTask, ids(10_001))).to.throw(
      "at most 10,000 orders can be named",
    );
  });
});

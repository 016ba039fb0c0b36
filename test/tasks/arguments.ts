import { expect } from "chai";
import { TaskDefinitionType } from "hardhat/types/tasks";
import type { HardhatRuntimeEnvironment } from "hardhat/types/hre";

import {
  operationEntry,
  readOperationNames,
} from "../../src/protocol/index.js";
import type { VaultErrorCode } from "../../src/errors.js";
import { kindOf, readArguments, taskArguments } from "../../tasks/arguments.js";
import type { Arguments } from "../../tasks/arguments.js";
import { vaultTasks } from "../../tasks/index.js";
import { parseArguments, toFlag } from "../../tasks/parse-arguments.js";
import { createTestHre, httpNetwork } from "../helpers/hre.js";
import { parseDocument, runVaultTask } from "../helpers/run-vault-task.js";

const ADDRESS = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8";
const BAD_CHECKSUM = ADDRESS.replace("C8", "c8");
const ABOVE = (2n ** 256n).toString();

/** Texts that no argument of a kind takes, by the code of their error. */
const wrong: Readonly<
  Record<string, { readonly [Code in VaultErrorCode]?: readonly string[] }>
> = {
  file: { VAULT_INVALID_ARGUMENT: [""] },
  address: { VAULT_INVALID_ADDRESS: ["me", "0x12", "", BAD_CHECKSUM] },
  addresses: { VAULT_INVALID_ADDRESS: ["0x12", `${ADDRESS},`, ""] },
  roles: {
    VAULT_INVALID_ADDRESS: [`vault=${BAD_CHECKSUM}`],
    VAULT_INVALID_ARGUMENT: [
      ...["", ADDRESS, `valt=${ADDRESS}`, "ab".repeat(32)],
      `vault=${ADDRESS},vault=${ADDRESS}`,
    ],
  },
  block: { VAULT_INVALID_BLOCK: ["newest", "1.5", "-1", "", `${2n ** 64n}`] },
  fixedBlock: {
    VAULT_INVALID_BLOCK: ["newest", "1.5", "-1", "", `${2n ** 64n}`],
    VAULT_INVALID_ARGUMENT: ["pending"],
  },
  ids: {
    VAULT_INVALID_INTEGER: ["x", "1,,2", "-1", "", "1.5", "1,x", "5-"],
    VAULT_INVALID_ARGUMENT: ["9-5", "1-2-3", "1-999999999", "1-10001"],
  },
  orders: {
    VAULT_INVALID_INTEGER: ["x", "1,,2", "-1", "", "1.5", "1,5-", "x-"],
    VAULT_INVALID_ARGUMENT: ["9-5", "1-2-3", "1,2-999999999"],
  },
  time: {
    VAULT_INVALID_TIME: ["soon", "2026-02-31", "-7d", "7d", "", "0x10"],
  },
  seconds: {
    VAULT_INVALID_ARGUMENT: [
      ...["0", "0.0001", "2147484", "1e9", "-1", "soon", "5m", ""],
    ],
  },
  integer: {
    VAULT_INVALID_INTEGER: ["-1", "1.5", ABOVE, "x", "", " 1", "0x", "１"],
  },
  amount: { VAULT_INVALID_DECIMAL: ["1.0000001", ABOVE, "-1", "1,5", "1e3"] },
  percent: { VAULT_INVALID_DECIMAL: ["-1", "1,5", "1e3", "", ".", "0x10"] },
  choice: { VAULT_INVALID_ENUM: ["CALL", "1", "", "xml"] },
};

/** Every task with its arguments. */
const described: ReadonlyArray<readonly [task: string, Arguments]> = [
  ...Object.entries(taskArguments),
  ...readOperationNames.map((operation) => {
    const { task, inputs } = operationEntry(operation);
    return [task, readArguments(inputs)] as const;
  }),
];

/** What a task needs beside the argument that is wrong. */
const right: Readonly<Record<string, unknown>> = {
  maxVolume: "1",
  apy: "1",
  endTime: "+7d",
  id: "1",
  operation: "queryVolume",
  reason: "closed",
  changes: ["round.APY=1"],
  hex: "0x",
  out: "out.json",
};

describe("arguments of tasks", () => {
  let hre: HardhatRuntimeEnvironment;
  before(async () => {
    hre = await createTestHre(
      {
        networks: {
          // What asks it fails with another code.
          down: httpNetwork("http://127.0.0.1:1", {
            vault: { tokenDecimals: 6 },
          }),
        },
      },
      { network: "down" },
    );
  });

  for (const [task, all] of described) {
    it(`vault ${task} should refuse a wrong value of each argument before a network is asked`, async () => {
      const needed = Object.fromEntries(
        Object.entries(all).flatMap(([name, { required }]) =>
          required === true ? [[name, right[name]]] : [],
        ),
      );
      for (const [name, argument] of Object.entries(all)) {
        const codes = Object.entries(wrong[kindOf(argument).kind] ?? {});
        for (const [code, texts] of codes) {
          for (const text of texts) {
            const document = parseDocument(
              await runVaultTask(hre, task, {
                ...needed,
                [name]: text,
                json: true,
              }),
            );
            const what = `${name} ${text}`;
            expect(document, what).to.have.nested.property("error.code", code);
            const flag = toFlag(name);
            expect(document, what)
              .to.have.nested.property("error.message")
              .that.contains(
                argument.position === undefined ? flag : `<${flag.slice(2)}>`,
              );
          }
        }
        if (argument.required === true && argument.position !== "one") {
          const document = parseDocument(
            await runVaultTask(hre, task, {
              ...needed,
              [name]: argument.position === "many" ? [] : undefined,
              json: true,
            }),
          );
          expect(document, name).to.have.nested.property(
            "error.code",
            "VAULT_MISSING_OPTION",
          );
        }
      }
    });
  }

  for (const [task, args, says] of [
    [
      "status",
      { all: true, block: "pending" },
      "--block: pending is not a fixed",
    ],
    ["status", { all: true, instance: "a" }, "--all and --instance"],
    ["rounds", { toBlock: "1", block: "1" }, "--block and --to-block"],
    ["rounds", { format: "csv", json: true }, "--json and --format: they"],
    ["orders", { format: "csv", json: true }, "--json and --format: they"],
    ["simulate", { ids: "1-401" }, "--ids: at most 400 orders"],
    ["settle", { assert: true, resume: true }, "--assert and --resume"],
    ["settle", { assert: true, calldata: true }, "--assert and --calldata"],
    ["settle", { safe: true }, "--safe: it needs --calldata"],
    ["settle", { calldata: true, ifExpired: true }, "--calldata and"],
    ["settle", { confirmations: "0", yes: true }, "--confirmations: "],
    ["watch", { interval: "0.01" }, "--interval: "],
    [
      "watch",
      { until: "someday" },
      "--until is not settled, expired or a time",
    ],
    ["simulate", { atTime: "foo" }, '--at-time is not end or a time: "foo".'],
    ["volume", { at: "ab".repeat(32) }, "may be a private key"],
    ["order", { id: "1", block: "newest" }, "finalized"],
  ] as const) {
    it(`vault ${task} ${JSON.stringify(args)} should be refused before a network is asked`, async () => {
      const { stdout, exitCode } = await runVaultTask(hre, task, {
        ...args,
        json: true,
      });
      expect(exitCode).to.equal(1);
      const document: unknown = JSON.parse(stdout);
      expect(document)
        .to.have.nested.property("error.message")
        .that.contains(says);
    });
  }

  it("should become values of their kind", () => {
    const parsed = parseArguments(
      taskArguments.simulate,
      {
        ids: "1, 2,5-9,7,0x10",
        tokens: `${ADDRESS.toLowerCase()}, ${ADDRESS}`,
        timeout: "2.5",
        block: "1_000",
        atTime: "end",
        fork: true,
      },
      hre,
    );
    expect(parsed).to.deep.include({
      ids: [1n, 2n, 5n, 6n, 7n, 8n, 9n, 16n],
      tokens: [ADDRESS, ADDRESS],
      timeout: 2_500,
      block: 1_000n,
      atTime: "end",
      fork: true,
      as: undefined,
    });
    for (const [ids, selected] of [
      ["0-499999", { firstId: 0n, lastId: 499_999n }],
      ["500-", { firstId: 500n, lastId: undefined }],
      ["7", { ids: [7n] }],
      ["1,5-6", { ids: [1n, 5n, 6n] }],
    ] as const) {
      expect(
        parseArguments(taskArguments.orders, { ids }, hre).ids,
      ).to.deep.equal(selected);
    }
    const { until } = parseArguments(
      taskArguments.watch,
      { until: "+1h" },
      hre,
    );
    expect(typeof until === "object" && until.after(1_000)).to.equal(4_600n);
  });

  it("should be scaled as the network says, and not with --raw", () => {
    const { inputs } = operationEntry("calMargins");
    const ofMargins = readArguments(inputs);
    const typed = { maxVolume: "3", apy: "12", endTime: "1800000000" };
    for (const [raw, maxVolume, apy] of [
      [false, 3_000_000n, 12n * 10n ** 16n],
      [true, 3n, 12n],
    ] as const) {
      expect(parseArguments(ofMargins, { ...typed, raw }, hre)).to.deep.include(
        { maxVolume, apy },
      );
    }
  });

  it("have no empty default, which Hardhat's help would show", () => {
    const defaults = vaultTasks.flatMap((task) =>
      task.type === TaskDefinitionType.NEW_TASK
        ? task.positionalArguments.map(({ defaultValue }) => defaultValue)
        : [],
    );
    expect(defaults).to.not.deep.include([]);
  });

  it("should be offered by --help only where a task takes them", () => {
    for (const definition of vaultTasks) {
      if (definition.type === TaskDefinitionType.NEW_TASK) {
        const { description = "" } = definition.options["block"] ?? {};
        const takesPending = [
          "status",
          ...readOperationNames.map(
            (operation) => operationEntry(operation).task,
          ),
        ];
        expect(
          description.includes("pending"),
          definition.id.join(" "),
        ).to.equal(
          description !== "" && takesPending.includes(definition.id[1] ?? ""),
        );
      }
    }
  });
});

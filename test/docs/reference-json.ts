import { readFile } from "node:fs/promises";

import { expect } from "chai";
import { BrowserProvider } from "ethers";
import { TaskDefinitionType } from "hardhat/types/tasks";

import {
  jsonDocuments,
  idOf,
  toJsonSchema,
} from "../../scripts/docs/json-documents.js";
import hardhatVault from "../../src/index.js";

import { startAnvil } from "../helpers/anvil.js";
import { fieldsOf, listOf } from "../helpers/fields.js";
import { useFixtureProject } from "../helpers/fixture-project.js";
import { connectTo, hreOnLive } from "../helpers/hre.js";
import { runTyped } from "../helpers/run-vault-task.js";
import { deploySettlingVault } from "../helpers/settling-vaults.js";

const beforeSettlement = [
  ...["funding-rate", "round", "order 1", "pools", "volume"],
  ...["margin-balance", "min-margin", "status", "doctor", "simulate"],
  "margins --max-volume 1 --apy 1 --end-time +7d --raw",
  ...["request queryVolume", "request settleAll"],
  "orders --ids 1,9",
  ...["settle", "settle --assert", "settle --calldata", "settle --resume"],
  "settle --calldata --from 0x70997970C51812dc3A010C7d01b50e0d17dc79C8",
  ...["capture --out a.json", "capture --out a.json --ids 1"],
  ...["report --out a.html", "order x"],
  "mock set volume=6 orders.9.exType=a unknownOrders=zeros",
  "orders --ids 1,8",
  ...["mock next-round", "mock fail getLPAmountInfo no --pool public"],
  ...["status", "simulate", "mock succeed getLPAmountInfo"],
  ...["mock fail settleAll no", "simulate", "settle --yes"],
  ...["mock succeed settleAll", "deploy-mocks"],
];
const afterSettlement = [
  ...[
    "settle --yes",
    "simulate",
    "watch --until settled",
    "deploy-guard --yes",
  ],
];

describe("the JSON Schema of what tasks print", () => {
  /** By the name of the document. */
  const documents = new Map<string, unknown[]>();
  const schema = toJsonSchema();

  before(runTasks);

  it("has the document of every task", () => {
    const tasks = (hardhatVault.tasks ?? [])
      .filter(({ type }) => type === TaskDefinitionType.NEW_TASK)
      .map(({ id }) => id.join(" "));
    expect(Object.keys(jsonDocuments)).to.include.members(tasks);
    expect([...documents.keys()]).to.have.members(Object.keys(jsonDocuments));
  });

  it("describes each document that a task prints, with no key more", () => {
    for (const [name, printed] of documents) {
      for (const document of printed) {
        const { error } = jsonDocuments[name]?.safeParse(document) ?? {};
        expect(error, `${name} ${JSON.stringify(document)}`).to.equal(
          undefined,
        );
      }
    }
  });

  it("has no key that no task prints", () => {
    const definitions = fieldsOf(fieldsOf(schema)["$defs"]);
    for (const [name, printed] of documents) {
      const unseen = keysBeyond(definitions[idOf(name)], printed, definitions);
      // Of each reading one fails; no settlement is under way here, and each came as previewed.
      const expected = unseen.filter(
        (key) => !/\.error$|openSettlement\.|differences\./u.test(key),
      );
      expect(expected, name).to.deep.equal([]);
    }
  });

  it("has no keyword that validators refuse", () => {
    const definitions = Object.values(fieldsOf(fieldsOf(schema)["$defs"]));
    expect(definitions.filter((one) => "id" in fieldsOf(one))).to.deep.equal(
      [],
    );
  });

  it("is the published one", async () => {
    const published = await readFile("docs/tasks.schema.json", "utf8");
    expect(JSON.parse(published)).to.deep.equal(schema);
  });

  function addDocuments(command: string, output: string): void {
    const name = Object.keys(jsonDocuments)
      .filter((each) => command.startsWith(each))
      .sort((one, other) => other.length - one.length)[0];
    for (const [line] of output.matchAll(/^\{".*$/gmu)) {
      const document: unknown = JSON.parse(line);
      const of = "error" in fieldsOf(document) ? "error" : (name ?? command);
      documents.set(of, [...(documents.get(of) ?? []), document]);
    }
  }

  /** Runs every task so that each key of each document is printed once. */
  async function runTasks(): Promise<void> {
    const anvil = await startAnvil();
    const project = await useFixtureProject("plain");
    const folder = process.cwd();
    // The files of --out are named from here.
    process.chdir(project.path);
    const { vault, provider } = await connectTo(anvil.url);
    const mocks = await vault.deployMocks({
      overrides: { unknownOrders: "revert" },
    });
    const settings = { contracts: mocks.addresses, instances: { usdc: {} } };
    const hre = await hreOnLive(anvil.url, { vault: settings }, project.path);
    const record = async (typed: string): Promise<void> => {
      const { stdout } = await runTyped(hre, `${typed} --json`);
      addDocuments(`vault ${typed}`, stdout);
    };
    const recordAll = async (commands: readonly string[]): Promise<void> => {
      for (const typed of commands) {
        await record(typed);
      }
    };
    await recordAll(beforeSettlement);
    await provider.request({ method: "anvil_mine", params: ["0x40"] });
    await mocks.set({ round: { startTime: 5n } });
    await record("rounds");
    await record("status --all");
    const signer = await new BrowserProvider(provider, "any", {
      cacheTimeout: -1,
      pollingInterval: 20,
    }).getSigner();
    for (const name of ["PayingVault", "FeeVault"] as const) {
      const { contracts } = await deploySettlingVault(signer, name);
      const at = Object.entries(contracts)
        .map((pair) => pair.join("="))
        .join();
      await record(`simulate --ids 1 --at ${at}`);
      await record(`settle --yes --at ${at}`);
    }
    await recordAll(afterSettlement);
    process.chdir(folder);
    await project.remove();
    await anvil.stop();
  }
});

/** The keys of a schema that none of these values has. */
function keysBeyond(
  schema: unknown,
  values: readonly unknown[],
  named: Readonly<Record<string, unknown>>,
): readonly string[] {
  const { $ref, anyOf, properties, items, prefixItems, additionalProperties } =
    fieldsOf(schema);
  if (typeof $ref === "string") {
    return keysBeyond(named[$ref.replace("#/$defs/", "")], values, named);
  }
  const inner = (name: string, each: unknown, of: readonly unknown[]) =>
    of.length === 0
      ? [name]
      : keysBeyond(each, of, named).map((key) => `${name}.${key}`);
  const objects = values.map(fieldsOf);
  return [
    ...listOf(anyOf).flatMap((each) => keysBeyond(each, values, named)),
    ...Object.entries(fieldsOf(properties)).flatMap(([name, each]) =>
      inner(
        name,
        each,
        objects.flatMap((object) =>
          object[name] === undefined ? [] : [object[name]],
        ),
      ),
    ),
    ...(items === undefined && prefixItems === undefined
      ? []
      : keysBeyond(
          items ?? listOf(prefixItems)[0],
          values.flatMap(listOf),
          named,
        )),
    ...(typeof additionalProperties === "object"
      ? keysBeyond(
          additionalProperties,
          objects.flatMap((object) => Object.values(object)),
          named,
        )
      : []),
  ];
}

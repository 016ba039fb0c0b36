import { readFile, readdir, writeFile } from "node:fs/promises";
import path from "node:path";

import { expect } from "chai";

import { expectVaultError } from "../helpers/assertions.js";
import { fieldsOf } from "../helpers/fields.js";
import { ESCAPED, wrongIn } from "../helpers/hostile-node.js";
import { key, useHostileStage } from "../helpers/hostile-stage.js";
import { everythingHostile, harmfulIn } from "../helpers/hostile-text.js";
import { createTestHre } from "../helpers/hre.js";
import { runTyped } from "../helpers/run-vault-task.js";

type Fields = Readonly<Record<string, unknown>>;

const parseFile = async (file: string): Promise<Fields> =>
  fieldsOf(JSON.parse(await readFile(file, "utf8")));
const tampered = (document: Fields): readonly Fields[] => [
  { ...document, [everythingHostile]: 1 },
  ...Object.keys(document).flatMap((name) => [
    { ...document, [name]: everythingHostile },
    { ...document, [name]: { [everythingHostile]: everythingHostile } },
  ]),
];

describe("hostile text in files of the project", () => {
  const stage = useHostileStage();

  for (const [title, preparing, typed, parts] of [
    [
      "settle --resume escapes a hostile text of a journal",
      "settle --yes --timeout 2",
      "settle --resume --timeout 0.2",
      ["transactions", "round"],
    ],
    [
      "a read task escapes a hostile text of a deployment file",
      "deploy-mocks",
      "volume",
      ["contracts"],
    ],
  ] as const) {
    it(title, async () => {
      const { server, hreWith, andBack, deployments } = stage.open;
      const isRead = typed === "volume";
      server.handler = ({ request: { method } }) =>
        method === "eth_sendRawTransaction" && !isRead
          ? { result: null }
          : undefined;
      const hre = await hreWith({ ...key, ...(isRead ? { vault: {} } : {}) });
      await andBack(async () => {
        await runTyped(hre, preparing);
        const [name = "", ...more] = await readdir(deployments);
        expect(more).to.deep.equal([]);
        const file = path.join(deployments, name);
        const whole = await parseFile(file);
        const inside = parts.flatMap((part) => {
          const value = whole[part];
          const inner = fieldsOf(Array.isArray(value) ? value[0] : value);
          return tampered(inner).map((changed) => ({
            ...whole,
            [part]: Array.isArray(value) ? [changed] : changed,
          }));
        });
        let said = "";
        for (const document of [...tampered(whole), ...inside]) {
          await writeFile(file, JSON.stringify(document));
          const { stdout, stderr } = await runTyped(hre, typed);
          expect(wrongIn(stdout + stderr, typed)).to.deep.equal([]);
          said += stdout + stderr;
        }
        expect(said).to.match(ESCAPED);
      });
    });
  }

  it("deployMocks refuses a tampered fixture with VAULT_INVALID_FIXTURE, and escapes its hostile text", async () => {
    const { server, hreWith, written } = stage.open;
    server.handler = () => undefined;
    const fixture = path.join(written, "tampered.json");
    const hre = await hreWith(key);
    await runTyped(hre, `capture --ids 1 --out ${fixture}`);
    // Nobody reads where it was captured.
    const { chainId, block, ...read } = await parseFile(fixture);
    const { vault } = await (await createTestHre()).network.create();
    for (const document of tampered(read)) {
      const text = JSON.stringify({ chainId, block, ...document });
      await writeFile(fixture, text);
      const { message } = await expectVaultError(
        vault.deployMocks({ fixture }),
        "VAULT_INVALID_FIXTURE",
      );
      expect(harmfulIn(message)).to.deep.equal([]);
    }
  });
});

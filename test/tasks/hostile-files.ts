import { readFile, readdir, writeFile } from "node:fs/promises";
import path from "node:path";

import { expect } from "chai";

import { expectVaultError } from "../helpers/assertions.js";
import { fieldsOf, listOf } from "../helpers/fields.js";
import { ESCAPED, wrongIn } from "../helpers/hostile-node.js";
import { key, useHostileStage } from "../helpers/hostile-stage.js";
import { everythingHostile, harmfulIn } from "../helpers/hostile-text.js";
import { createTestHre } from "../helpers/hre.js";
import { runTyped, runVaultTask } from "../helpers/run-vault-task.js";

describe("hostile text in files of the project", () => {
  const stage = useHostileStage();

  const tampered = (
    document: Readonly<Record<string, unknown>>,
  ): ReadonlyArray<Readonly<Record<string, unknown>>> => [
    { ...document, [everythingHostile]: 1 },
    ...Object.keys(document).flatMap((name) => [
      { ...document, [name]: everythingHostile },
      { ...document, [name]: { [everythingHostile]: everythingHostile } },
    ]),
  ];

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
      const isRead = typed === "volume";
      stage.server.handler = ({ request: { method } }) =>
        method === "eth_sendRawTransaction" && !isRead
          ? { result: null }
          : undefined;
      const hre = await stage.hreWith({
        ...key,
        ...(isRead ? { vault: {} } : {}),
      });
      await stage.andBack(async () => {
        await runTyped(hre, preparing);
        const [name = "", ...more] = await readdir(stage.deployments);
        expect(more).to.deep.equal([]);
        const file = path.join(stage.deployments, name);
        const whole = parseObject(await readFile(file, "utf8"));
        let said = "";
        for (const document of [
          ...tampered(whole),
          ...parts.flatMap((part) => {
            const value = whole[part];
            const first = listOf(value)[0] ?? value;
            return tampered(fieldsOf(first)).map((changed) => ({
              ...whole,
              [part]: Array.isArray(value) ? [changed] : changed,
            }));
          }),
        ]) {
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
    stage.server.handler = () => undefined;
    const out = path.join(stage.written, "tampered.json");
    await runVaultTask(await stage.hreWith(key), "capture", { out, ids: "1" });
    const fixture = parseObject(await readFile(out, "utf8"));
    const { vault } = await (await createTestHre()).network.create();
    for (const document of tampered(fixture).filter(
      // Nobody reads where it was captured.
      ({ chainId, block }) =>
        chainId === fixture["chainId"] && block === fixture["block"],
    )) {
      await writeFile(out, JSON.stringify(document));
      const { message } = await expectVaultError(
        vault.deployMocks({ fixture: out }),
        "VAULT_INVALID_FIXTURE",
      );
      expect(harmfulIn(message)).to.deep.equal([]);
    }
  });
});

function parseObject(text: string): Readonly<Record<string, unknown>> {
  return fieldsOf(JSON.parse(text));
}

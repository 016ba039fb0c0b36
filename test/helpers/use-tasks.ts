import { expect } from "chai";
import type { NetworkUserConfig } from "hardhat/types/config";

import type { MockOverrides, MockVaultHandle } from "../../src/mocks/index.js";
import type { CommandResult } from "./cli.js";
import { fieldsOf } from "./fields.js";
import { useFixtureProject } from "./fixture-project.js";
import type { FixtureProject } from "./fixture-project.js";
import { createTestHre, httpNetwork } from "./hre.js";
import { rowsOf } from "./rows.js";
import { parseDocument, runTyped } from "./run-vault-task.js";
import { useMocks } from "./world.js";

type Fields = Readonly<Record<string, unknown>>;

/** Tasks on an anvil with mocks, in an empty project that is the working folder. */
export interface Tasks {
  readonly url: string;
  readonly mocks: MockVaultHandle;
  /** Runs what a user types after `npx hardhat vault`; network live if it names none. */
  run(typed: string): Promise<CommandResult>;
  /** The lines that a task prints on stdout, ` · ` between their columns. */
  linesOf(typed: string): Promise<readonly string[]>;
  /** The document that a task prints with `--json`. */
  documentOf(typed: string, exitCode?: number): Promise<Fields>;
  /** The code and message that a task prints with `--json` as it exits with 1. */
  errorOf(typed: string): Promise<Fields>;
  rpc(method: string, ...params: unknown[]): Promise<unknown>;
}

/**
 * One node for all tests of a suite; each test starts from the chain as it was at first.
 *
 * @param networks The configuration; the mocks as network live unless given.
 */
export function useTasks({
  overrides = {},
  networks = (url, { addresses }) => ({
    live: httpNetwork(url, {
      vault: { contracts: addresses, tokenDecimals: 18 },
    }),
  }),
}: {
  readonly overrides?: MockOverrides;
  readonly networks?: (
    url: string,
    mocks: MockVaultHandle,
  ) => Readonly<Record<string, NetworkUserConfig>>;
} = {}): Tasks {
  const chain = useMocks({ overrides });
  let project: FixtureProject | undefined;
  const folder = process.cwd();
  beforeEach(async () => {
    project = await useFixtureProject("plain");
    // The files of --out are named from here.
    process.chdir(project.path);
  });
  afterEach(async () => {
    process.chdir(folder);
    await project?.remove();
  });

  const tasks: Tasks = {
    get url() {
      return chain.url;
    },
    get mocks() {
      return chain.mocks;
    },
    run: async (typed) => {
      const [, network = "live"] = / --network (\S+)/u.exec(typed) ?? [];
      const others = typed.replace(/ --network \S+/u, "");
      const hre = await createTestHre(
        { networks: networks(tasks.url, tasks.mocks) },
        { network, projectRoot: process.cwd() },
      );
      return await runTyped(hre, others);
    },
    linesOf: async (typed) =>
      squeezed((await tasks.run(typed)).stdout).split("\n"),
    documentOf: async (typed, exitCode = 0) => {
      const result = await tasks.run(`${typed} --json`);
      expect(result.exitCode, result.stdout + result.stderr).to.equal(exitCode);
      return fieldsOf(parseDocument(result));
    },
    errorOf: async (typed) => {
      const { error } = await tasks.documentOf(typed, 1);
      return fieldsOf(error);
    },
    rpc: async (method, ...params): Promise<unknown> =>
      await chain.provider.send(method, params),
  };
  return tasks;
}

/** A task's output with ` · ` between columns, however wide they are. */
export function squeezed(text: string): string {
  return text.replaceAll(/^ +/gmu, "").replaceAll(/(?<=\S) {2,}/gu, " · ");
}

/** @param commands On each line a command, the code of its error, and words of the message. */
export function itFails(
  { errorOf }: Pick<Tasks, "errorOf">,
  commands: string,
): void {
  for (const [typed = "", code = "", words = ""] of rowsOf(commands)) {
    it(`${typed} fails with ${code}: ${words}`, async () => {
      const error = await errorOf(typed);
      expect(error, String(error["message"])).to.include({ code });
      expect(error["message"]).to.include(words);
    });
  }
}

import fs from "node:fs";
import {
  mkdir,
  mkdtemp,
  readFile,
  readdir,
  rm,
  stat,
  symlink,
  writeFile,
} from "node:fs/promises";
import { syncBuiltinESMExports } from "node:module";
import { tmpdir } from "node:os";
import path from "node:path";

import { expect } from "chai";
import { MaxUint256 } from "ethers";
import { z } from "zod";

import {
  PROJECT_FOLDER,
  createProjectFile,
  listProjectFiles,
  readProjectFile,
  reasonOf,
  writeProjectFile,
  requireRegularFile,
  recordedCount,
  recordedHex,
  recordedInteger,
} from "../../src/files/project-file.js";
import { itOnPosix } from "../helpers/posix.js";

const FILE = path.join(PROJECT_FOLDER, "a.json");
const schema = z.object({ list: z.array(z.object({ n: z.number() })) });

describe("files of a project", () => {
  let root: string;
  beforeEach(async () => {
    root = await mkdtemp(path.join(tmpdir(), "hardhat-vault-files-"));
  });
  afterEach(async () => {
    await rm(root, { recursive: true });
  });
  const at = (file = FILE): string => path.join(root, file);
  const filesOfFolder = async (): Promise<readonly string[]> =>
    await readdir(at(PROJECT_FOLDER));
  const read = async (): Promise<unknown> =>
    await readProjectFile(
      root,
      FILE,
      schema,
      (problem, cause) => new Error(problem, { cause }),
    ).catch((error: unknown) =>
      error instanceof Error ? error.message : error,
    );
  /** The message of a failure. */
  const failureOf = async (work: Promise<unknown>): Promise<string> =>
    await work.then(
      () => "it succeeded",
      (error: unknown) => (error instanceof Error ? error.message : "none"),
    );

  it("the files of a project are those in its folder, none without one", async () => {
    await mkdir(at(PROJECT_FOLDER));
    await writeFile(at(), "");
    expect(await listProjectFiles(root)).to.deep.equal(["a.json"]);
    expect(await listProjectFiles(at("none"))).to.deep.equal([]);
  });

  it("a file that exists is not created again, and nothing is left beside it", async () => {
    await createProjectFile(root, FILE, { n: 1n }, 0o600);
    expect(
      await failureOf(createProjectFile(root, FILE, { n: 2 }, 0o600)),
    ).to.match(/^EEXIST/u);
    expect(await filesOfFolder()).to.deep.equal(["a.json"]);
    expect(await readFile(at(), "utf8")).to.equal('{\n  "n": "1"\n}\n');
  });

  /** Replaces functions of the file system while the work runs. */
  async function withFileSystem(
    functions: Partial<Record<"link" | "open" | "readFile", unknown>>,
    work: () => Promise<unknown>,
  ): Promise<string> {
    const real = { ...fs.promises };
    Object.assign(fs.promises, functions);
    syncBuiltinESMExports();
    const failure = await failureOf(work());
    Object.assign(fs.promises, real);
    syncBuiltinESMExports();
    return failure;
  }

  const noLinks = async (): Promise<never> => {
    const error = new Error("EPERM: operation not permitted, link");
    return await Promise.reject(Object.assign(error, { code: "EPERM" }));
  };
  const create = async (value: unknown): Promise<void> => {
    await createProjectFile(root, FILE, value, 0o600);
  };

  it("a file that exists is not created again where there are no hard links", async () => {
    const link = noLinks;
    const first = await withFileSystem({ link }, async () => await create(1));
    expect(first).to.equal("it succeeded");
    const second = await withFileSystem({ link }, async () => await create(2));
    expect(second).to.match(/^EEXIST/u);
    expect(await readFile(at(), "utf8")).to.equal("1\n");
    expect((await stat(at())).mode & 0o777).to.equal(0o600);
  });

  itOnPosix("a file's name is on disk with it, new or replaced", async () => {
    const { open: realOpen } = fs.promises;
    const synced: string[] = [];
    const open: typeof realOpen = async (file, ...more) => {
      const handle = await realOpen(file, ...more);
      const sync = handle.sync.bind(handle);
      handle.sync = async () => {
        synced.push(path.basename(String(file)));
        await sync();
      };
      return handle;
    };
    await withFileSystem({ open }, async () => await create(1));
    // After the whole file in its folder, and after the link to it.
    expect(synced.filter((name) => name === PROJECT_FOLDER)).to.have.length(2);
    expect(synced.at(-1)).to.equal(PROJECT_FOLDER);
    synced.length = 0;
    await withFileSystem(
      { open },
      async () => await writeProjectFile(root, FILE, 2),
    );
    expect(synced.at(-1)).to.equal(PROJECT_FOLDER);
  });

  it("a file that there is not is undefined, also below a file; another that cannot be read is told with the reason", async () => {
    expect(await read()).to.equal(undefined);
    await mkdir(at(), { recursive: true });
    expect(await read()).to.equal("it cannot be read (it is a folder)");
    await rm(at(PROJECT_FOLDER), { recursive: true });
    await writeFile(at(PROJECT_FOLDER), "");
    expect(await read()).to.equal(undefined);
  });

  it("a file that is not as its schema is told with the place of its first mistake", async () => {
    await writeProjectFile(root, FILE, { list: [{ n: 1 }] });
    expect(await read()).to.deep.equal({ list: [{ n: 1 }] });
    await writeProjectFile(root, FILE, { list: [{ n: 1 }, { n: "2" }] });
    expect(await read()).to.equal("list.1.n: Expected number, received string");
    await writeFile(at(), "{");
    expect(await read()).to.equal("it is not JSON");
  });

  itOnPosix("a file is readable only for whom its mode says", async () => {
    const modeOf = async (file: string): Promise<number> =>
      (await stat(at(file))).mode & 0o777;
    await writeProjectFile(root, FILE, {}, 0o600);
    await createProjectFile(root, "b.json", {}, 0o600);
    expect(await Promise.all([FILE, "b.json"].map(modeOf))).to.deep.equal([
      0o600, 0o600,
    ]);
  });

  it("a file that may not be read is told with the reason, and not taken for none", async () => {
    await writeProjectFile(root, FILE, { list: [] });
    const denied = new Error("EACCES: permission denied, open '/home/me/x'");
    const refuse = async (): Promise<never> =>
      await Promise.reject(Object.assign(denied, { code: "EACCES" }));
    let told: unknown;
    await withFileSystem({ readFile: refuse }, async () => {
      told = await read();
    });
    expect(told).to.equal("it cannot be read (EACCES: permission denied)");
  });

  it("the reason of the system is told without the paths of this machine", () => {
    const error = new Error("EACCES: permission denied, open '/home/me/x'");
    expect(reasonOf(error)).to.equal("EACCES: permission denied");
    const odd = new Error("EACCES: permission denied, open '/home/a\nb/x'");
    expect(reasonOf(odd)).to.equal("EACCES: permission denied");
    expect(reasonOf("no")).to.equal("no");
  });

  itOnPosix(
    "a folder, a device and a link to itself are no regular files",
    async () => {
      expect(await failureOf(requireRegularFile(root))).to.equal(
        "it is a folder",
      );
      expect(await failureOf(requireRegularFile("/dev/null"))).to.equal(
        "it is not a regular file",
      );
      await requireRegularFile(at());
      await symlink("loop", at("loop"));
      expect(await failureOf(requireRegularFile(at("loop")))).to.match(
        /^ELOOP/u,
      );
    },
  );
});

describe("values of files", () => {
  it("an integer is decimal, without zeros before it, and has at most 256 bits", () => {
    for (const [text, value] of [
      ["0", 0n],
      ["10", 10n],
      [MaxUint256.toString(), MaxUint256],
    ] as const) {
      expect(recordedInteger.parse(text)).to.equal(value);
    }
    for (const wrong of [
      ...["", "01", "00", "-1", "0x1", "1.0", 1],
      (MaxUint256 + 1n).toString(),
    ]) {
      expect(recordedInteger.safeParse(wrong).success).to.equal(false);
    }
  });

  it("a count is whole and not negative, and bytes have two digits each", () => {
    expect([0, 7].map((one) => recordedCount.parse(one))).to.deep.equal([0, 7]);
    for (const wrong of [-1, 1.5, "1"]) {
      expect(recordedCount.safeParse(wrong).success).to.equal(false);
    }
    expect(recordedHex.parse("0xaB")).to.equal("0xaB");
    for (const wrong of ["0xabc", "ab", "0xzz"]) {
      expect(recordedHex.safeParse(wrong).success).to.equal(false);
    }
  });
});

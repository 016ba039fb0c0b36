// @ts-check
import fs from "node:fs";
import path from "node:path";
import { setTimeout as delay } from "node:timers/promises";

import { root } from "./paths.mjs";
import { hasCode, progress } from "./report.mjs";

const POLL_INTERVAL_MS = 500;
// Not in node_modules, which `npm ci` deletes.
const mutexFile = path.join(root, ".setup-lock");

/**
 * One set-up at a time: two `npm ci` in one directory destroy each other's work.
 * @param {() => Promise<void>} work
 */
export async function exclusively(work) {
  let isAnnounced = false;
  while (!tryLock()) {
    if (removeStaleLock()) {
      continue;
    }
    if (!isAnnounced) {
      progress(
        `waiting for another set-up to end (if there is none, delete ${mutexFile})`,
      );
      isAnnounced = true;
    }
    await delay(POLL_INTERVAL_MS);
  }
  try {
    await work();
  } finally {
    fs.rmSync(mutexFile, { force: true });
  }
}

function tryLock() {
  try {
    fs.writeFileSync(mutexFile, String(process.pid), { flag: "wx" });
    return true;
  } catch (error) {
    if (hasCode(error, "EEXIST")) {
      return false;
    }
    throw error;
  }
}

/** Whether the lock is free now: a process that died may have left it. */
function removeStaleLock() {
  try {
    process.kill(Number(fs.readFileSync(mutexFile, "utf8")), 0);
    return false;
  } catch (error) {
    if (hasCode(error, "ESRCH")) {
      fs.rmSync(mutexFile, { force: true });
    }
    return hasCode(error, "ESRCH", "ENOENT");
  }
}

// @ts-check
const OLDEST_NODE = [22, 13];

/** @param {string} version as in process.versions.node */
export function canRunHardhat(version) {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  const [oldestMajor = 0, oldestMinor = 0] = OLDEST_NODE;
  return major > oldestMajor || (major === oldestMajor && minor >= oldestMinor);
}

const units: ReadonlyArray<readonly [name: string, seconds: bigint]> = [
  ["d", 86_400n],
  ["h", 3_600n],
  ["m", 60n],
  ["s", 1n],
];

/** A span in its two largest units, as in `3d 4h`. */
export function formatDuration(seconds: bigint): string {
  let rest = seconds;
  const parts: string[] = [];
  for (const [name, length] of units) {
    const count = rest / length;
    rest %= length;
    if (count > 0n || parts.length > 0) {
      parts.push(`${count}${name}`);
    }
  }
  const [first = "0s", second] = parts;
  return second === undefined || second.startsWith("0")
    ? first
    : `${first} ${second}`;
}

/** How far a time is from the chain's clock: `in 3d 4h` or `2h 5m ago`. */
export function formatCountdown(time: bigint, chainTime: number): string {
  const distance = time - BigInt(chainTime);
  return distance === 0n
    ? "now"
    : distance > 0n
      ? `in ${formatDuration(distance)}`
      : `${formatDuration(-distance)} ago`;
}

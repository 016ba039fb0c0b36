/** How far the clock of this process's deadlines is ahead. */
let ahead = 0;

/**
 * Ends every deadline that there is by now. Timers stay as they are, so that a
 * question under way gets its answer; and what has passed never comes back.
 */
export function endDeadlines(): void {
  if (ahead === 0) {
    const now = performance.now.bind(performance);
    performance.now = () => now() + ahead;
  }
  ahead += 3_600_000;
}

/**
 * What a client loads when it is first asked for it. These imports stand in a
 * file of their own: in a project in TypeScript, tsx rewrites every file that
 * has one as it is loaded, with a source map, which takes milliseconds where the
 * file is long.
 */

export const loadSnapshot = async (): Promise<typeof import("./snapshot.js")> =>
  await import("./snapshot.js");

export const loadOrders = async (): Promise<
  typeof import("./orders/read-orders.js")
> => await import("./orders/read-orders.js");

export const loadRounds = async (): Promise<typeof import("./rounds.js")> =>
  await import("./rounds.js");

import { AsyncLocalStorage } from "node:async_hooks";
import { subscribe } from "node:diagnostics_channel";
import { Socket } from "node:net";

import { asRecord } from "../src/json.js";

const opened = new AsyncLocalStorage<Set<Socket>>();
// Hardhat asks by undici, and gives no way to call a request back.
subscribe("undici:client:connected", (message) => {
  const { socket } = asRecord(message);
  if (socket instanceof Socket) {
    opened.getStore()?.add(socket);
  }
});

/**
 * Does work that can close the connections that it opened, whatever is under
 * way on them: an answer that never ends would keep the process alive.
 */
export async function withConnections<T>(
  work: (closeConnections: () => void) => Promise<T>,
): Promise<T> {
  const sockets = new Set<Socket>();
  return await opened.run(
    sockets,
    async () =>
      await work(() => {
        sockets.forEach((socket) => socket.destroy());
      }),
  );
}

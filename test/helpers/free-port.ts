import { randomInt } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:net";

/**
 * A port of the loopback interface that nothing listens on right now, and that
 * the system gives to no connection: it takes those from 32,768 on.
 */
export async function freePort(): Promise<number> {
  const port = randomInt(20_000, 32_000);
  const server = createServer().listen(port, "127.0.0.1");
  try {
    await once(server, "listening");
  } catch {
    return await freePort();
  }
  server.close();
  await once(server, "close");
  return port;
}

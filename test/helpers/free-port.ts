import { once } from "node:events";
import { createServer } from "node:net";

/** A port of the loopback interface that nothing listens on right now. */
export async function freePort(): Promise<number> {
  const server = createServer();
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  server.close();
  await once(server, "close");
  if (address === null || typeof address === "string") {
    throw new Error("a TCP server has an address with a port");
  }
  return address.port;
}

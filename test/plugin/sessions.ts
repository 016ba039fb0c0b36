import { startDatedAnvil } from "../helpers/anvil.js";
import { hreOnLive } from "../helpers/hre.js";
import { recordCalls } from "../helpers/record-calls.js";

describe("sessions of a program", () => {
  it("script mocks", async () => {
    await recordCalls("mocks", async () => {
      const node = await startDatedAnvil(1_795_219_200);
      const hre = await hreOnLive(node.url);
      return {
        hre,
        close: async () => {
          await node.stop();
        },
      };
    });
  });
});

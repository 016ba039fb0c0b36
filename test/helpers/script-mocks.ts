/**
 * Sets one field of the round again and again, as a process of its own, and
 * prints how often the field was not what it was set to.
 */
import { connectMocks } from "../../src/mocks/index.js";
import type { MockAddresses } from "../../src/mocks/index.js";
import { fetchProvider } from "./fetch-provider.js";

const [url = "", addresses = "", field = "", times = ""] =
  process.argv.slice(2);
// the test wrote it from such an object
const contracts = JSON.parse(addresses) as MockAddresses;
const mocks = await connectMocks(fetchProvider(url), contracts);
let lost = 0;
for (let value = 1n; value <= BigInt(times); value += 1n) {
  await mocks.set({ round: { [field]: value } });
  const round = await mocks.vault.getLatestRoundInfo();
  lost += Reflect.get(round, field) === value ? 0 : 1;
}
process.stdout.write(String(lost));

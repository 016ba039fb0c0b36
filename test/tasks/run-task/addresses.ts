import { expect } from "chai";
import { configVariable } from "hardhat/config";

import { httpNetwork } from "../../helpers/hre.js";
import { NOBODY, SECOND } from "../../helpers/names.js";
import { itFails, squeezed, useTasks } from "../../helpers/use-tasks.js";

// How an address is found: test/plugin/addresses.ts.
describe("the addresses that tasks use", () => {
  const tasks = useTasks({
    networks: (url, { addresses: contracts }) => ({
      live: httpNetwork(url, {
        vault: {
          ...{ contracts, tokenDecimals: 18, displayDecimals: { volume: 18 } },
          instances: {
            usdc: { tokenDecimals: 6, displayDecimals: { volume: 19 } },
            dai: { contracts: { vault: configVariable("TEST_DAI_VAULT") } },
            nowhere: { contracts: { vault: NOBODY, trading: SECOND } },
          },
        },
      }),
      bare: httpNetwork(url),
      local: { type: "edr-simulated" },
    }),
  });
  afterEach(() => {
    delete process.env["TEST_DAI_VAULT"];
  });

  itFails(
    tasks,
    `
    volume --network bare | VAULT_CONTRACT_NOT_CONFIGURED | bare.vault.contracts.vault, or pass --at vault
    settle --yes --network bare | VAULT_CONTRACT_NOT_CONFIGURED | networks.bare.vault.contracts.vault
    request queryVolume --network bare | VAULT_CONTRACT_NOT_CONFIGURED | set networks.bare.vault.contracts.vault
    volume --network local | VAULT_CONTRACT_NOT_CONFIGURED | local is in this process
    doctor --instance usdt | VAULT_INVALID_ARGUMENT | (usdc, dai, nowhere)
    status --instance '' | VAULT_INVALID_ARGUMENT | no instance
    volume --at vault=${NOBODY} | VAULT_NO_CODE | (address from --at)
    volume --instance nowhere | VAULT_NO_CODE | nowhere.contracts
    mock fail queryVolume closed --instance nowhere | VAULT_NOT_A_MOCK | ${SECOND}
    simulate --fork --network local | VAULT_INVALID_ARGUMENT | as it is, not forked
    `,
  );

  for (const [typed, end, place] of [
    ["volume", "420", "live (chain 31337), block "],
    [
      `round --instance usdc --at trading=${NOBODY}`,
      ...["420,000,000,000,000 tokens", "instance usdc, "],
    ],
  ] as const) {
    it(`vault ${typed} prints ${end}, scaled as the instance and else the network configures, and its place`, async () => {
      const { stdout } = await tasks.run(typed);
      const [title, ...lines] = squeezed(stdout).split("\n");
      expect(title?.split(" · ")[1]?.slice(0, place.length)).to.equal(place);
      expect(lines.map((line) => line.split(" · ")[1])).to.include(end);
    });
  }

  for (const typed of ["volume", "request queryVolume"]) {
    it(`vault ${typed} refuses a variable that is no address with VAULT_INVALID_ADDRESS, and does not show its value`, async () => {
      process.env["TEST_DAI_VAULT"] = "0xhunter2secret";
      const error = await tasks.errorOf(`${typed} --instance dai`);
      expect(error).to.include({ code: "VAULT_INVALID_ADDRESS" });
      expect(JSON.stringify(error))
        .to.include("networks.live.vault.instances.dai.contracts.vault")
        .and.not.include("hunter2");
    });
  }
});

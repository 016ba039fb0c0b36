import { expect } from "chai";
import { configVariable } from "hardhat/config";

import { httpNetwork } from "../helpers/hre.js";
import { squeezed, useTasks } from "../helpers/use-tasks.js";

const HOLDER = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8";
const NOBODY = "0x00000000000000000000000000000000000000AA";
const SECRET = "0xhunter2secret";
const NOT_CONFIGURED = "VAULT_CONTRACT_NOT_CONFIGURED";

describe("the addresses that tasks use", () => {
  const tasks = useTasks({
    networks: (url, { addresses: contracts }) => ({
      live: httpNetwork(url, {
        vault: {
          contracts,
          tokenDecimals: 18,
          displayDecimals: { pools: 18, volume: 18 },
          instances: {
            usdc: { tokenDecimals: 6, displayDecimals: { volume: 19 } },
            dai: { contracts: { vault: configVariable("TEST_DAI_VAULT") } },
            nowhere: { contracts: { vault: NOBODY, trading: HOLDER } },
          },
        },
      }),
      bare: httpNetwork(url, { vault: { instances: { own: {} } } }),
      gone: httpNetwork("http://127.0.0.1:1"),
      local: { type: "edr-simulated" },
    }),
  });
  afterEach(() => {
    delete process.env["TEST_DAI_VAULT"];
  });

  for (const [typed, says] of [
    ["volume", "networks.bare.vault.contracts.vault, or pass --at vault=0x…"],
    ["settle --yes", "networks.bare.vault.contracts.vault"],
    ["volume --instance own", "networks.bare.vault.instances.own.contracts"],
    ["request queryVolume", "checking them needs requests to the network"],
    [`volume --at trading=${NOBODY}`, "networks.bare.vault.contracts.vault"],
  ] as const) {
    it(`${typed} without an address fails with ${NOT_CONFIGURED}, and names the setting`, async () => {
      const error = await tasks.errorOf(`${typed} --network bare`);
      expect(error).to.include({ code: NOT_CONFIGURED });
      expect(error["message"]).to.include(says);
    });
  }

  it("status without any address names what to do once, and exits with 1", async () => {
    const { stdout, exitCode } = await tasks.run("status --network bare");
    expect(exitCode).to.equal(1);
    const advice = stdout.split("vault deploy-mocks --network bare");
    expect(advice).to.have.lengthOf(2);
  });

  it("a task in process without an address advises --network and deployMocks()", async () => {
    const { code, message } = await tasks.errorOf("volume --network local");
    expect(code).to.equal(NOT_CONFIGURED);
    expect(message)
      .to.include("Network local is in this process")
      .and.include("deployMocks()");
  });

  it("--instance takes the instance's scales, and the network's for the rest", async () => {
    for (const [typed, line] of [
      ["volume", "Volume · 420"],
      ["volume --instance usdc", "Volume · 42"],
      ["round --instance usdc", "Filled volume · 420,000,000,000,000 tokens"],
      ["round --instance dai", "Filled volume · 420 tokens"],
      [
        `round --instance usdc --at trading=${NOBODY}`,
        "Filled volume · 420,000,000,000,000 tokens",
      ],
    ] as const) {
      const { stdout } = await tasks.run(typed);
      expect(squeezed(stdout).split("\n"), typed).to.include(line);
      const [, instance] = / --instance (\S+)/u.exec(typed) ?? [];
      expect(stdout.split("\n")[0], typed).to.match(
        instance === undefined
          ? /^Volume {2}live \(chain 31337\), block \d+, /u
          : new RegExp(`  instance ${instance}, live \\(chain 31337\\)`, "u"),
      );
    }
  });

  it("a variable that is unset or no address is refused by every task that needs it, and its value never shown", async () => {
    for (const typed of [
      ...["volume", "settle --yes", "settle --calldata", "simulate"],
      ...["request queryVolume", "mock set volume=2", "capture --out a.json"],
    ]) {
      for (const [value, code] of [
        [undefined, "VAULT_CONFIG_VARIABLE"],
        [SECRET, "VAULT_INVALID_ADDRESS"],
      ] as const) {
        if (value === undefined) {
          delete process.env["TEST_DAI_VAULT"];
        } else {
          process.env["TEST_DAI_VAULT"] = value;
        }
        const result = await tasks.run(`${typed} --instance dai --json`);
        expect(result.exitCode).to.equal(1);
        expect(result.stdout)
          .to.include(code)
          .and.include("networks.live.vault.instances.dai.contracts.vault");
        expect(result.stdout + result.stderr).to.not.include("hunter2");
      }
    }
    // What does not need it works.
    await tasks.documentOf("round --instance dai");
  });

  for (const [typed, code, says] of [
    [
      "status --instance usdt",
      "VAULT_UNKNOWN_INSTANCE",
      "(usdc, dai, nowhere)",
    ],
    [
      "doctor --instance usdt",
      "VAULT_UNKNOWN_INSTANCE",
      "(usdc, dai, nowhere)",
    ],
    ["status --instance ''", "VAULT_UNKNOWN_INSTANCE", "no instance"],
    [
      "status --instance toString --network bare",
      "VAULT_UNKNOWN_INSTANCE",
      "(own)",
    ],
    [
      "settle --yes --instance usdt --network gone",
      "VAULT_UNKNOWN_INSTANCE",
      "(none)",
    ],
    [
      `status --all --at vault=${NOBODY}`,
      "VAULT_INVALID_ARGUMENT",
      "--all and",
    ],
    [`volume --at vault=${NOBODY}=1`, "VAULT_INVALID_ARGUMENT", "role=0x…"],
    [`volume --at pool=${NOBODY}`, "VAULT_INVALID_ARGUMENT", "privatePool"],
    [`volume --at vault=${NOBODY}`, "VAULT_NO_CODE", "(address from --at)"],
    [
      "volume --instance nowhere",
      "VAULT_NO_CODE",
      "instances.nowhere.contracts",
    ],
    ["orders --instance nowhere", "VAULT_NO_CODE", "the trading contract"],
    [
      "mock fail queryVolume closed --instance nowhere",
      "VAULT_NOT_A_MOCK",
      HOLDER,
    ],
  ] as const) {
    it(`${typed} fails with ${code}`, async () => {
      const error = await tasks.errorOf(typed);
      expect(error).to.include({ code });
      expect(error["message"]).to.include(says);
    });
  }

  it("--at uses another contract, and an address of another role reverts without a reason", async () => {
    const { vault, vaultFactory } = tasks.mocks.addresses;
    await tasks.documentOf(`volume --network bare --at vault=${vault}`);
    const { code, message } = await tasks.errorOf(
      `round --at vaultFactory=${vault}`,
    );
    expect(code).to.equal("VAULT_CALL_REVERTED");
    expect(message).to.include("no reason given").and.include("from --at");
    await tasks.rpc("anvil_setCode", vaultFactory, "0x600160005260206000f3");
    expect(await tasks.errorOf("round")).to.include({
      code: "VAULT_RETURN_DATA_MALFORMED",
    });
  });

  for (const option of ["--fork", "--block 0", "--hardfork prague"]) {
    it(`simulate ${option} in process fails with VAULT_INVALID_ARGUMENT`, async () => {
      const error = await tasks.errorOf(`simulate ${option} --network local`);
      expect(error).to.include({ code: "VAULT_INVALID_ARGUMENT" });
      expect(error["message"]).to.include("simulated on as it is, not forked");
    });
  }
});

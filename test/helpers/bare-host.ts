import { VaultClient } from "../../src/client/index.js";
import type { Address } from "../../src/protocol/index.js";
import type { ContractAddresses } from "../../src/client/index.js";
import type {
  AddressResolver,
  LocatedAddress,
} from "../../src/client/contracts.js";
import type { VaultHost } from "../../src/host.js";
import type { Eip1193Provider } from "../../src/rpc/rpc-client.js";

/** What Hardhat has of a network and its project, as far as a settlement asks. */
interface HostSettings {
  readonly networkConfig: Readonly<Record<string, unknown>>;
  readonly projectRoot: string;
}

/**
 * A vault over a bare provider, for what takes a host and needs no Hardhat but
 * its types: a new one takes microseconds, a connection of Hardhat milliseconds.
 */
export class BareHost extends VaultClient implements VaultHost {
  public readonly display = {
    tokenDecimals: undefined,
    displayDecimals: undefined,
  };

  constructor(
    provider: Eip1193Provider,
    contractAddresses: ContractAddresses | AddressResolver,
    private readonly sender: string,
    private readonly hardhat?: HostSettings,
  ) {
    super(provider, contractAddresses, { networkName: "scripted" });
  }

  public get connection(): VaultHost["connection"] {
    const networkConfig = {
      vault: {},
      gasPrice: "auto",
      ...(this.hardhat?.networkConfig ?? { type: "http" }),
    };
    const { networkName } = this;
    // it is asked for nothing else
    return { networkConfig, networkName } as unknown as VaultHost["connection"];
  }
  public get context(): VaultHost["context"] {
    const root = this.hardhat?.projectRoot;
    // Without a network to fork with, so that nothing is forked.
    const config = { paths: { root }, networks: {} };
    // it is asked for nothing else
    return { config } as unknown as VaultHost["context"];
  }

  public get settings(): VaultHost["settings"] {
    // Blocks of a scripted node are old.
    const vault = this.hardhat?.networkConfig["vault"] ?? {};
    return { maxHeadAge: false, ...vault };
  }

  public async defaultSender(): Promise<string> {
    return await Promise.resolve(this.sender);
  }

  public async guardAddress(): Promise<LocatedAddress | undefined> {
    const address = this.guard;
    return await Promise.resolve(
      address === undefined ? undefined : { address, source: "a test" },
    );
  }

  /** Address of the guard; none unless set. */
  public guard: Address | undefined;

  /** None unless set. */
  public instanceName: string | undefined;

  public bind(): void {
    throw new Error("nothing is bound");
  }

  public instance(): never {
    throw new Error("there are no instances");
  }

  public adoptFork(): void {
    throw new Error("nothing is forked");
  }
}

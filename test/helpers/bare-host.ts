import { VaultClient } from "../../src/client/index.js";
import type { ContractAddresses } from "../../src/client/index.js";
import type { DuringOptions } from "../../src/client/reader.js";
import type { VaultHost } from "../../src/host.js";
import { Chain } from "../../src/rpc/node.js";
import type { Eip1193Provider } from "../../src/rpc/eip1193.js";
import { currentPricePerGas, resolveFees } from "../../src/settlement/fees.js";

/**
 * A vault over a bare provider, for what takes a host and needs no Hardhat but
 * its types: a new one takes microseconds, a connection of Hardhat milliseconds.
 */
export class BareHost extends VaultClient implements VaultHost {
  public readonly instanceName = undefined;
  public readonly settings = {
    tokenDecimals: undefined,
    displayDecimals: undefined,
  };

  constructor(
    provider: Eip1193Provider,
    private readonly contractAddresses: ContractAddresses,
    private readonly sender: string,
  ) {
    super(provider, contractAddresses, { networkName: "scripted" });
  }

  public get connection(): never {
    throw new Error("there is no connection");
  }
  public get context(): never {
    throw new Error("there is no context");
  }
  public get productionAddresses(): never {
    throw new Error("there is no configuration");
  }

  public async defaultSender(): Promise<string> {
    return await Promise.resolve(this.sender);
  }

  public async pricePerGas(baseFeePerGas: bigint | undefined): Promise<bigint> {
    const fees = await resolveFees(
      new Chain(this.provider, this.networkName),
      { gasPrice: "auto" },
      { baseFeePerGas },
    );
    return currentPricePerGas(fees, { baseFeePerGas });
  }

  public override during(options: DuringOptions): BareHost {
    return new BareHost(
      this.patientProvider(options),
      this.contractAddresses,
      this.sender,
    );
  }

  public override at(): never {
    throw new Error("there are no other addresses");
  }

  public instance(): never {
    throw new Error("there are no instances");
  }

  public bind(): void {
    throw new Error("nothing is deployed");
  }

  public async genesisHash(): Promise<undefined> {
    await Promise.resolve(undefined);
  }

  public adoptFork(): void {
    throw new Error("nothing is forked");
  }
}

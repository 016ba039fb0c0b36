import { expect } from "chai";
import { ZeroAddress } from "ethers";

import { safeChecksum, toSafeBatch } from "../../src/settlement/safe.js";
import { SETTLE } from "../helpers/scripted-contracts.js";

describe("a batch for Safe's Transaction Builder", () => {
  it("has the checksum that another implementation computes", () => {
    // The file that the tests of @morpho-labs/gnosis-tx-builder expect.
    expect(
      safeChecksum({
        ...{ version: "1.0", chainId: "1", createdAt: 1_665_177_409_513 },
        meta: {
          name: "Transactions Batch",
          description: "Created from @morpho-labs/gnosis-tx-builder",
          txBuilderVersion: "1.8.0",
          createdFromSafeAddress: ZeroAddress,
          createdFromOwnerAddress: "",
        },
        transactions: [
          {
            ...{ to: ZeroAddress, operation: 1 },
            ...{ value: "1000000000000000000", data: "0x" },
          },
        ],
      }),
    ).to.equal(
      "0xcc15ad0f6efe4476b91fdb28019f8006198056434b8746f177b37f07bb3e86f8",
    );
  });

  it("holds one transaction, its chain and its own checksum", () => {
    const header = { number: 1, timestamp: 1_700_000_000, gasLimit: 1n };
    const settles = "the round that is current when it is executed";
    const batch = toSafeBatch({
      ...{ to: ZeroAddress, data: SETTLE, chainId: 56, settles },
      header: { ...header, baseFeePerGas: undefined, hash: "0x" },
      ...{ sender: ZeroAddress, isContract: false },
      ...{ estimatedGas: null, refusal: null },
    });

    const { checksum, ...meta } = batch.meta;
    expect(checksum).to.equal(safeChecksum({ ...batch, meta }));
    expect({ ...batch, meta }).to.deep.equal({
      ...{ version: "1.0", chainId: "56", createdAt: 1_700_000_000_000 },
      meta: {
        name: "settleAll",
        description: `Settles ${settles}`,
        txBuilderVersion: "1.18.0",
        createdFromSafeAddress: "",
        createdFromOwnerAddress: "",
      },
      transactions: [
        {
          ...{ to: ZeroAddress, value: "0", data: SETTLE },
          ...{ contractMethod: null, contractInputsValues: null },
        },
      ],
    });
  });
});

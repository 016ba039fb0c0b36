import type { RecordedRequest } from "./rpc-server.js";

const word = (value: bigint | number): string =>
  BigInt(value).toString(16).padStart(64, "0");

/** `count` words, the integers from 1 on. */
function words(count: number): string {
  return Array.from({ length: count }, (_, index) => word(index + 1)).join("");
}

/** What an order's text may be: bytes, which need not be UTF-8. */
export function orderWords({
  exType,
  contractType = 1,
  state = 1,
}: {
  readonly exType: Uint8Array;
  readonly contractType?: number;
  readonly state?: number;
}): string {
  const text = Buffer.from(exType).toString("hex");
  return [
    "0x",
    word(13 * 32),
    word(0x70997970c51812dc3a010c7d01b50e0d17dc79c8n),
    words(9),
    word(contractType),
    word(state),
    word(exType.length),
    text.padEnd(Math.ceil(text.length / 64) * 64, "0"),
  ].join("");
}

/** Return data of every read, by selector, built from the protocol by hand. */
const returnData: Readonly<Record<string, string>> = {
  "0xc138aa5f": `0x${words(1)}`,
  "0x2016e80b": `0x${words(9)}${word(1)}`,
  "0xd311636b": orderWords({ exType: Buffer.from("BTC-USDT") }),
  "0xb6624fb0": `0x${words(2)}`,
  "0x53ac2d24": `0x${words(3)}`,
  "0xa69590a8": `0x${words(1)}`,
  "0xea17f924": `0x${words(2)}`,
  "0x789f4b5a": `0x${words(1)}`,
};

/** Addresses for a network whose node is {@link documentedAnswer}. */
export const documentedContracts = {
  underlyingAsset: "0x0000000000000000000000000000000000000001",
  publicPool: "0x0000000000000000000000000000000000000002",
  privatePool: "0x0000000000000000000000000000000000000003",
  trading: "0x0000000000000000000000000000000000000004",
  vaultFactory: "0x0000000000000000000000000000000000000005",
  vault: "0x0000000000000000000000000000000000000006",
} as const;

/** The block that every header of {@link documentedAnswer} is of. */
export const DOCUMENTED_BLOCK = { number: 1_000, timestamp: 1_700_000_000 };

/** The result of a request, from a node that refuses state overrides. */
export function documentedAnswer({ method, params }: RecordedRequest): unknown {
  const [call] = params;
  switch (method) {
    case "eth_chainId":
      return "0x1";
    case "eth_getBlockByNumber":
      return {
        number: `0x${DOCUMENTED_BLOCK.number.toString(16)}`,
        timestamp: `0x${DOCUMENTED_BLOCK.timestamp.toString(16)}`,
        hash: `0x${"ab".repeat(32)}`,
        gasLimit: "0x1c9c380",
      };
    case "eth_getCode":
      return "0x01";
    case "eth_call":
      return (
        returnData[String(Reflect.get(Object(call), "data")).slice(0, 10)] ??
        "0x"
      );
    default:
      throw new Error(`no documented answer for ${method}`);
  }
}

import { describeTime } from "../../src/protocol/time.js";
import type { BlockInfo } from "../../src/rpc/rpc-client.js";
import { escapeUntrusted } from "../../src/untrusted-text.js";
import type { Style } from "./style.js";
import { wrapText } from "./table.js";

/** What every document says about where its figures come from. */
export interface Envelope {
  readonly network: string;
  readonly chainId: number;
  readonly block: BlockInfo;
}

/** The same for a person. */
export function renderHeading(
  title: string,
  { network, chainId, block }: Envelope,
  style: Style,
): string {
  return wrapText(
    `${style.title(title)}  ${style.dim(
      `${escapeUntrusted(network)} (chain ${chainId}), block ${block.number}, ${describeTime(BigInt(block.timestamp))}`,
    )}`,
    style,
  );
}

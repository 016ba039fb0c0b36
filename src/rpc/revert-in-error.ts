import { isHexString } from "ethers";

import { asRecord } from "../json.js";
import { MAX_FOREIGN_TEXT } from "../escape.js";
import { decodeRevertReason, invalidOpcode } from "./revert-reason.js";
import type { RevertReason } from "./revert-reason.js";
import { everythingIn, messageOf } from "./thrown.js";
import type { ErrorLink } from "./thrown.js";

/** No contract returns longer revert data. */
const MAX_REVERT_DATA = 1_000_000;

/** JSON-RPC error code of a revert with data in geth and anvil. */
const EXECUTION_REVERTED = 3;

const revertWords = /\brevert|VM Exception|VM execution error/iu;

/** Finds a revert in an error of this side or of the node. */
export function findRevert(error: unknown): RevertReason | undefined {
  const links = everythingIn(error);
  const data =
    links
      .flatMap((link) => [link["data"], link["result"], ganacheReturn(link)])
      .map(toHexData)
      .find((hex) => hex !== undefined) ?? "0x";
  const texts = links.map((link) => messageOf(link).slice(0, MAX_FOREIGN_TEXT));
  if (data === "0x") {
    // It ends the call of a contract with any code that the node gives the error.
    const found = texts.map(invalidOpcode).find((one) => one !== undefined);
    if (found !== undefined) {
      return found;
    }
  }
  const isRevert = links.some((link, index) => {
    const words = texts[index] ?? "";
    return (
      revertWords.test(words) ||
      // The same code stands for a call that exceeds a node's low gas limit.
      (link["code"] === EXECUTION_REVERTED &&
        (data !== "0x" || !/out ?of ?gas/iu.test(words)))
    );
  });
  if (!isRevert) {
    return undefined;
  }
  const texted = links.map(({ data: text }) => text).find(isReasonText);
  const reason =
    data === "0x"
      ? (texts.map(reasonIn).find((text) => text !== "") ?? texted)
      : undefined;
  const hex = toHexData(reason);
  return reason === undefined || hex !== undefined
    ? decodeRevertReason(hex ?? data)
    : { kind: "string", text: reason, data };
}

/** Nethermind writes "Reverted 0x…", java-tron no 0x. */
function toHexData(value: unknown): string | undefined {
  if (typeof value !== "string" || value.length > MAX_REVERT_DATA) {
    return undefined;
  }
  const text = value.replace(/^reverted\s+/iu, "");
  const hex = /^[0-9a-f]{8,}$/iu.test(text) ? `0x${text}` : text;
  return isHexString(hex, true) ? hex : undefined;
}

/** OpenEthereum writes the failure as text in place of data. */
function isReasonText(data: unknown): data is string {
  return (
    typeof data === "string" &&
    data.length <= MAX_FOREIGN_TEXT &&
    !/^(?:0x|revert(?:ed)?\b|$)/iu.test(data)
  );
}

/**
 * The reason of a revert in a message, in the forms of geth, besu, Hardhat and Lotus;
 * empty if there is none.
 */
function reasonIn(message: string): string {
  const [, quoted, listed, rest = ""] =
    /reason string '(.*)'|revert reason: \[(?:Error\((.*?)\)|[^\]]*)\]|\brevert(?:ed)?\b(?! opcode| with(?:out)? )[\s:,]*(.*)$/isu.exec(
      message,
    ) ?? [];
  return (quoted ?? listed ?? rest.replace(/^\((.*)\)$/su, "$1")).trim();
}

/** Ganache 6 puts the returned bytes under the hash of the transaction. */
function ganacheReturn({ data }: ErrorLink): unknown {
  const [key] = Object.keys(asRecord(data));
  return isHexString(key, 32) ? asRecord(asRecord(data)[key])["return"] : null;
}

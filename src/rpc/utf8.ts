import { getBytes } from "ethers";

const decoder = new TextDecoder("utf-8", { fatal: false, ignoreBOM: true });

/**
 * Reads bytes as UTF-8. A string of the chain may hold anything: what is not
 * UTF-8 becomes U+FFFD and never an exception.
 */
export function decodeUtf8(hex: string): string {
  return decoder.decode(getBytes(hex));
}

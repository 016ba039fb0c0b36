import type { Buffer } from "node:buffer";

import { ZeroAddress, dataSlice, getAddress, isHexString } from "ethers";

import { toBlockId } from "../rpc/node.js";
import type { BlockId, Chain } from "../rpc/node.js";

/** What passes calls on, and where to. */
interface Proxy {
  readonly kind: "EIP-1967" | "EIP-1967 beacon" | "EIP-1167";
  readonly implementation: string;
}

/** The code that answers at an address. */
export interface CodeBehind {
  /** Length of the code at the address itself; 0 where there is no contract. */
  readonly size: number;
  /** The addresses that the calls go on to, in this order. */
  readonly proxies: readonly Proxy[];
  /** All of that code, the address's own first. */
  readonly code: readonly Buffer[];
  /**
   * Whether the last of it passes calls on to somewhere that is not known. Then
   * a selector that is not found may be there all the same.
   */
  readonly isOpen: boolean;
}

/** keccak256("eip1967.proxy.implementation") - 1 */
const IMPLEMENTATION_SLOT =
  "0x360894a13ba1a3210667c828492db98dca3e2076cc3735a920a3ca505d382bbc";
/** keccak256("eip1967.proxy.beacon") - 1 */
const BEACON_SLOT =
  "0xa3f0ad74e5423aebfd80d3ef4346578335a9a72aeaee59ff6cb3582b35133d50";
/** `implementation()` of a beacon. */
const IMPLEMENTATION_CALL = "0x5c60da1b";

/** A minimal proxy, with the 20 bytes of an address inside. */
const minimalProxy =
  /^363d3d373d3d3d363d73([0-9a-f]{40})5af43d82803e903d91602b57fd5bf3/u;

/** Proxies in front of proxies that are followed; a circle ends there. */
const MAX_HOPS = 4;

/** Reads the code at an address and, where that is a proxy, behind it. */
export async function readCodeBehind(
  chain: Chain,
  address: string,
  block: BlockId = "latest",
): Promise<CodeBehind> {
  const own = await chain.code(address, block);
  const code = [own];
  const proxies: Proxy[] = [];
  let [target, latest] = [address, own];
  while (latest.length > 0 && proxies.length < MAX_HOPS) {
    const proxy =
      findMinimalProxy(latest) ??
      // Most contracts delegate nothing, and need not be asked for slots.
      (delegates(latest)
        ? await findSlotProxy(chain, target, block)
        : undefined);
    if (proxy === undefined) {
      break;
    }
    proxies.push(proxy);
    target = proxy.implementation;
    latest = await chain.code(target, block);
    code.push(latest);
  }
  return { size: own.length, proxies, code, isOpen: delegates(latest) };
}

/**
 * Whether code compares its input with a selector, as compilers of Solidity
 * write it: PUSH4 and the four bytes.
 */
export function hasSelector(
  { code }: Pick<CodeBehind, "code">,
  selector: string,
): boolean {
  return code.some((part) => part.includes(`63${selector.slice(2)}`, 0, "hex"));
}

function findMinimalProxy(code: Buffer): Proxy | undefined {
  const address = minimalProxy.exec(code.toString("hex"))?.[1];
  return address === undefined
    ? undefined
    : { kind: "EIP-1167", implementation: getAddress(`0x${address}`) };
}

async function findSlotProxy(
  chain: Chain,
  address: string,
  block: BlockId,
): Promise<Proxy | undefined> {
  const [implementation, beacon] = await Promise.all(
    [IMPLEMENTATION_SLOT, BEACON_SLOT].map(async (slot) =>
      toAddress(await chain.storage(address, slot, block)),
    ),
  );
  if (implementation !== undefined) {
    return { kind: "EIP-1967", implementation };
  }
  if (beacon === undefined) {
    return undefined;
  }
  const answer = await chain.request("eth_call", [
    { from: ZeroAddress, to: beacon, data: IMPLEMENTATION_CALL },
    toBlockId(block),
  ]);
  // A call that reverted is no data.
  const behind = isHexString(answer, true) ? toAddress(answer) : undefined;
  return behind === undefined
    ? undefined
    : { kind: "EIP-1967 beacon", implementation: behind };
}

/** @returns Undefined for a word that is zero, or no address. */
function toAddress(word: string): string | undefined {
  return /^0x0{24}(?!0{40})[0-9a-f]{40}$/iu.test(word)
    ? getAddress(dataSlice(word, 12))
    : undefined;
}

const DELEGATECALL = 0xf4;
const PUSH1 = 0x60;
const PUSH32 = 0x7f;

/** Whether code has a DELEGATECALL, what it pushes and what describes it aside. */
function delegates(code: Buffer): boolean {
  const end = code.length - metadataLength(code);
  for (let index = 0; index < end; ++index) {
    const opcode = code[index] ?? 0;
    if (opcode === DELEGATECALL) {
      return true;
    }
    if (opcode >= PUSH1 && opcode <= PUSH32) {
      index += opcode - PUSH1 + 1;
    }
  }
  return false;
}

/** Solidity puts a CBOR map behind its code, and its length in two bytes. */
function metadataLength(code: Buffer): number {
  if (code.length < 2) {
    return 0;
  }
  const length = code.readUInt16BE(code.length - 2) + 2;
  return length < 100 && length < code.length ? length : 0;
}

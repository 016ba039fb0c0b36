import type { Eip1193Provider } from "../../src/rpc/eip1193.js";

export interface RecordedCall {
  readonly method: string;
  readonly params?: readonly unknown[];
}

/**
 * Puts a recorder in front of a provider.
 *
 * @param before Runs before each request is passed on.
 */
export function recordCalls(
  provider: Eip1193Provider,
  before: (call: RecordedCall) => Promise<void> | void = () => undefined,
): Eip1193Provider & { readonly calls: RecordedCall[] } {
  const calls: RecordedCall[] = [];
  return {
    calls,
    async request(call) {
      calls.push(call);
      await before(call);
      return await provider.request(call);
    },
  };
}

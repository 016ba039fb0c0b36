import { VaultClient } from "../../src/client/index.js";
import type { Eip1193Provider } from "../../src/rpc/rpc-client.js";
import { RpcClient } from "../../src/rpc/rpc-client.js";
import { HASH, SECOND } from "./names.js";
import { VAULT } from "./scripted-contracts.js";

export const WORD = `0x${"7".padStart(64, "0")}`;

export const header = {
  number: "0x5",
  timestamp: "0x64",
  hash: HASH,
  gasLimit: "0x10",
};

export const call = { from: SECOND, to: SECOND, data: "0x" };

interface Asked {
  readonly method: string;
  readonly params: readonly unknown[];
}

/** A node that notes what it is asked. If the answer is an error, it throws that. */
export class RecordingNode implements Eip1193Provider {
  public readonly asked: Asked[] = [];
  public readonly rpc = new RpcClient(this, "testnet");
  public readonly vault = new VaultClient(this, {
    ...{ vault: VAULT, trading: VAULT, vaultFactory: VAULT },
  });

  /** @param answer Its last argument is how many requests there were before. */
  constructor(
    private readonly answer: (
      method: string,
      params: readonly unknown[],
      earlier: number,
    ) => unknown,
  ) {}

  public async request({
    method,
    params = [],
  }: Parameters<Eip1193Provider["request"]>[0]): Promise<unknown> {
    const earlier = this.asked.length;
    this.asked.push({ method, params });
    const answer = await Promise.resolve().then(() =>
      this.answer(method, params, earlier),
    );
    if (answer instanceof Error) {
      throw answer;
    }
    return answer;
  }
}

export const recording = (
  ...answer: ConstructorParameters<typeof RecordingNode>
): RecordingNode => new RecordingNode(...answer);

/** A client of a node that gives the same answer to everything. */
export const answering = (answer: unknown): RpcClient =>
  new RecordingNode(() => answer).rpc;

/** A node that fails so many times, then answers 7. */
export const failing = (times: number, failure: unknown): RecordingNode =>
  new RecordingNode((_method, _params, earlier) => {
    if (earlier < times) {
      throw failure;
    }
    return WORD;
  });

/** @param before Runs before each request is passed on. */
export const recordCalls = (
  provider: Eip1193Provider,
  before: (method: string) => Promise<void> | void = () => undefined,
): RecordingNode =>
  new RecordingNode(async (method, params) => {
    await before(method);
    return await provider.request({ method, params });
  });

import { setImmediate } from "node:timers/promises";

import type { Eip1193Provider } from "../../src/client/index.js";

/** As long as the client works without a request, whatever the machine does beside it. */
const IDLE_TURNS = 20;

/**
 * Counts the requests that wait for each other. The answers of a wave are given together,
 * once the client has nothing more to ask: by turns of the event loop and not by time, so
 * that the count does not depend on the load of the machine.
 */
export class Waves implements Eip1193Provider {
  public waves = 0;
  public requests = 0;
  #underWay = 0;
  #held: Array<() => void> = [];

  constructor(private readonly node: Eip1193Provider) {}

  public clear(): void {
    this.waves = 0;
    this.requests = 0;
  }

  public async request(
    asked: Parameters<Eip1193Provider["request"]>[0],
  ): Promise<unknown> {
    this.requests += 1;
    this.#underWay += 1;
    try {
      return await this.node.request(asked);
    } finally {
      this.#underWay -= 1;
      await new Promise<void>((give) => {
        this.#held.push(give);
        void this.#giveWhenIdle();
      });
    }
  }

  async #giveWhenIdle(): Promise<void> {
    const { requests } = this;
    for (let turn = 0; turn < IDLE_TURNS; ++turn) {
      if (this.#underWay > 0 || this.requests > requests) {
        return;
      }
      await setImmediate();
    }
    const held = this.#held;
    this.#held = [];
    if (held.length > 0) {
      this.waves += 1;
      held.forEach((give) => {
        give();
      });
    }
  }
}

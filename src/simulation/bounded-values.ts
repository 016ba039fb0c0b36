/** Values by key, of which the oldest are forgotten when there are too many. */
export class BoundedValues implements Iterable<readonly [string, unknown]> {
  readonly #values = new Map<string, unknown>();
  #characters = 0;

  /** @param most Characters of all keys and values as JSON, about. */
  constructor(private readonly most: number) {}

  public has(key: string): boolean {
    return this.#values.has(key);
  }

  public get(key: string): unknown {
    return this.#values.get(key);
  }

  /** Adds a value. @returns False if there was one. */
  public add(key: string, value: unknown): boolean {
    if (this.#values.has(key)) {
      return false;
    }
    this.#values.set(key, value);
    this.#characters += lengthOf(key, value);
    for (const [oldest, old] of this.#values) {
      if (this.#characters <= this.most) {
        break;
      }
      this.#values.delete(oldest);
      this.#characters -= lengthOf(oldest, old);
    }
    return true;
  }

  public [Symbol.iterator](): Iterator<readonly [string, unknown]> {
    return this.#values.entries();
  }
}

function lengthOf(key: string, value: unknown): number {
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return key.length + text.length;
}

/** The time that a settlement may take. */
export class TimeLimit {
  public readonly signal: AbortSignal;
  readonly #end: number;
  /** Node.js 22 collects a deadline that only `AbortSignal.any()` refers to. */
  readonly #signals: readonly AbortSignal[];

  /** @param others Signals that end it, too. */
  constructor(milliseconds: number, others: readonly AbortSignal[] = []) {
    this.#signals = [AbortSignal.timeout(Math.ceil(milliseconds)), ...others];
    this.signal = AbortSignal.any([...this.#signals]);
    this.#end = performance.now() + milliseconds;
  }

  /** Milliseconds. */
  public get remaining(): number {
    return Math.max(0, this.#end - performance.now());
  }

  public get isOver(): boolean {
    return this.signal.aborted || this.remaining === 0;
  }
}

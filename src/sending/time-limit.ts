/** The time that a settlement may take. */
export class TimeLimit {
  public readonly signal: AbortSignal;
  readonly #end: number;

  constructor(milliseconds: number) {
    this.signal = AbortSignal.timeout(Math.ceil(milliseconds));
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

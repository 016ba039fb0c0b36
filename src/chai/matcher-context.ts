import { Assertion } from "../assert/assertion.js";

/** The flag by which hardhat-ethers-chai-matchers knows an earlier matcher. */
const PREVIOUS_MATCHER = "previousMatcherName";

/**
 * What a matcher knows of the assertion that it stands in.
 *
 * It is made before anything asynchronous runs: a later `.not` in the same
 * chain changes the flags of the same object.
 */
export class MatcherContext extends Assertion {
  readonly #assertion: object;
  readonly #chai: Chai.ChaiStatic;
  readonly #utils: Chai.ChaiUtils;
  readonly #prefix: string;

  constructor(assertion: object, chai: Chai.ChaiStatic, utils: Chai.ChaiUtils) {
    // Flags are typed any.
    const flag = (name: string): unknown => utils.flag(assertion, name);
    super(flag("object"), flag("ssfi"), flag("negate") === true);
    this.#assertion = assertion;
    this.#chai = chai;
    this.#utils = utils;
    const message = flag("message");
    this.#prefix = typeof message === "string" ? `${message}: ` : "";
  }

  public flag(name: string): unknown {
    const value: unknown = this.#utils.flag(this.#assertion, name);
    return value;
  }

  public setFlag(name: string, value: unknown): void {
    this.#utils.flag(this.#assertion, name, value);
  }

  /** Refuses a second asynchronous matcher: whose subject would it have? */
  public preventChaining(matcher: string): void {
    const previous = this.flag(PREVIOUS_MATCHER);
    if (typeof previous === "string") {
      this.fail(
        `${matcher} cannot be chained after ${previous}: write a second expect()`,
      );
    }
    this.setFlag(PREVIOUS_MATCHER, matcher);
  }

  /** Makes the assertion something to await. */
  public settleWith(outcome: Promise<void>): object {
    return Object.assign(this.#assertion, {
      then: outcome.then.bind(outcome),
      catch: outcome.catch.bind(outcome),
      finally: outcome.finally.bind(outcome),
    });
  }

  protected createError(message: string): Error {
    return new this.#chai.AssertionError(`${this.#prefix}${message}`);
  }
}

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
  public readonly subject: unknown;
  readonly #assertion: object;
  readonly #utils: Chai.ChaiUtils;

  constructor(assertion: object, chai: Chai.ChaiStatic, utils: Chai.ChaiUtils) {
    // Flags are typed any.
    const flag = (name: string): unknown => utils.flag(assertion, name);
    const message = flag("message");
    const prefix = typeof message === "string" ? `${message}: ` : "";
    super(
      flag("ssfi"),
      (text) => new chai.AssertionError(`${prefix}${text}`),
      flag("negate") === true,
    );
    this.subject = flag("object");
    this.#assertion = assertion;
    this.#utils = utils;
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
  public settleWith(outcome: Promise<unknown>): object {
    return Object.assign(this.#assertion, {
      then: outcome.then.bind(outcome),
      catch: outcome.catch.bind(outcome),
      finally: outcome.finally.bind(outcome),
    });
  }
}

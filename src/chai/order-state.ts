import { orderIDOf } from "../client/orders/order-ids.js";
import { describeEnumValue, enumNames } from "../protocol/index.js";
import type { EnumName } from "../protocol/index.js";
import { escapeUntrusted } from "../untrusted-text.js";
import { MatcherContext } from "./matcher-context.js";

/** The matchers on one order: field, enumeration and the words it has. */
const orderFields = [
  { field: "state", enumName: "orderState" },
  { field: "contractType", enumName: "contractType" },
] as const satisfies ReadonlyArray<{ field: string; enumName: EnumName }>;

/** Adds `open`, `closed`, `call` and `put`. */
export function supportOrderState(
  chai: Chai.ChaiStatic,
  utils: Chai.ChaiUtils,
): void {
  for (const { field, enumName } of orderFields) {
    for (const word of Object.values(enumNames[enumName])) {
      addProperty(chai, utils, word, function (this: object) {
        const context = new MatcherContext(this, chai, utils);
        const order = requireOrder(context, word);
        const actual = describeEnumValue(enumName, order[field]);
        if (actual.startsWith("unknown")) {
          // Neither yes nor no: an order that does not exist reads as zeros.
          context.fail(
            `expected ${describe(order)} ${context.negated ? "not " : ""}to be ${word}, but its ${field} is ${actual}, which the protocol does not list`,
          );
        }
        context.check(
          actual === word,
          () =>
            `expected ${describe(order)} to be ${word}, but its ${field} is ${actual} (${order[field]})`,
          () =>
            `expected ${describe(order)} not to be ${word}, but its ${field} is ${actual} (${order[field]})`,
        );
      });
    }
  }
}

/**
 * Like Chai's own, and with a setter: Chai assigns `call` to objects that
 * inherit from the assertions, which a property without a setter refuses. All
 * chainable methods (`a`, `include`, `length`, …) would break.
 */
function addProperty(
  chai: Chai.ChaiStatic,
  utils: Chai.ChaiUtils,
  name: string,
  check: (this: object) => void,
): void {
  const { prototype } = chai.Assertion;
  utils.addProperty(prototype, name, check);
  Object.defineProperty(prototype, name, {
    ...Object.getOwnPropertyDescriptor(prototype, name),
    set(this: object, value: unknown) {
      Object.defineProperty(this, name, {
        value,
        configurable: true,
        writable: true,
      });
    },
  });
}

interface Order {
  readonly state: number;
  readonly contractType: number;
  readonly exType?: unknown;
}

function requireOrder(context: MatcherContext, word: string): Order {
  const { subject } = context;
  if (isOrder(subject)) {
    return subject;
  }
  const hint =
    subject instanceof Promise
      ? "a promise: await the order first"
      : context.inspect(subject);
  return context.fail(
    `.${word} needs an order, as getOrderInfo() returns it, got ${hint}`,
  );
}

function isOrder(value: unknown): value is Order {
  return (
    typeof value === "object" &&
    value !== null &&
    "state" in value &&
    typeof value.state === "number" &&
    "contractType" in value &&
    typeof value.contractType === "number"
  );
}

function describe(order: Order): string {
  const { exType } = order;
  const id = orderIDOf(order);
  const pair =
    typeof exType === "string" ? ` (${escapeUntrusted(exType)})` : "";
  return `order${id === undefined ? "" : ` ${id}`}${pair}`;
}

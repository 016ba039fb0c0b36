import { expect } from "chai";
import { Interface } from "ethers";

export async function revertOf(call: Promise<unknown>): Promise<unknown> {
  const error: unknown = await call.catch((thrown: unknown) => thrown);
  expect(error).to.be.instanceOf(Error);
  return Reflect.get(Object(error), "data");
}

export function encodeError(signature: string, ...args: unknown[]): string {
  const [name = ""] = signature.split("(");
  return new Interface([`error ${signature}`]).encodeErrorResult(name, args);
}

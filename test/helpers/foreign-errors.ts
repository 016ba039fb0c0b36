/** An error as Hardhat makes it, by what tells it from a copy. */
export const hardhatError = (errorCode: string, more: object = {}): Error =>
  Object.defineProperty(
    Object.assign(new Error("no"), { errorCode, ...more }),
    "_isHardhatError",
    { value: true },
  );

export const codedError = (code: string, more: object = {}): Error =>
  Object.assign(new Error("no"), { code, ...more });

export const said = (code: number, message: string, data?: string): object => ({
  code,
  message,
  ...(data === undefined ? {} : { data }),
});

/** As undici's, of a class of its own. */
export class StatusError extends Error {
  constructor(
    public readonly statusCode: unknown,
    public readonly headers: unknown = {},
  ) {
    super("unexpected status");
  }
}

/* eslint-disable @typescript-eslint/no-unnecessary-type-parameters -- the parameters are what the compiler compares */
/** True exactly if both types are the same, also in `readonly` and `?`. */
export type Same<A, B> =
  (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2
    ? true
    : false;

/** Compiles only where the type argument is `true`. */
export function expectType<_Condition extends true>(): void {
  // Only the compiler has anything to do here.
}

/** Compiles only where the value may stand for the type argument. */
export function expectAssignable<Target>(_value: Target): void {
  // Only the compiler has anything to do here.
}

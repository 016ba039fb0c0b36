import { ZeroAddress } from "ethers";

import { answerOf } from "../../src/protocol/index.js";
import type {
  OperationResult,
  ReadOperationName,
  WireType,
} from "../../src/protocol/index.js";

const zeros: Readonly<Record<WireType, unknown>> = {
  uint256: 0n,
  uint8: 0,
  bool: false,
  string: "",
  address: ZeroAddress,
};

/** What a contract without any value returns. */
export function zeroAnswer<Name extends ReadOperationName>(
  operation: Name,
): OperationResult<Name> {
  // the table of operations makes the type, too
  return answerOf(
    operation,
    ({ type }) => zeros[type],
  ) as OperationResult<Name>;
}

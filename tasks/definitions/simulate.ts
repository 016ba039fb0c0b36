import {
  fixedBlock,
  flag,
  ids,
  option,
  text,
  timeOr,
  tokenList,
} from "./options.js";
import { at, describeTask, settler, timeout } from "./shared.js";

export const simulateTask = describeTask("Simulate a settlement", {
  at,
  from: settler("Account that settles; needs no key"),
  atTime: option(
    timeOr("end"),
    "Block time of the settlement; end means the round's end",
    { default: "the chain's time" },
  ),
  ids: option(ids(400), "Orders to watch, at most 400", { default: "none" }),
  tokens: option(
    tokenList,
    "ERC-20 tokens to watch, and which a guard forwards",
    { default: "`tokens` of the configuration" },
  ),
  block: option(fixedBlock, "Block to start from", { default: "latest" }),
  timeout,
  fork: flag("Simulate on a fork in this process"),
  hardfork: option(
    text,
    "Simulate on a fork with the rules of this hardfork, for example prague",
  ),
});

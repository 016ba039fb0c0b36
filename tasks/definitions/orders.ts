import { enumWords } from "../../src/protocol/enums.js";
import { address, flag, integer, oneOf, option, orders } from "./options.js";
import { describeTask, ofListings, ofManyReads } from "./shared.js";

export const ordersTask = describeTask(
  "List orders",
  {
    ...ofManyReads,
    ids: option(orders, "Orders to list", { default: "all" }),
    state: option(oneOf(enumWords.orderState), "Only orders in this state"),
    holder: option(address, "Only orders of this holder"),
    limit: option(integer, "Only this many, the newest first"),
    ...ofListings,
    skipEmpty: flag("Leave out orders with only zero values"),
  },
  [
    ["json", "format"],
    ["raw", "scaled"],
  ],
);

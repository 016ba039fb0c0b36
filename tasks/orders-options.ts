import { enumWords } from "../src/protocol/enums.js";
import { address, flag, oneOf, option, orders } from "./options.js";
import { ofListings, ofManyReads } from "./shared-options.js";

export const ordersOptions = {
  ...ofManyReads,
  ids: option(orders, "Orders to list", { default: "all" }),
  state: option(oneOf(enumWords.orderState), "Only orders in this state"),
  holder: option(address, "Only orders of this holder"),
  ...ofListings,
  skipEmpty: flag("Leave out orders with only zero values"),
} as const;

import type { HookContext, NetworkHooks } from "hardhat/types/hooks";
import type { ChainType, NetworkConnection } from "hardhat/types/network";
import type { JsonRpcRequest, JsonRpcResponse } from "hardhat/types/providers";

import { vaultError } from "../errors.js";
import { HardhatVault } from "./hardhat-vault.js";
import { redactorFor } from "./project.js";

export default async (): Promise<Partial<NetworkHooks>> => ({
  newConnection,
  onRequest,
});

async function newConnection<ChainTypeT extends ChainType | string>(
  context: HookContext,
  next: (nextContext: HookContext) => Promise<NetworkConnection<ChainTypeT>>,
): Promise<NetworkConnection<ChainTypeT>> {
  const connection = await next(context);
  // The provider has resolved the same variables already.
  const redactor = await redactorFor(context, connection.networkConfig);
  connection.vault = HardhatVault.forConnection(connection, context, redactor);
  return connection;
}

/**
 * Refuses the answer to another request: Hardhat compares no ids, and a gateway that exchanges
 * answers would exchange figures. An answer may have no id, or write it as a text. An error
 * counts with any id: nodes that cannot read a request do not know it.
 */
async function onRequest<ChainTypeT extends ChainType | string>(
  context: HookContext,
  connection: NetworkConnection<ChainTypeT>,
  request: JsonRpcRequest,
  next: (
    nextContext: HookContext,
    nextConnection: NetworkConnection<ChainTypeT>,
    nextRequest: JsonRpcRequest,
  ) => Promise<JsonRpcResponse>,
): Promise<JsonRpcResponse> {
  const response = await next(context, connection, request);
  // An answer of the network in process has none.
  const id: unknown = response.id;
  const isNamed = typeof id === "number" || typeof id === "string";
  const isError = "error" in response;
  if (isNamed && !isError && String(id) !== String(request.id)) {
    throw vaultError("VAULT_RPC_INVALID_RESPONSE", {
      network: connection.networkName,
      method: request.method,
      problem: "it has the id of another request",
    });
  }
  return response;
}

// Everything this package exports, and nothing else: checked without
// skipLibCheck, by tsconfig.entries.json.
import vault, { ContractType, OrderState, VaultError } from "hardhat-vault";
import { vaultAbi } from "hardhat-vault/abi";
import tradingAbi from "hardhat-vault/abi/Trading.json" with { type: "json" };
import { settlesRound } from "hardhat-vault/assert";
import { Vault__factory } from "hardhat-vault/bindings";
import { VaultClient } from "hardhat-vault/client";
import { MockVaultArtifact } from "hardhat-vault/mocks";
import type { VaultRound, VaultSnapshot } from "hardhat-vault/types";

export type Round = VaultRound;
export type Snapshot = VaultSnapshot;
export const entries = {
  vault,
  ContractType,
  OrderState,
  VaultError,
  vaultAbi,
  tradingAbi,
  settlesRound,
  Vault__factory,
  VaultClient,
  MockVaultArtifact,
};

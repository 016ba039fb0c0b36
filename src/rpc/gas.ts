/** Gas limit of a transaction by EIP-7825, from the osaka hardfork on. */
export const TRANSACTION_GAS_CAP = 16_777_216n;

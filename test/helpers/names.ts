/** The first accounts of the development mnemonic. */
export const FIRST = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266";
export const SECOND = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8";
export const THIRD = "0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC";
/** An account without code, that does nothing. */
export const NOBODY = "0x00000000000000000000000000000000000000AA";
export const ZERO = "0x0000000000000000000000000000000000000000";
export const HASH = `0x${"ab".repeat(32)}` as const;
export const OTHER_HASH = `0x${"cd".repeat(32)}` as const;

/** Loaded into each process of tests, where mocha ignores such a rejection. */
process.on("unhandledRejection", (reason) => {
  throw reason;
});

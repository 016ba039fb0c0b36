import { describeCompiler } from "../helpers/compile-matrix.js";

// Between the oldest and the newest, and as slow as they are: the projects of
// test/consumers/ compile with it, too.
if (process.env["COMPILE_MATRIX"] === "all") {
  describeCompiler("0.8.28");
}

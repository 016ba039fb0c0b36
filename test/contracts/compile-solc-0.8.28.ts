import { describeCompiler } from "../helpers/compile-matrix.js";

describeCompiler("0.8.28");

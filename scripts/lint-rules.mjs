// @ts-check
/** Rules of this project, which oxlint loads (.oxlintrc.json). */

const suites = "/^(describe|context|suite|it|test|specify)$/";
const disabling = /^\s*(?:es|ox)lint-disable/u;
const withReason = /^\s*\S+ [@\w].* -- \S/su;

/**
 * @typedef {{ line: number }} Position
 * @typedef {{ loc: { start: Position, end: Position } }} Located
 * @typedef {Located & { type: string, value: string }} Comment
 * @typedef {Located & { typeAnnotation: { typeName?: { name?: string } } }} Cast
 * @typedef {{
 *   report: (problem: { node: object, message: string }) => void,
 *   sourceCode: { getAllComments: () => Comment[] },
 * }} Context
 */

/** @type {(selectors: string[], message: string) => object} */
const forbid = (selectors, message) => ({
  /** @param {Context} context */
  create: (context) => ({
    /** @param {object} node */
    [selectors.join(", ")](node) {
      context.report({ node, message });
    },
  }),
});

export default {
  meta: { name: "project" },
  rules: {
    "no-only": forbid(
      [
        `CallExpression[callee.property.name="only"][callee.object.name=${suites}]`,
      ],
      "Remove .only, or all other tests are left out.",
    ),
    "no-skip": forbid(
      [
        `CallExpression[callee.property.name="skip"][callee.object.type="ThisExpression"]`,
        // Also without a call, as in `isPossible ? it : it.skip`.
        `MemberExpression[property.name="skip"][object.name=${suites}]`,
        "CallExpression[callee.name=/^(xit|xdescribe|xcontext|xspecify)$/]",
      ],
      "A test that does not run proves nothing. If it really cannot run, disable this rule here and give the reason.",
    ),
    "reason-to-cast": {
      /** @param {Context} context */
      create: (context) => ({
        /** @param {Cast} node */
        TSAsExpression(node) {
          const isConstant = node.typeAnnotation.typeName?.name === "const";
          const { line } = node.loc.start;
          const hasReason = context.sourceCode
            .getAllComments()
            .some(({ loc }) => loc.end.line === line - 1);
          if (!isConstant && !hasReason) {
            context.report({
              node,
              message:
                "Give the reason why the value has this type, as a comment on the line above.",
            });
          }
        },
      }),
    },
    "reason-to-disable": {
      /** @param {Context} context */
      create: (context) => ({
        Program() {
          for (const comment of context.sourceCode.getAllComments()) {
            if (
              disabling.test(comment.value) &&
              !withReason.test(comment.value)
            ) {
              context.report({
                node: comment,
                message: "Name the rule and, after ` -- `, the reason.",
              });
            }
          }
        },
      }),
    },
  },
};

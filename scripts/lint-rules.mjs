// @ts-check
/** Rules of this project, which oxlint loads (.oxlintrc.json). */

const suites = "/^(describe|context|suite|it|test|specify)$/";
const disabling = /^\s*(?:es|ox)lint-disable/u;
const withReason = /^\s*\S+ [@\w].* -- \S/su;

/**
 * @typedef {{ type: string, value: string }} Comment
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
        `CallExpression[callee.property.name="skip"][callee.object.name=${suites}]`,
        "CallExpression[callee.name=/^(xit|xdescribe|xcontext|xspecify)$/]",
      ],
      "A test that does not run proves nothing. If it really cannot run, disable this rule here and give the reason.",
    ),
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

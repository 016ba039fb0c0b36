// @ts-check
import comments from "@eslint-community/eslint-plugin-eslint-comments/configs";
import js from "@eslint/js";
import { defineConfig, globalIgnores } from "eslint/config";
import tseslint from "typescript-eslint";

export default defineConfig(
  globalIgnores([
    "dist/",
    "docs/api/",
    "artifacts/",
    "cache/",
    "coverage/",
    "src/abi/",
    "src/bindings/",
    "src/mocks/artifacts.ts",
    "src/protocol/signatures.ts",
    "src/client/lens/artifact.ts",
    // TypeScript looks at its declarations instead.
    "src/commonjs.cjs",
    "test/fixture-projects/",
  ]),
  js.configs.recommended,
  tseslint.configs.strictTypeChecked,
  tseslint.configs.stylisticTypeChecked,
  comments.recommended,
  {
    languageOptions: {
      parserOptions: {
        project: "tsconfig.json",
        tsconfigRootDir: import.meta.dirname,
      },
    },
    linterOptions: { reportUnusedDisableDirectives: "error" },
    rules: {
      "@eslint-community/eslint-comments/require-description": [
        "error",
        { ignore: ["eslint-enable"] },
      ],
      "@eslint-community/eslint-comments/disable-enable-pair": [
        "error",
        { allowWholeFile: true },
      ],

      eqeqeq: "error",
      "no-param-reassign": "error",
      "object-shorthand": "error",
      "@typescript-eslint/no-shadow": "error",
      "@typescript-eslint/array-type": ["error", { default: "array-simple" }],
      "@typescript-eslint/ban-ts-comment": [
        "error",
        {
          "ts-expect-error": "allow-with-description",
          minimumDescriptionLength: 5,
        },
      ],
      "@typescript-eslint/consistent-type-assertions": [
        "error",
        { assertionStyle: "never" },
      ],
      "@typescript-eslint/consistent-type-imports": [
        "error",
        // The types of modules that must not be loaded.
        { disallowTypeAnnotations: false },
      ],
      "@typescript-eslint/consistent-type-exports": "error",
      "@typescript-eslint/consistent-indexed-object-style": "off",
      "@typescript-eslint/dot-notation": [
        "error",
        // Brackets tell that the key is data, not a declared property.
        { allowIndexSignaturePropertyAccess: true },
      ],
      "@typescript-eslint/explicit-module-boundary-types": "error",
      "@typescript-eslint/no-confusing-void-expression": [
        "error",
        { ignoreArrowShorthand: true },
      ],
      "@typescript-eslint/no-empty-object-type": [
        "error",
        { allowInterfaces: "with-single-extends" },
      ],
      "@typescript-eslint/no-import-type-side-effects": "error",
      // Hardhat's own `ChainType | string`.
      "@typescript-eslint/no-redundant-type-constituents": "off",
      "@typescript-eslint/no-unused-vars": [
        "error",
        { argsIgnorePattern: "^_", varsIgnorePattern: "^_" },
      ],
      "@typescript-eslint/prefer-readonly": "error",
      "@typescript-eslint/promise-function-async": "off",
      // Interfaces, Hardhat's among them, ask for promises where a function has
      // nothing to wait for.
      "@typescript-eslint/require-await": "off",
      "@typescript-eslint/restrict-template-expressions": [
        "error",
        // A bigint and a number print as what they are.
        { allowNumber: true },
      ],
      "@typescript-eslint/return-await": ["error", "always"],
      "@typescript-eslint/strict-boolean-expressions": [
        "error",
        {
          allowString: false,
          allowNumber: false,
          allowNullableObject: false,
        },
      ],
      "@typescript-eslint/switch-exhaustiveness-check": [
        "error",
        { considerDefaultExhaustiveForUnions: true },
      ],
    },
  },

  {
    files: ["test/**/*.ts"],
    rules: {
      "no-restricted-syntax": [
        "error",
        {
          selector:
            "CallExpression[callee.property.name='only'][callee.object.name=/^(describe|context|suite|it|test|specify)$/]",
          message: "Remove .only, or all other tests are left out.",
        },
        {
          selector:
            "CallExpression[callee.property.name='skip']:matches([callee.object.type='ThisExpression'], [callee.object.name=/^(describe|context|suite|it|test|specify)$/])",
          message:
            "A test that does not run proves nothing. If it really cannot run, disable this rule here and give the reason.",
        },
        {
          selector:
            "CallExpression[callee.name=/^(xit|xdescribe|xcontext|xspecify)$/]",
          message: "A test that does not run proves nothing.",
        },
      ],
      // chai: `expect(x).to.be.true`.
      "@typescript-eslint/no-unused-expressions": "off",
    },
  },
  {
    files: ["**/*.js", "**/*.mjs"],
    rules: {
      // tsc knows better.
      "no-undef": "off",
      // JSDoc gives these types; JSON.parse and the like have no better ones.
      "@typescript-eslint/explicit-module-boundary-types": "off",
      "@typescript-eslint/no-unsafe-argument": "off",
      "@typescript-eslint/no-unsafe-assignment": "off",
      "@typescript-eslint/no-unsafe-member-access": "off",
      "@typescript-eslint/no-unsafe-return": "off",
    },
  },
);

import js from "@eslint/js";
import ts from "typescript-eslint";

export default ts.config(
  js.configs.recommended,
  { files: ["src/**/*.ts", "site/*.ts"], extends: [ts.configs.strictTypeChecked], languageOptions: { parserOptions: { project: ["tsconfig.json", "tsconfig.web.json"] } },
    rules: { "@typescript-eslint/restrict-template-expressions": ["error", { allowNumber: true }] } },
  { files: ["scripts/*.mjs", "test/*.cjs"], languageOptions: { globals: { process: "readonly", console: "readonly", setTimeout: "readonly",
    require: "readonly", module: "readonly", exports: "writable", __dirname: "readonly", describe: "readonly", it: "readonly", before: "readonly", after: "readonly" } } },
);

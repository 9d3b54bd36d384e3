// Puts the names of the rules, as gradpath.schema.json has them, into the settings in package.json.
import { readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = join(dirname(fileURLToPath(import.meta.url)), "..");
const names = JSON.parse(readFileSync(join(here, "gradpath.schema.json"), "utf8")).$defs.rule.enum;
const file = join(here, "package.json");
const listed = /"enum": \["(?:detach|graph)"[^\]]*\]/g; // The lists of rules begin with a family.
writeFileSync(file, readFileSync(file, "utf8").replace(listed, `"enum": ${JSON.stringify(names).replaceAll(",", ", ")}`));

// Puts the server and what it needs into bundled/libs, for any Python from 3.10 on and any platform.
import { execFileSync } from "node:child_process";
import { copyFileSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = join(dirname(fileURLToPath(import.meta.url)), "..");
const libs = join(here, "bundled", "libs");
const python = process.env.PYTHON ?? (process.platform === "win32" ? "python" : "python3");
const pip = (...args) => execFileSync(python, ["-m", "pip", "--disable-pip-version-check", "--quiet", ...args], { stdio: "inherit" });

rmSync(libs, { recursive: true, force: true });
// Wheels without compiled code run everywhere. pip looks at the Python that it runs on to find out what is needed, so that
// what Python 3.10 needs besides is named here.
const oldest = ["exceptiongroup", "tomli", "typing_extensions"];
const pure = ["--implementation", "py", "--abi", "none", "--platform", "any", "--python-version", "3.10", "--only-binary", ":all:"];
const wheels = join(here, "bundled", "wheels");
rmSync(wheels, { recursive: true, force: true });
pip("wheel", "--no-deps", "--wheel-dir", wheels, join(here, ".."));
pip("install", "--target", libs, "--find-links", wheels, "--no-compile", ...pure, "gradpath", ...oldest);
rmSync(wheels, { recursive: true, force: true });
// jedi asks for names in the standard library alone here: the stubs of other people's packages are most of its files.
for (const stubs of ["typeshed/third_party", "typeshed/stubs", "django-stubs"]) {
  rmSync(join(libs, "jedi", "third_party", stubs), { recursive: true, force: true });
}
rmSync(join(libs, "bin"), { recursive: true, force: true });
copyFileSync(join(here, "..", "LICENSE"), join(here, "LICENSE"));

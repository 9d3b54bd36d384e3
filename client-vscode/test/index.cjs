// Runs the tests inside the extension host.
const path = require("node:path");
const Mocha = require("mocha");

exports.run = () => new Promise((done, failed) => {
  const mocha = new Mocha({ ui: "bdd", timeout: 60_000, reporter: "spec", color: false });
  mocha.addFile(path.join(__dirname, "extension.test.cjs"));
  mocha.run((failures) => failures > 0 ? failed(new Error(`${failures} failed`)) : done());
});

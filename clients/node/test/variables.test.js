// Which PRSHOTS_ variables get a warning.
import assert from "node:assert/strict";
import { misspelledVariables } from "../dist/variables.js";
import { testCases } from "./support/vectors.js";

testCases("misspelled_variables", "misspelled", ({ environ, warnings }) => {
  assert.deepEqual(misspelledVariables(environ), warnings);
});

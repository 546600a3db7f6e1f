/** Beside the others, because a build takes as long as ten other commands. */
import { testScenarios } from "./support/scenario-tests.ts";

testScenarios((fileName) => ["build.txt", "deploy.txt", "update.txt"].includes(fileName));

import { testScenarios } from "./support/scenario-tests.ts";

testScenarios((fileName) => !["build.txt", "deploy.txt", "update.txt"].includes(fileName));

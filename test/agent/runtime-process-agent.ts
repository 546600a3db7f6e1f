/** An agent reduced to its runtime: starts one worker, says so, and waits to be killed. */
import { ProcessRuntime } from "../../node-agent/runtime/process/process-runtime.ts";

const [stateDirectory = "", spec = ""] = process.argv.slice(2);

await new ProcessRuntime({ stateDirectory, hasRealGpus: false }).start(JSON.parse(spec));
process.stdout.write("started\n");
setInterval(() => undefined, 60_000);

/** What all programs for plain Node have in common when they are bundled. */
import type { BuildOptions, Plugin } from "esbuild";

/** What dockerode loads for Docker over SSH and for BuildKit sessions, neither of which is used here. */
const EXTRAS = /^(ssh2|cpu-features|@grpc\/grpc-js|@grpc\/proto-loader|protobufjs)$/;

/** Bundled CommonJS packages load built-in modules with `require`. */
export const REQUIRE =
  'import { createRequire as requireOf } from "node:module"; const require = requireOf(import.meta.url);';

/** Leaves it out of a bundle. */
const withoutDockerExtras: Plugin = {
  name: "without-docker-extras",
  setup(bundler) {
    bundler.onResolve({ filter: EXTRAS }, ({ path }) => ({ path, namespace: "unused" }));
    bundler.onLoad({ filter: /.*/, namespace: "unused" }, () => ({ contents: "module.exports = {};" }));
  },
};

/** One file that this Node and later ones run, with all packages in it. */
export function nodeProgram(root: string, node: string) {
  return {
    absWorkingDir: root,
    bundle: true,
    platform: "node",
    format: "esm",
    target: `node${node}`,
    // Names stay, so that stack traces are readable.
    minifySyntax: true,
    plugins: [withoutDockerExtras],
    banner: { js: REQUIRE },
  } satisfies BuildOptions;
}

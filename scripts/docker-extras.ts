import type { Plugin } from "esbuild";

/** What dockerode loads for Docker over SSH and for BuildKit sessions, neither of which is used here. */
const EXTRAS = /^(ssh2|cpu-features|@grpc\/grpc-js|@grpc\/proto-loader|protobufjs)$/;

/** Leaves it out of a bundle. */
export const withoutDockerExtras: Plugin = {
  name: "without-docker-extras",
  setup(bundler) {
    bundler.onResolve({ filter: EXTRAS }, ({ path }) => ({ path, namespace: "unused" }));
    bundler.onLoad({ filter: /.*/, namespace: "unused" }, () => ({ contents: "module.exports = {};" }));
  },
};

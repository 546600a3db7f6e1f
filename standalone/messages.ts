/** The settings of the local edge's program, and the lines that it prints. */
import * as z from "zod";

const text = z.string();

/** Its one argument, as JSON. */
export const standaloneSettingsSchema = z.object({
  stateDirectory: text,
  /** A directory from which Node finds Miniflare. */
  packages: text,
  runtime: z.enum(["docker", "process"]),
  /** Holds the Python package `edgerun`. */
  pythonPackage: text,
  /** Runs the workers; undefined: the agent chooses. */
  python: text.optional(),
  /** Workers share this computer's GPUs, on a Docker network of this name, which is removed at the end. */
  desktopNetwork: text.optional(),
  /** The port of an earlier start, whose URL other programs know; undefined: any free port. */
  port: z.number().int().optional(),
});
export type StandaloneSettings = z.infer<typeof standaloneSettingsSchema>;

/** One line of its output, as JSON. */
export const standaloneMessageSchema = z.discriminatedUnion("kind", [
  /** Requests are answered; workers start soon. */
  z.object({ kind: z.literal("ready"), port: z.number(), apiKey: text }),
  /** Something happened to the edge or the agent: a line for the terminal. */
  z.object({ kind: z.literal("notice"), line: text }),
  /** Another process uses the state directory; the last message. */
  z.object({ kind: z.literal("in-use"), pid: z.number(), url: text }),
  /** It cannot start; the last message. */
  z.object({ kind: z.literal("failed"), whatHappened: text, howToSolve: z.array(text) }),
]);
export type StandaloneMessage = z.infer<typeof standaloneMessageSchema>;

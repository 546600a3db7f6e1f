/**
 * What is sent through a tunnel: a WebSocket between a client and a container, by which a client runs a command there
 * or reaches a TCP port.
 *
 * A client opens `<edge>/tunnels/<id of a pod or worker>/exec?tunnel=<tunnel id>` or `…/ports/<port>?tunnel=<tunnel id>`
 * as a WebSocket, and when that connection is lost, again with `&resume=true`. The other side is the agent of the host;
 * the edge passes messages on without reading them.
 *
 * U1  The first message of each side on each connection is RESUME; ACK may follow at any time. All other messages are
 *     counted: they arrive once and in order, over as many connections as it takes (see TunnelChannel).
 * U2  Binary messages are bytes: of the client those for standard input or the port; of the agent those of the port, or
 *     with one byte in front that says which output of the command they are from (OUTPUT).
 * U3  For a command, START is the client's first counted message. The agent answers STARTED, and at last EXIT or ERROR;
 *     the client then closes with 1000.
 * U4  END: no more bytes follow from this side. A port is over when both sides have sent it.
 */
import * as z from "zod";

/** Random, chosen by the client: who knows it, and may open tunnels to the container, may resume the tunnel. */
export const tunnelIdSchema = z.string().regex(/^[0-9a-f]{32}$/, "must be 32 lower-case hex digits");

/** One message: small, so that a key press does not wait behind a large one. */
export const TUNNEL_MESSAGE_MAX_BYTES = 64 * 1024;
/** Bytes of counted messages that one side has sent and the other has not consumed. */
export const TUNNEL_WINDOW_BYTES = 4 * 1024 * 1024;
/** So long an agent keeps a tunnel whose connection is lost, and a client tries to resume it. */
export const TUNNEL_RESUME_MS = 60_000;
/** The agent closes connections of this age with TUNNEL_CLOSE.renew: resuming checks the key again. */
export const TUNNEL_RENEWAL_MS = 15 * 60_000;

/**
 * Close codes beside those of WebSockets. 1000: the tunnel is over, as is said by its last message. Any other one (such
 * as 1013 of the edge, when more is on its way than it keeps) is a lost connection: resume after a moment.
 */
export const TUNNEL_CLOSE = {
  over: 1000,
  /** The client violated the protocol; the tunnel is over. */
  protocol: 1002,
  /** A message of the client was too large; the tunnel is over. */
  tooLarge: 1009,
  /** Resume the tunnel at once. */
  renew: 4000,
  /** Nothing was sent for so long that the tunnel was ended. */
  idle: 4001,
  /** Another connection has resumed the tunnel. */
  replaced: 4002,
} as const;

/** Head of the frame that opens a tunnel on the link of a host; its target is the worker, and for tcp the port. */
export const tunnelHeadSchema = z.object({
  kind: z.enum(["exec", "tcp"]),
  tunnelId: tunnelIdSchema,
  /** The connection continues a tunnel that the agent has. */
  isResumed: z.boolean(),
  /** The tunnel ends when nothing was sent either way for so long. */
  idleMs: z
    .number()
    .int()
    .min(1_000)
    .max(7 * 24 * 3_600_000),
});
export type TunnelHead = z.infer<typeof tunnelHeadSchema>;

// Transport

/** How many counted messages a side has received, all that were ever sent. */
const receivedSchema = z.number().int().min(0);
const resumeSchema = z.object({ type: z.literal("resume"), received: receivedSchema });
/** So many were consumed: their bytes no longer count. */
const ackSchema = z.object({ type: z.literal("ack"), consumed: receivedSchema });
export const transportSchema = z.discriminatedUnion("type", [resumeSchema, ackSchema]);
export type TransportMessage = z.infer<typeof transportSchema>;

// Commands

/** First byte of the agent's binary messages of a command. */
export const OUTPUT = { stdout: 1, stderr: 2 } as const;

const sizeSchema = z.number().int().min(1).max(1_000);

export const EXEC_SIGNALS = [
  "SIGHUP",
  "SIGINT",
  "SIGQUIT",
  "SIGTERM",
  "SIGKILL",
  "SIGUSR1",
  "SIGUSR2",
] as const;

const startSchema = z.object({
  type: z.literal("start"),
  /** Program and arguments; no shell interprets them. */
  command: z
    .array(z.string().max(48 * 1024))
    .min(1)
    .max(1_000),
  /** Null: none, and standard error comes apart. */
  terminal: z
    .object({
      columns: sizeSchema,
      rows: sizeSchema,
      type: z.string().min(1).max(64).default("xterm-256color"),
    })
    .nullable()
    .default(null),
  /** Absent: that of the container. */
  directory: z.string().startsWith("/").max(4_096).optional(),
  /** Added to the variables of the container. */
  environment: z
    .record(
      z
        .string()
        .regex(/^[A-Za-z_][A-Za-z0-9_]*$/)
        .max(100),
      z.string().max(4_096),
    )
    .default({}),
});
const endSchema = z.object({ type: z.literal("end") });

/** Counted text messages of a client. */
export const clientMessageSchema = z.discriminatedUnion("type", [
  startSchema,
  z.object({ type: z.literal("resize"), columns: sizeSchema, rows: sizeSchema }),
  z.object({ type: z.literal("signal"), signal: z.enum(EXEC_SIGNALS) }),
  endSchema,
]);
export type ClientMessage = z.input<typeof clientMessageSchema>;
export type ExecStart = z.output<typeof startSchema>;

/**
 * Why a command has ended through no doing of its own. `container_ended`: its container has; a pod may get another one.
 * `lost`: it was cut off, as when Docker starts again, and its container may run on.
 */
export const commandLossSchema = z.enum(["container_ended", "lost"]);
export type CommandLoss = z.infer<typeof commandLossSchema>;

/** Counted text messages of an agent. */
export const agentMessageSchema = z.discriminatedUnion("type", [
  z.object({ type: z.literal("started") }),
  /** 128 plus its number for a command that a signal ended; null: unknown. */
  z.object({ type: z.literal("exit"), code: z.number().int().nullable() }),
  /** The tunnel has ended; a message for users, and what another tunnel may come around, if that is known. */
  z.object({
    type: z.literal("error"),
    message: z.string().max(2_000),
    loss: commandLossSchema.optional().catch(undefined),
  }),
  endSchema,
]);
export type AgentMessage = z.infer<typeof agentMessageSchema>;

/**
 * Tries to reach each of TARGETS, a JSON list of { name, protocol: "tcp" | "udp", host, port }, and prints as JSON
 * which of them answered with the word that the listeners of test/support/reach-listener.mjs send.
 */
import dgram from "node:dgram";
import net from "node:net";

const WORD = "reached";
/** Only what is dropped without a word takes so long; what shall answer may take longer. */
const LIMIT_MS = process.env.IS_PATIENT ? 60_000 : 3_000;
/** A datagram may get lost on a busy machine. */
const AGAIN_MS = 500;

const byTcp = ({ host, port }) =>
  new Promise((resolve) => {
    const socket = net.connect({ host, port, timeout: LIMIT_MS });
    const end = (answer) => {
      socket.destroy();
      resolve(answer);
    };
    socket.on("data", (data) => end(String(data)));
    socket.on("timeout", () => end("timeout"));
    socket.on("close", () => end("closed"));
    socket.on("error", (error) => end(error.code));
  });

const byUdp = ({ host, port }) =>
  new Promise((resolve) => {
    const socket = dgram.createSocket(net.isIPv6(host.split("%")[0]) ? "udp6" : "udp4");
    const knock = () => socket.send("hello");
    let knocking;
    const end = (answer) => {
      clearTimeout(timer);
      clearInterval(knocking);
      socket.close();
      resolve(answer);
    };
    const timer = setTimeout(() => end("timeout"), LIMIT_MS);
    socket.on("message", (data) => end(String(data)));
    socket.on("error", (error) => end(error.code));
    socket.connect(port, host, (error) => {
      if (error) return end(error.code);
      knock();
      knocking = setInterval(knock, AGAIN_MS);
    });
  });

const targets = JSON.parse(process.env.TARGETS);
const answers = await Promise.all(
  targets.map(async (target) => {
    const answer = await (target.protocol === "udp" ? byUdp(target) : byTcp(target));
    return [target.name, answer === WORD ? answer : `not ${WORD}: ${answer}`];
  }),
);
process.stdout.write(JSON.stringify(Object.fromEntries(answers)));
process.exit();

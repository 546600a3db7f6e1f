/**
 * Listens at each of LISTENERS, a JSON list of { protocol: "tcp" | "udp", host, port }, and answers every
 * client with a word. Prints "listening" when all are open; ends with its input if ENDS_WITH_INPUT is set.
 */
import dgram from "node:dgram";
import { once } from "node:events";
import net from "node:net";

const WORD = "reached";

for (const { protocol, host, port } of JSON.parse(process.env.LISTENERS)) {
  if (protocol === "udp") {
    const socket = dgram.createSocket(net.isIPv6(host) ? "udp6" : "udp4");
    socket.on("message", (_, { address, port: from }) => socket.send(WORD, from, address));
    socket.bind(port, host);
    await once(socket, "listening");
  } else {
    const server = net.createServer((socket) => socket.on("error", () => {}).end(WORD));
    await once(server.listen(port, host), "listening");
  }
}
process.stdout.write("listening\n");
if (process.env.ENDS_WITH_INPUT) process.stdin.resume().on("end", () => process.exit());

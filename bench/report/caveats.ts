/** What is compared with what, in words. */
export const CAVEATS = `## How to read this

**The work.** A client sends a small JSON job by HTTP, it goes through a durable queue to a worker in another
process, the worker answers at once, and the result goes back by HTTP. All contestants do it on one machine, in
turns within one run, under the same load driver in a process of its own, with a connection per client. Client,
service, queue and worker share the cores, so throughput is that of the whole, and figures of different machines
cannot be compared; ratios can, with care. Each figure is a median over rounds.

- **edgerun** is what \`npm start\` runs (the deployed bundle in workerd, SQLite on disk, an fsync before every
  answer), with authentication, validation and rate limits on. Its worker is a scripted agent: one process that
  speaks the real agent protocol, offers 64 slots and answers jobs itself.
- **edgerun-whole** adds the real agent, with its journal on disk, and eight real worker processes of
  \`examples/hello\` with one slot each. It is how Edgerun is used, and BullMQ has nothing like it: containers,
  crashes and scaling are not part of the other services. Hence it is shown, and not compared.
- **bullmq-always** is a Hono service on Node with BullMQ on Redis, with \`appendonly yes\` and
  \`appendfsync always\`: what it has accepted survives a power failure, as with Edgerun. Its worker is one process
  with concurrency 64.
- **bullmq-memory** is the same on a Redis that writes nothing to disk.

**In favour of BullMQ.** It has no rate limits, its \`health\` does not know workers, its \`status\` says nothing of
the position in the queue, its \`cancel\` removes the job instead of keeping a cancelled one, and its service is one
process that knows one queue. It has no streams; a chunk is the progress of the job, sent on as an event.

**In favour of Edgerun.** Its agent takes many jobs in one call and reports them together; that is its protocol, but
a scripted agent does it better than a real one. Its endpoint has 256 ready workers so that its limits, which grow
with workers, do not end a load; only one of them takes jobs. Edgerun writes all requests that come together in one
commit; Redis does the same for commands that reach it together.

**Not what Cloudflare will show.** Locally the way from script to object takes no time, an fsync stands for
replication, and all objects of a process share one thread.

**Depth.** The jobs ahead are real rows: Edgerun's are copied from a submitted job while it is stopped, BullMQ's are
added in bulk. No worker takes them while submit, status, cancel and health are measured. 995,000 is the deepest,
because a queue rejects the job after the millionth. Edgerun is restarted at each depth, and warmed up.

**Wake.** The whole edge is killed and started, and other endpoints are asked first. What remains in the figure is
the look-up of the endpoint in D1, the start of its object, opening the file and recovering the ledger.

**Cost.** Requests, rows and object time are counted by meters around the real script and objects, with the real
agent and four real workers; prices are Cloudflare's list prices beyond all allotments. An object counts as awake
while at least one call is inside it; what the runtime adds to that before it sleeps is not counted. What an idle
endpoint uses anyway is taken off the figures of jobs and shown by itself. The removal of a runsync
job, a minute later, is measured; that of a run job, half an hour later, is added as one row. Webhooks are sent by the object to a
receiver that takes them at once. A Worker request
is taken to need 1 ms of processor time. Rows of D1 are not counted; none is on the way of
a job.
`;

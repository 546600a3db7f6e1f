import { describe, test } from "vitest";
import { FRAME } from "../../src/link/link-frame.ts";
import { ENDPOINT, LinkFixture } from "../support/link-fixture.ts";

describe("a link", () => {
  test("exists while its endpoint has workers here, and names those that take requests", async ({
    expect,
  }) => {
    await using host = await LinkFixture.create();
    await host.open();
    expect(host.link.asked).toEqual([ENDPOINT]);
    expect(host.link.said).toEqual([[]]);
    await host.worker("w1", () => {});
    await host.worker("w2", () => {});
    host.links.admissionChanged(ENDPOINT); // nothing new
    host.admission.ports.delete("w1");
    host.links.admissionChanged(ENDPOINT);
    await host.link.until(() => host.link.said.at(-1)?.[0] === "w2" && host.link.said.at(-1)?.length === 1);
    expect(host.link.said).toEqual([[], ["w1"], ["w1", "w2"], ["w2"]]);
    host.links.keep([]);
    await host.link.until(() => !host.link.isOpen);
    expect(host.link.said.at(-1)).toEqual([]);
    expect(host.link.violations).toEqual([]);
  });

  test("that breaks is opened again, and names its workers again", async ({ expect }) => {
    await using host = await LinkFixture.start((_, response) => response.end("x"));
    host.link.drop();
    await host.link.until(() => host.link.said.length === 2);
    expect(host.link.said).toEqual([["w1"], ["w1"]]);
    expect((await host.link.request("w1").over()).text).toBe("x");
  });

  test("that breaks cuts its requests: their workers see that", async ({ expect }) => {
    let closed = 0;
    await using host = await LinkFixture.start((request, response) => {
      response.on("close", () => {
        closed += 1;
        host.link.changed();
      });
      request.resume();
      if (request.url === "/begun") response.write("begun");
    });
    const begun = host.link.request("w1", { target: "/begun" });
    host.link.request("w1", { method: "POST" }, "follows");
    await begun.received("begun");
    await host.link.until(() => host.admission.inside === 2);
    host.link.drop();
    await host.link.until(() => closed === 2);
    await host.quiet();
    expect(host.admission.suspected).toEqual([]);
  });

  test.for([400, 404])(
    "that the edge refuses with %i is tried again later, with a line in the log",
    async (status, { expect }) => {
      await using host = await LinkFixture.create({ linkRefusedMs: 600_000 });
      await using other = await LinkFixture.create({ linkRefusedMs: 50 });
      for (const { link, links } of [host, other]) {
        link.errorStatus = status;
        links.keep([ENDPOINT]);
      }
      await other.link.until(() => other.link.asked.length === 4);
      await host.link.until(() => host.events.includes("link_refused"));
      expect(host.link.asked).toHaveLength(1);
      expect(other.events).not.toContain("edge_unreachable");
      other.link.errorStatus = null;
      await other.link.until(() => other.link.isOpen);
      expect(host.unauthorized + other.unauthorized).toBe(0);
    },
  );

  test("whose edge is in trouble is tried again soon", async () => {
    await using host = await LinkFixture.create({ linkRefusedMs: 600_000 });
    host.link.errorStatus = 503;
    host.links.keep([ENDPOINT]);
    await host.link.until(() => host.link.asked.length === 3);
    host.link.errorStatus = null;
    await host.link.until(() => host.link.isOpen);
  });

  test("with a token that is no longer accepted logs it", async () => {
    await using host = await LinkFixture.create();
    host.link.errorStatus = 401;
    host.links.keep([ENDPOINT]);
    await host.link.until(() => host.unauthorized > 0);
  });

  test("with an invalid message is closed, and opened again", async ({ expect }) => {
    await using host = await LinkFixture.start((_, response) => response.end("x"));
    host.link.sendRaw(Buffer.from("garbage"));
    await host.link.until(() => host.link.said.length === 2);
    expect((await host.link.request("w1").over()).text).toBe("x");
  });

  test("sends heartbeats only while it has requests", async ({ expect }) => {
    const held: (() => void)[] = [];
    await using host = await LinkFixture.start((_, response) => void held.push(() => response.end("x")), {
      linkBeatMs: 50,
    });
    const stream = host.link.request("w1");
    await host.link.until(() => host.link.beats === 2);
    held[0]?.();
    await stream.over();
    const { length } = host.link.messages;
    const beats = host.link.beats;
    // A second link that beats shows how long this one has been silent.
    await using other = await LinkFixture.start(() => {}, { linkBeatMs: 50 });
    other.link.request("w1");
    await other.link.until(() => other.link.beats === 4);
    expect(host.link.beats).toBe(beats);
    expect(host.link.messages).toHaveLength(length);
  });

  test("that is half open is noticed by its pings, and opened again", async ({ expect }) => {
    await using host = await LinkFixture.create({ linkPingMs: 100 });
    host.link.isSilent = true;
    await host.open();
    await host.link.until(() => host.link.said.length === 2);
    expect(host.link.pings).toBeGreaterThanOrEqual(1);
    expect(host.link.frames.every(({ type }) => type === FRAME.WORKERS)).toBe(true);
  });
});

describe("an agent that stops", () => {
  test("takes no more requests, and waits for running ones to end", async ({ expect }) => {
    const held: (() => void)[] = [];
    await using host = await LinkFixture.start((_, response) => {
      held.push(() => response.end("whole"));
      host.link.changed();
    });
    const stream = host.link.request("w1");
    await host.link.until(() => held.length > 0);
    const stopped = host.links.stop(60_000);
    await host.link.until(() => host.link.said.at(-1)?.length === 0);
    expect(stream.isOver).toBe(false);
    held[0]?.();
    await stream.over();
    await stopped;
    await host.link.until(() => !host.link.isOpen);
    expect(stream.text).toBe("whole");
    expect(host.link.asked).toHaveLength(1);
  });

  test("ends running requests after the grace period, with a reason", async ({ expect }) => {
    await using host = await LinkFixture.start((_, response) => response.writeHead(200).write("begun"));
    const stream = host.link.request("w1");
    await stream.received("begun");
    await host.links.stop(0);
    await stream.over();
    expect(stream.reset).toEqual({ reason: "worker_failed", detail: "The agent of the host was stopped." });
    expect(host.link.said.at(-1)).toEqual([]);
    await host.quiet();
  });

  test("while its link is away does not open it again", async ({ expect }) => {
    await using host = await LinkFixture.create({ edgeRetryBaseMs: 100 });
    host.link.errorStatus = 503;
    host.links.keep([ENDPOINT]);
    await host.link.until(() => host.link.asked.length === 1);
    await host.links.stop(1_000);
    await using other = await LinkFixture.create({ edgeRetryBaseMs: 100 });
    other.link.errorStatus = 503;
    other.links.keep([ENDPOINT]);
    await other.link.until(() => other.link.asked.length === 4);
    expect(host.link.asked).toHaveLength(1);
  });
});

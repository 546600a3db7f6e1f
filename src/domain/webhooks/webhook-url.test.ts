import { describe, test } from "vitest";
import { webhookUrlIssue } from "./webhook-url.ts";

const PUBLIC = [
  "https://example.com/hook",
  "http://example.com:8080/hook?token=1",
  "https://93.184.216.34/",
  "https://[2606:2800:220:1::1]/",
  "https://local.example.com/",
  "https://internal.dev/",
  "https://example.com./",
];

const PRIVATE = {
  loopback: "http://127.0.0.1/",
  "loopback, another": "http://127.8.9.10/",
  "loopback, decimal": "http://2130706433/",
  "loopback, hex": "http://0x7f000001/",
  "loopback, octal": "http://0177.0.0.1/",
  "loopback, short": "http://127.1/",
  "loopback, IPv6": "http://[::1]/",
  "loopback, mapped": "http://[::ffff:127.0.0.1]/",
  "loopback, mapped in hex": "http://[::ffff:7f00:1]/",
  "loopback, translated": "http://[64:ff9b::7f00:1]/",
  "loopback, compatible": "http://[::127.0.0.1]/",
  "loopback, 6to4": "http://[2002:7f00:1::]/",
  "loopback, full width": "http://１２７.0.0.1/",
  unspecified: "http://0.0.0.0/",
  "unspecified, IPv6": "http://[::]/",
  "private 10": "http://10.0.0.1/",
  "private 172": "http://172.31.255.255/",
  "private 192": "http://192.168.1.1/",
  "unique local": "http://[fd00::1]/",
  "shared by carriers": "http://100.64.0.1/",
  "link-local": "http://169.254.1.1/",
  "link-local, IPv6": "http://[fe80::1]/",
  metadata: "http://169.254.169.254/latest/meta-data/",
  "metadata, at a public address": "http://168.63.129.16/",
  "metadata, among shared ones": "http://100.100.100.200/",
  "metadata, among reserved ones": "http://192.0.0.192/",
  "metadata, IPv6": "http://[fd00:ec2::254]/",
  "metadata, by name": "http://metadata.google.internal/",
  multicast: "http://224.0.0.1/",
  "multicast, IPv6": "http://[ff02::1]/",
  broadcast: "http://255.255.255.255/",
  localhost: "http://localhost:3000/",
  "localhost, in capitals": "http://LOCALHOST/",
  "localhost, in its domain": "http://localhost.localdomain/",
  "localhost, rooted": "http://localhost./",
  "below localhost": "http://app.localhost/",
  "below local": "http://printer.local/",
  "below internal, rooted": "http://db.internal./",
  "below home.arpa": "http://nas.home.arpa/",
  "a name without a dot": "http://redis:6379/",
};

describe("addresses that are called", () => {
  test.for(PUBLIC)("%s", (url, { expect }) => {
    expect(webhookUrlIssue(new URL(url), false)).toBeNull();
  });
});

describe("addresses that are not", () => {
  test.for(Object.entries(PRIVATE))("%s: %s", ([, url], { expect }) => {
    expect(webhookUrlIssue(new URL(url), false)).toContain("public");
    expect(webhookUrlIssue(new URL(url), true)).toBeNull();
  });

  test.for(["https://user@example.com/", "https://:secret@example.com/"])(
    "with credentials: %s",
    (url, { expect }) => {
      expect(webhookUrlIssue(new URL(url), true)).toContain("password");
    },
  );

  test.for(["ftp://example.com/", "file:///etc/passwd"])("of another protocol: %s", (url, { expect }) => {
    expect(webhookUrlIssue(new URL(url), true)).toContain("https");
  });
});

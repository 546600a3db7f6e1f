/**
 * The outbox: pending deliveries, and the log of completed ones.
 *
 * Deliveries are stored on pages, one row each, since a row per delivery would cost as much as a transition of the job.
 *
 * O1  The row of a job that ends names the page of its delivery, in the same write. The page itself is written with the
 *     first outcome on it, or in the turn of a checkpoint; until then the ledger finds the job again (L8).
 * O2  Outcomes stay in memory for a moment and are written together with other changes of the page. A lost one costs a
 *     repeated call, which receivers recognise by the delivery's id.
 * O3  A page is open while something on it is pending or while it is being filled. After a restart the open pages are
 *     read, and those that jobs name which the ledger has found.
 * O4  A pending delivery whose job is gone, or was queued again, is dropped by the sender at the latest; nothing is
 *     written for it before. So pages may name several ends of a job, of which only the last one counts.
 * O5  At most WEBHOOK_PENDING_MAX deliveries are pending: a receiver that never answers must not fill the memory.
 * O6  A page is removed when all its jobs are gone, and a checkpoint is written with that: no job names a page that is
 *     gone, unless its delivery was never written.
 */
import {
  afterAttempt,
  droppedDelivery,
  newDelivery,
  redelivered,
  type Delivery,
  type WebhookAttempt,
} from "../../domain/webhooks/webhook-delivery.ts";
import { earliest } from "../../std/earliest.ts";
import type { JobEnd, NotedEnd } from "../queue/queue.ts";
import type { PageRow, WebhookStore } from "./webhook-store.ts";

/** Pending deliveries of one endpoint, all in memory; further ones fail without a call. */
const WEBHOOK_PENDING_MAX = 100_000;

/** Time after which pending deliveries are checked again, in case the object has lost its memory. */
export const WEBHOOK_RECHECK_MS = 60_000;

const PAGE_DELIVERIES = 64;
const SWEEP_PAGES = 1_000;

type Page = {
  readonly number: number;
  /** By sequence number; a later end of a job replaces an earlier one. */
  readonly deliveries: Map<number, Delivery>;
  removeAt: number;
  pending: number;
  /** `is_open` of the row; null when there is no row yet. */
  wasOpen: boolean | null;
};

export class WebhookOutbox {
  readonly #store: WebhookStore;
  readonly #pendingMax: number;
  /** Open pages. */
  readonly #pages = new Map<number, Page>();
  /** The page of each pending delivery, by job. */
  readonly #pageOf = new Map<number, Page>();
  /** Due deliveries by host; hosts take turns in the order of the map. */
  readonly #ready = new Map<string, Set<number>>();
  /** Deliveries that wait for their next attempt, the earliest first. */
  readonly #waiting = new Set<number>();
  readonly #sending = new Set<number>();
  /** Pages to be written in this turn. */
  readonly #changed = new Set<Page>();
  /** Pages with outcomes that are not written yet. */
  readonly #unsaved = new Set<Page>();
  /** Pages with deliveries that only the rows of their jobs note (O1). */
  readonly #noted = new Set<Page>();
  #filling: Page | null = null;
  #addedAt = Number.NEGATIVE_INFINITY;
  #lastNumber = 0;

  constructor(store: WebhookStore, pendingMax = WEBHOOK_PENDING_MAX) {
    this.#store = store;
    this.#pendingMax = pendingMax;
  }

  /** Reads what is pending after memory was lost. `ends`: those since the last checkpoint, and maybe some before. */
  recover(ends: readonly NotedEnd[], now: number): void {
    this.#lastNumber = this.#store.lastClosed();
    const pages = this.#store.openPages().map((row) => this.#load(row, true));
    this.#lastNumber = Math.max(this.#lastNumber, pages.at(-1)?.number ?? 0);
    for (const end of ends) this.#restore(end, now);
    const open = [...this.#pages.values()].toSorted((a, b) => a.number - b.number);
    this.#filling = open.findLast((page) => !isFull(page)) ?? null;
    const pending = this.#pendingOn(open).toSorted((a, b) => a.nextAt - b.nextAt);
    for (const { page, delivery } of pending) this.#schedule(page, delivery, now);
  }

  /** Puts the delivery of an end on its page, unless the page was written with it. */
  #restore(noted: NotedEnd, now: number): void {
    const known = this.#pages.get(noted.page);
    if (!known && this.#store.closedPage(noted.page)) return; // it was full, and all of it done
    const page = known ?? this.#begin(noted.page);
    const written = page.deliveries.get(noted.seq);
    if (written && written.end >= noted.end) return;
    this.#note(page, { ...noted, webhook: noted.webhook() }, now);
  }

  /** Pending deliveries; of a job that ended several times, the last one, which is on the last page (O4). */
  #pendingOn(pages: readonly Page[]): { page: Page; delivery: Delivery; nextAt: number }[] {
    const latest = new Map<number, { page: Page; delivery: Delivery; nextAt: number }>();
    for (const page of pages) {
      for (const delivery of page.deliveries.values()) {
        const { seq, nextAt } = delivery;
        if (nextAt !== null) latest.set(seq, { page, delivery, nextAt });
      }
    }
    return [...latest.values()];
  }

  // In a turn

  /** The page on which the next delivery will be. */
  pageFor(now: number): number {
    return this.#filling && !isFull(this.#filling)
      ? this.#filling.number
      : Math.max(this.#lastNumber + 1, now);
  }

  /** Adds the delivery for the end of a job. */
  add(end: JobEnd, now: number): void {
    this.#addedAt = now;
    this.withdraw(end.seq); // a pending one of an earlier end
    const page = this.#pageToFill(now);
    const delivery = this.#note(page, end, now);
    if (delivery.nextAt !== null) this.#schedule(page, delivery, now);
    else this.#changed.add(page);
  }

  /** Puts the delivery of an end on a page, without a write. */
  #note(page: Page, { seq, end, webhook, goneAt }: JobEnd, now: number): Delivery {
    page.removeAt = Math.max(page.removeAt, goneAt);
    const job = { seq, end, host: new URL(webhook).host };
    const hasCapacity = this.#pageOf.size < this.#pendingMax;
    const delivery = hasCapacity ? newDelivery(job, now) : droppedDelivery(job, now);
    page.deliveries.set(seq, delivery);
    this.#noted.add(page);
    return delivery;
  }

  /** Repeats a completed delivery, or brings a pending one forward. */
  redeliver(pageNumber: number, seq: number, end: number, now: number): Delivery | undefined {
    const found = this.find(pageNumber, seq, end);
    if (!found || this.#sending.has(seq)) return found;
    const page = this.#pages.get(pageNumber) ?? this.#reopen(pageNumber);
    if (!page) return undefined;
    this.withdraw(seq);
    const delivery = redelivered(found, now);
    page.deliveries.set(seq, delivery);
    this.#changed.add(page);
    this.#schedule(page, delivery, now);
    return delivery;
  }

  /** The job is gone: its pending delivery is dropped. */
  withdraw(seq: number): void {
    const page = this.#pageOf.get(seq);
    const delivery = page?.deliveries.get(seq);
    if (page && delivery) this.#end(page, { ...delivery, nextAt: null });
  }

  /** Writes the pages that changed; to be called once, at the end of a turn. */
  save(): void {
    for (const page of this.#changed) this.#write(page);
    this.#changed.clear();
  }

  /** Lets this turn write the outcomes. */
  flush(): void {
    for (const page of this.#unsaved) this.#changed.add(page);
  }

  /** Lets this turn write all that memory has and no page. */
  flushAll(): void {
    this.flush();
    for (const page of this.#noted) this.#changed.add(page);
  }

  /** Removes pages whose jobs are gone, in a bounded batch; returns whether there were some. */
  sweep(now: number): boolean {
    const over = [...this.#pages.values()].filter((page) => page.pending === 0 && page.removeAt <= now);
    for (const page of over) {
      if (page.wasOpen !== null) this.#store.remove(page.number, page.wasOpen);
      this.#forget(page);
    }
    return this.#store.removeClosed(now, SWEEP_PAGES) > 0 || over.length > 0;
  }

  // Sending

  get hasUnsaved(): boolean {
    return this.#unsaved.size > 0;
  }

  /** Deliveries that are underway, and pages with unwritten outcomes. */
  get openCount(): number {
    return this.#ready.size + this.#sending.size + this.#unsaved.size;
  }

  /** When the alarm must ring: for the next attempt, or in case memory is lost before. */
  nextAt(now: number): number | null {
    const [first] = this.#waiting;
    const waitsUntil = first === undefined ? null : this.#pending(first)?.nextAt;
    return earliest([waitsUntil ?? null, this.isUnderway ? now + WEBHOOK_RECHECK_MS : null]);
  }

  /** Whether a delivery is due, or its receiver is being called. */
  get isUnderway(): boolean {
    return this.#ready.size + this.#sending.size > 0;
  }

  /** Whether a job has ended with a webhook after `at`. */
  addedSince(at: number): boolean {
    return this.#addedAt > at;
  }

  /** Whether something could be sent at once. */
  get isReady(): boolean {
    return this.#ready.size > 0;
  }

  /** Takes out the next due delivery, of the host that `choose` returns. */
  take(now: number, choose: (hosts: Iterable<string>) => string | undefined): Delivery | undefined {
    this.#wakeWaiting(now);
    const host = choose(this.#ready.keys());
    const ready = host === undefined ? undefined : this.#ready.get(host);
    const [seq] = ready ?? [];
    if (host === undefined || !ready || seq === undefined) return undefined;
    ready.delete(seq);
    this.#ready.delete(host);
    if (ready.size > 0) this.#ready.set(host, ready); // behind the others
    this.#sending.add(seq);
    return this.#pending(seq);
  }

  /** Records the outcome of an attempt; null drops the delivery. */
  settle(sent: Delivery, attempt: WebhookAttempt | null, now: number): void {
    const page = this.#pageOf.get(sent.seq);
    const delivery = page?.deliveries.get(sent.seq);
    if (!page || delivery?.end !== sent.end) return; // withdrawn while it was sent
    this.#sending.delete(sent.seq);
    const next = attempt ? afterAttempt(delivery, attempt) : { ...delivery, nextAt: null };
    if (next.nextAt === null) return this.#end(page, next);
    page.deliveries.set(next.seq, next);
    this.#unsaved.add(page);
    page.pending -= 1;
    this.#schedule(page, next, now);
  }

  // Reading

  /** The delivery of a job's end. */
  find(pageNumber: number, seq: number, end: number): Delivery | undefined {
    const page = this.#pages.get(pageNumber);
    const row = page ? undefined : this.#store.closedPage(pageNumber);
    const delivery = page ? page.deliveries.get(seq) : row && readDeliveries(row).find((d) => d.seq === seq);
    return delivery?.end === end ? delivery : undefined;
  }

  // Steps

  #pending(seq: number): Delivery | undefined {
    return this.#pageOf.get(seq)?.deliveries.get(seq);
  }

  #schedule(page: Page, delivery: Delivery, now: number): void {
    const { seq, host, nextAt } = delivery;
    page.pending += 1;
    this.#pageOf.set(seq, page);
    if (nextAt !== null && nextAt > now) this.#waiting.add(seq);
    else this.#makeReady(host, seq);
  }

  #makeReady(host: string, seq: number): void {
    const ready = this.#ready.get(host) ?? new Set();
    this.#ready.set(host, ready.add(seq));
  }

  #wakeWaiting(now: number): void {
    for (const seq of this.#waiting) {
      const delivery = this.#pending(seq);
      if (delivery && (delivery.nextAt ?? 0) > now) return;
      this.#waiting.delete(seq);
      if (delivery) this.#makeReady(delivery.host, seq);
    }
  }

  #end(page: Page, delivery: Delivery): void {
    const { seq, host } = delivery;
    page.deliveries.set(seq, delivery);
    page.pending -= 1;
    this.#pageOf.delete(seq);
    this.#waiting.delete(seq);
    this.#sending.delete(seq);
    const ready = this.#ready.get(host);
    if (ready?.delete(seq) && ready.size === 0) this.#ready.delete(host);
    this.#unsaved.add(page);
  }

  // Pages

  #pageToFill(now: number): Page {
    if (this.#filling && !isFull(this.#filling)) return this.#filling;
    this.#filling = this.#begin(this.pageFor(now));
    return this.#filling;
  }

  #begin(number: number): Page {
    const page: Page = { number, deliveries: new Map(), removeAt: 0, pending: 0, wasOpen: null };
    this.#lastNumber = Math.max(this.#lastNumber, number);
    this.#pages.set(number, page);
    return page;
  }

  #load(row: PageRow, wasOpen: boolean): Page {
    const deliveries = new Map(readDeliveries(row).map((delivery) => [delivery.seq, delivery]));
    const page: Page = { number: row.page, deliveries, removeAt: row.removeAt, pending: 0, wasOpen };
    this.#pages.set(page.number, page);
    return page;
  }

  #reopen(number: number): Page | undefined {
    const row = this.#store.closedPage(number);
    return row && this.#load(row, false);
  }

  #write(page: Page): void {
    const isOpen = page.pending > 0 || (page === this.#filling && !isFull(page));
    const deliveries = JSON.stringify([...page.deliveries.values()]);
    if (page.wasOpen === null) this.#store.insert(page.number, isOpen, page.removeAt, deliveries);
    else this.#store.update(page.number, page.wasOpen, isOpen, page.removeAt, deliveries);
    page.wasOpen = isOpen;
    this.#unsaved.delete(page);
    this.#noted.delete(page);
    if (!isOpen) this.#forget(page);
  }

  #forget(page: Page): void {
    this.#pages.delete(page.number);
    this.#unsaved.delete(page);
    this.#noted.delete(page);
    this.#changed.delete(page);
    if (this.#filling === page) this.#filling = null;
  }
}

function isFull({ deliveries }: Page): boolean {
  return deliveries.size >= PAGE_DELIVERIES;
}

function readDeliveries({ deliveries }: PageRow): Delivery[] {
  return JSON.parse(deliveries) as Delivery[];
}

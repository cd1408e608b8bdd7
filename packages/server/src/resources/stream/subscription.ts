import { isAppError, longestTimerMilliseconds } from '@davit/base';
import type { Caller } from '../../auth/caller.ts';
import type { Outlet } from '../../http/outlet.ts';
import type { Admitted, Stream } from '../../http/call.ts';
import { done, failedInside, resetMessage, revocationOf, stopping, tooSlow, type End } from './ends.ts';
import type { Batch, Boundary, StreamHub } from './hub.ts';
import { presentState, wire, type LogScope } from './message.ts';
import { encodePosition, type Position } from './position.ts';
import type { Page, ReaderDeps, StreamReader, SentEvent } from './reader.ts';
import { keyOf, type SharedPages } from './shared-pages.ts';
import type { EventRow } from './store.ts';
import { Wake } from './wake.ts';
import { concerns, readsAll, type Watch } from './watch.ts';

export interface SubscriptionParts {
  readonly hub: StreamHub;
  readonly reader: StreamReader;
  readonly pages: SharedPages;
  readonly deps: ReaderDeps;
  readonly heartbeatMilliseconds: number;
  readonly patienceMilliseconds: number;
  readonly log: { warn(details: object, message: string): void };
}

export interface SubscriptionRequest {
  readonly watch: Watch;
  readonly caller: Caller;
  /** Position to resume from; null: begins with new events. */
  readonly position: Position | null;
  readonly admit: () => Promise<Admitted>;
}

interface Writer {
  add(one: SentEvent): Promise<boolean>;
  flush(): Promise<boolean>;
}

/** The rows of a page that the caller could read when they were chosen. */
interface ChosenRows {
  readonly rows: readonly EventRow[];
  readonly page: Page;
  /** Returns whether the caller may read all of them now. */
  readonly mayRead: () => boolean;
}

const textAtOnce = 32_768;
const retryMilliseconds = 1000;
const finished: ReadonlySet<unknown> = new Set(['SUCCEEDED', 'FAILED', 'CANCELED', 'WITHDRAWN']);

/**
 * One stream, which sends events at the pace of its client. It holds at most one page and the text being written,
 * however slow the client is. It remembers its position, and reads from the database itself when the hub no
 * longer keeps the next events.
 */
export class Subscription implements Stream {
  readonly patienceMilliseconds: number;
  readonly farewell = wire({ event: 'END', data: tooSlow });
  readonly #parts: SubscriptionParts;
  readonly #requested: SubscriptionRequest;
  readonly #onClosed: () => void;
  /** See `keyOf`. */
  readonly #key: string | null;
  #caller: Caller;
  /**
   * State of a deployment's stream. `ending`: the deployment has ended, and the stream ends when there are no more
   * events.
   */
  #phase: 'new' | 'live' | 'ending' = 'new';
  /** Time of the last write, from performance.now(). */
  #wroteAt = performance.now();
  /** Set by `#begin`. */
  #position: Position = { seen: { xmin: 0, xmax: 0, underway: [] } };
  #at: Boundary | undefined;
  #isAdmitted = false;
  #end: End | undefined;
  readonly #news = new Wake();
  #expiry: NodeJS.Timeout | undefined;

  /** Calls `onClosed` once, when the stream has ended. */
  constructor(parts: SubscriptionParts, requested: SubscriptionRequest, onClosed: () => void) {
    this.#parts = parts;
    this.#requested = requested;
    this.#caller = requested.caller;
    this.#key = keyOf(requested.watch);
    this.#onClosed = onClosed;
    this.patienceMilliseconds = parts.patienceMilliseconds;
  }

  /** Checks the rights again before the next event is sent. */
  recheck(): void {
    this.#isAdmitted = false;
    this.#news.wake();
  }

  /** Ends the stream soon, with the reason. */
  stop(): void {
    this.#end ??= stopping;
    this.#news.wake();
  }

  async run(outlet: Outlet): Promise<void> {
    const unfollow = this.#parts.hub.follow(() => this.#news.wake());
    const onGone = (): void => this.#news.wake();
    outlet.gone.addEventListener('abort', onGone);
    try {
      await this.#send(outlet);
    } finally {
      outlet.gone.removeEventListener('abort', onGone);
      clearTimeout(this.#expiry);
      unfollow();
      if (this.#end !== undefined) outlet.end(wire({ event: 'END', data: this.#end }));
      this.#onClosed();
    }
  }

  async #send(outlet: Outlet): Promise<void> {
    let isBegun = false;
    while (this.#end === undefined && !outlet.gone.aborted) {
      try {
        await this.#admit();
        if (!isBegun) await this.#begin(outlet);
        isBegun = true;
        await this.#step(outlet);
      } catch (error) {
        await this.#onFailure(error);
      }
    }
  }

  async #onFailure(error: unknown): Promise<void> {
    const revocation = revocationOf(error);
    if (revocation !== null) {
      this.#end = revocation;
      return;
    }
    // The database or the issuer is unreachable. The position is kept, so the stream resumes when it is reachable
    // again.
    if (isAppError(error)) return this.#news.wait(retryMilliseconds);
    this.#parts.log.warn({ err: error }, 'a stream failed');
    this.#end = failedInside;
  }

  async #admit(): Promise<void> {
    if (this.#isAdmitted) return;
    // If the rights change during the check, they are checked once more.
    this.#isAdmitted = true;
    try {
      const { caller, expiresAt } = await this.#requested.admit();
      this.#caller = caller;
      clearTimeout(this.#expiry);
      this.#expiry = setTimeout(
        () => this.recheck(),
        Math.min(longestTimerMilliseconds, Math.max(0, expiresAt - Date.now()) + 1),
      );
    } catch (error) {
      this.#isAdmitted = false;
      throw error;
    }
  }

  async #begin(outlet: Outlet): Promise<void> {
    const { position } = this.#requested;
    const isKnown = position !== null && (await this.#isKnown(position));
    if (isKnown) this.#position = position;
    else await this.#beginAnew();
    // Standard clients reconnect after this time.
    await outlet.write(`retry: ${retryMilliseconds}\n${wire({ event: 'OPEN', data: { resumed: isKnown } }, this.#id())}`);
    if (position !== null && !isKnown) await outlet.write(wire({ event: 'RESET', data: { message: resetMessage } }));
    if (!isKnown) await this.#sendPresentState(outlet);
  }

  async #isKnown(position: Position): Promise<boolean> {
    const head = await this.#parts.hub.headBehind(position.within?.upTo ?? position.seen);
    return head !== undefined && this.#parts.reader.isKept(position);
  }

  async #beginAnew(): Promise<void> {
    const { hub, reader } = this.#parts;
    const head = await hub.headBehind();
    if (head === undefined) throw new Error('the stream has no head');
    const { log } = this.#requested.watch;
    const seen = head.snapshot;
    if (log === undefined) {
      this.#at = head;
      this.#position = { seen };
      return;
    }
    this.#at = undefined;
    const line = log.kind === 'SERVICE_LOG' ? await reader.startOfLines(await this.#logScope(log), seen, log.tail) : 0;
    this.#position = { seen, line };
  }

  /** Sends the current state of a deployment. Later events may repeat parts of this state. */
  async #sendPresentState(outlet: Outlet): Promise<void> {
    const { deploymentId, log } = this.#requested.watch;
    const { database, engine } = this.#parts.deps;
    if (deploymentId === undefined || log === undefined) return;
    const view = await engine.deployment(database, deploymentId);
    if (view === null) return;
    const steps = await engine.deploymentSteps(database, deploymentId);
    for (const event of presentState(view, steps, log.environment.projectId)) await outlet.write(wire(event));
  }

  async #logScope(log: NonNullable<Watch['log']>): Promise<LogScope> {
    const { deploymentId = null, serviceIds } = this.#requested.watch;
    const { database, engine } = this.#parts.deps;
    const view = deploymentId === null ? null : await engine.deployment(database, deploymentId);
    return { ...log.environment, deploymentId, serviceId: serviceIds?.[0] ?? null, executionId: view?.executionId ?? null };
  }

  #id(): string {
    return encodePosition(this.#position);
  }

  async #step(outlet: Outlet): Promise<void> {
    const { log } = this.#requested.watch;
    if (this.#position.line !== undefined && log !== undefined) return this.#sendOldLines(outlet, log);
    const page = await this.#nextPage();
    if (page === 'head') return this.#onHead(outlet);
    if (page === null) return this.#reset(outlet);
    if (page.batch !== undefined && this.#key !== null && readsAll(this.#caller))
      return this.#sendShared(outlet, page, { batch: page.batch, key: this.#key });
    await this.#sendPage(outlet, page);
  }

  /** Returns the next page, `head` if there are no new events, or null if the next events are no longer kept. */
  async #nextPage(): Promise<Page | 'head' | null> {
    const { hub, reader } = this.#parts;
    const { watch } = this.#requested;
    const { within, seen } = this.#position;
    if (within !== undefined) return reader.page(watch, this.#position, within.upTo);
    const batch = this.#at === undefined ? undefined : hub.batchAfter(this.#at);
    if (batch === 'head') return 'head';
    if (batch !== undefined) {
      const { from, to, events } = batch;
      return { events, from: from.snapshot, upTo: to.snapshot, isWhole: true, to, batch };
    }
    // The hub no longer keeps the events after this boundary. The stream reads them itself and rejoins the hub at its
    // head.
    if (this.#at !== undefined) this.#position = { seen: this.#at.snapshot };
    this.#at = undefined;
    const head = await hub.headBehind(seen);
    if (head === undefined) return null;
    const page = await reader.page(watch, this.#position, head.snapshot);
    return page === null ? null : { ...page, to: head };
  }

  /** Sends a whole page as the text that all streams with the same key share. */
  async #sendShared(outlet: Outlet, page: Page, { batch, key }: { batch: Batch; key: string }): Promise<void> {
    const text = await this.#parts.pages.text(batch, this.#requested.watch, key);
    if (text === null) return this.#sendPage(outlet, page);
    if (text.length > 0 && !(await this.#write(outlet, text, () => readsAll(this.#caller)))) return;
    if (!this.#isOver(outlet)) this.#advance(page);
  }

  async #sendPage(outlet: Outlet, page: Page): Promise<void> {
    const { watch } = this.#requested;
    const { within } = this.#position;
    const rows = page.events.filter((row) => concerns(watch, this.#caller, row));
    const wanted = rows.filter(({ kind }) => watch.kinds.has(kind));
    const reported: Page = { ...page, events: wanted };
    // The rights may change while the client reads a page. The rest of the page is then chosen anew.
    const mayRead = (): boolean => rows.every((row) => concerns(watch, this.#caller, row));
    // State words are sent before the events that caused them, and without an id: a client that is disconnected in
    // between receives them again.
    if (!(await this.#sendEnvironmentStates(outlet, { rows, page, mayRead }))) return;
    const writer = this.#writer(outlet, mayRead);
    for (const row of wanted) {
      const parts = within?.sequence === row.sequence ? within.parts : 0;
      for await (const one of this.#parts.reader.texts(watch, row, reported, parts)) {
        if (!(await writer.add(one)) || this.#isOver(outlet)) return;
      }
      if (row.kind === 'DEPLOYMENT' || row.kind === 'QUEUE') this.#noteEnd(row);
    }
    if ((await writer.flush()) && !this.#isOver(outlet)) this.#advance(page);
  }

  /**
   * Returns a writer that sends several events in one write. The position advances after each write, so that events are
   * not sent again if a later write fails. Both methods return false, and write nothing more, if the caller may no
   * longer read all of the page.
   */
  #writer(outlet: Outlet, mayRead: () => boolean = () => true): Writer {
    let text = '';
    let behind: Position | undefined;
    const flush = async (): Promise<boolean> => {
      if (behind === undefined) return true;
      if (!(await this.#write(outlet, text, mayRead))) return false;
      this.#position = behind;
      this.#at = undefined;
      text = '';
      behind = undefined;
      return true;
    };
    const add = async (one: SentEvent): Promise<boolean> => {
      text += one.text;
      behind = one.position;
      return text.length < textAtOnce || flush();
    };
    return { add, flush };
  }

  #isOver(outlet: Outlet): boolean {
    return this.#end !== undefined || outlet.gone.aborted;
  }

  /**
   * Writes a text, after checking rights that may have changed. Returns false, and writes nothing, if they do not
   * suffice.
   */
  async #write(outlet: Outlet, text: string | Buffer, mayRead: () => boolean = () => true): Promise<boolean> {
    await this.#admit();
    if (!mayRead()) return false;
    await outlet.write(text);
    this.#wroteAt = performance.now();
    return true;
  }

  #advance({ events, from, upTo, isWhole, to }: Page): void {
    const last = events.at(-1);
    if (!isWhole && last !== undefined) {
      this.#position = { seen: from, within: { upTo, sequence: last.sequence + 1, parts: 0 } };
      return;
    }
    this.#position = { seen: upTo };
    this.#at = to;
  }

  #noteEnd(row: EventRow): void {
    if (this.#requested.watch.deploymentId !== undefined && finished.has(row.fact['status'])) this.#end ??= done;
  }

  /** Returns false if the caller may no longer read all of the page. */
  async #sendEnvironmentStates(outlet: Outlet, { rows, page: { to }, mayRead }: ChosenRows): Promise<boolean> {
    const moment = to === undefined ? `of ${this.#id()}` : `${to.serial}`;
    for await (const text of this.#parts.reader.environmentTexts(this.#requested.watch, rows, moment))
      if (!(await this.#write(outlet, text, mayRead))) return false;
    return true;
  }

  async #sendOldLines(outlet: Outlet, log: NonNullable<Watch['log']>): Promise<void> {
    const { seen } = this.#position;
    const { lines, next } = await this.#parts.reader.oldLines(log.kind, await this.#logScope(log), this.#position);
    const writer = this.#writer(outlet);
    for (const { number, event } of lines) {
      const position = { seen, line: number };
      await writer.add({ text: wire(event, encodePosition(position)), position });
      if (this.#isOver(outlet)) return;
    }
    await writer.flush();
    this.#position = next === null ? { seen } : { seen, line: next };
  }

  async #reset(outlet: Outlet): Promise<void> {
    this.#phase = 'new';
    await this.#beginAnew();
    await outlet.write(wire({ event: 'RESET', data: { message: resetMessage } }, this.#id()));
    await this.#sendPresentState(outlet);
  }

  async #onHead(outlet: Outlet): Promise<void> {
    if (await this.#isAtEnd()) return;
    // The interval counts from the last write to this client. Events of other resources must not delay the heartbeat.
    const left = this.#wroteAt + this.#parts.heartbeatMilliseconds - performance.now();
    if (left > 0) return this.#news.wait(left);
    this.#isAdmitted = false;
    if (this.#at !== undefined) this.#position = { seen: this.#at.snapshot };
    // An id without data is not an event, but clients send this id when they reconnect.
    await this.#write(outlet, `: nothing new\nid: ${this.#id()}\n\n`);
  }

  /**
   * Returns whether the deployment had ended before the stream began. In this case all its events have been sent after
   * one more read of the hub.
   */
  async #isAtEnd(): Promise<boolean> {
    const { deploymentId } = this.#requested.watch;
    if (deploymentId === undefined || this.#phase === 'live') return false;
    if (this.#phase === 'ending') {
      this.#end ??= done;
      return true;
    }
    const { database, engine } = this.#parts.deps;
    const view = await engine.deployment(database, deploymentId);
    // From here on an event reports the end of the deployment.
    this.#phase = view !== null && !finished.has(view.status) ? 'live' : 'ending';
    if (this.#phase === 'ending') await this.#parts.hub.refresh();
    return this.#phase === 'ending';
  }
}

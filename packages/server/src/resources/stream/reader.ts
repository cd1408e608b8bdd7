import type { StreamData, StreamEvent } from '@davit/contract';
import type { Needs } from '../../deps.ts';
import { environmentWords } from '../deployment/index.ts';
import { isEvent, type Batch, type Boundary } from './hub.ts';
import { deploymentLine, linesOf, scopeOfRow, serviceLine, toEvent, wire, type LineEvent, type LogScope } from './message.ts';
import { encodePosition, parseSnapshot, sees, type Position, type Snapshot } from './position.ts';
import * as store from './store.ts';
import type { EventRow } from './store.ts';
import { changesEnvironment, neededKinds, sendsEnvironmentStates, type Watch } from './watch.ts';

export type ReaderDeps = Needs<'database' | 'engine'>;

const eventsOfPage = 500;
const linesAtOnce = 200;

/** Events between two snapshots. */
export interface Page {
  readonly events: readonly EventRow[];
  readonly from: Snapshot;
  readonly upTo: Snapshot;
  /** True if the page contains all events up to `upTo`. */
  readonly isWhole: boolean;
  /** The hub's boundary at the end of the page, if known. */
  readonly to?: Boundary;
  /** The batch of the hub that the page is, if it is one. */
  readonly batch?: Batch;
}

/** A sent event, and the position of the stream after it. */
export interface SentEvent {
  readonly text: string;
  readonly position: Position;
}

/** Existing lines of a log, in order. */
export interface OldLines {
  readonly lines: readonly { readonly number: number; readonly event: LineEvent }[];
  /** Line number to continue from; null at the end. */
  readonly next: number | null;
}

type Words = Pick<StreamData['ENVIRONMENT_STATE'], 'state' | 'last_deployment_state'>;
const gone: Words = { state: 'DELETED', last_deployment_state: 'DELETED' };

/** Reads rows for streams. Concurrent requests for the same rows share one read. */
export class StreamReader {
  readonly #deps: ReaderDeps;
  readonly #lines = new Map<string, Promise<ReadonlyMap<number, LineEvent>>>();
  readonly #words = new Map<string, Promise<Words>>();

  constructor(deps: ReaderDeps) {
    this.#deps = deps;
  }

  /** Returns the next page after a position, or null if some of its events are no longer kept. */
  async page(watch: Watch, { seen, within }: Position, upTo: Snapshot): Promise<Page | null> {
    const rows = await this.#deps.database.many(store.eventsBetween, [
      seen.xmax,
      seen.underway,
      upTo.xmax,
      upTo.underway,
      within?.sequence ?? 0,
      watch.organizationId,
      neededKinds(watch),
      watch.projectId ?? null,
      watch.environmentIds ?? null,
      watch.serviceIds ?? null,
      watch.deploymentId ?? null,
      eventsOfPage + 1,
    ]);
    const horizon = rows[0]?.horizon ?? null;
    if (horizon !== null && !sees(seen, parseSnapshot(horizon))) return null;
    const events = rows.filter(isEvent);
    return { events: events.slice(0, eventsOfPage), from: seen, upTo, isWhole: events.length <= eventsOfPage };
  }

  /** Returns whether all events after a position are still kept. */
  async isKept({ seen }: Position): Promise<boolean> {
    const horizon = await this.#deps.database.maybe(store.horizonRead);
    return horizon === undefined || sees(seen, parseSnapshot(horizon.snapshot));
  }

  /** Returns the events to send for a row, without the parts of the row that were sent already. */
  async *texts(watch: Watch, row: EventRow, page: Page, reported: number): AsyncGenerator<SentEvent> {
    const { from, upTo, isWhole, events } = page;
    const isLog = row.kind === 'DEPLOYMENT_LOG' || row.kind === 'SERVICE_LOG';
    const numbers = isLog ? linesOf(row) : [];
    const all = isLog ? numbers.length : 1;
    const isLast = isWhole && row === events.at(-1);
    const toSent = (event: StreamEvent, parts: number): SentEvent => {
      // The position after the last part is the position after the whole page: this id is shorter and stays valid
      // longer.
      const position: Position =
        isLast && parts === all ? { seen: upTo } : { seen: from, within: { upTo, sequence: row.sequence, parts } };
      return { text: wire(event, encodePosition(position)), position };
    };
    if (!isLog) {
      if (reported === 0) yield toSent(toEvent(row, this.#deps.engine), 1);
      return;
    }
    for (let first = reported; first < numbers.length; first += linesAtOnce) {
      const wanted = numbers.slice(first, first + linesAtOnce);
      const lines = await this.#linesOnce(row, wanted);
      for (const [index, number] of wanted.entries()) {
        const line = lines.get(number);
        if (line !== undefined && isWanted(watch, line)) yield toSent(line, first + index + 1);
      }
    }
  }

  // Lines never change, so all streams can share one read.
  #linesOnce(row: EventRow, numbers: readonly number[]): Promise<ReadonlyMap<number, LineEvent>> {
    return once(this.#lines, `${row.sequence} ${numbers[0]}`, async () => {
      const lines = await this.#linesAt(row.kind, scopeOfRow(row), { numbers });
      return new Map(lines.map(({ number, event }) => [number, event]));
    });
  }

  async #linesAt(
    kind: string,
    scope: LogScope,
    which: { readonly numbers: readonly number[] } | { readonly after: number; readonly limit: number },
  ): Promise<{ number: number; event: LineEvent }[]> {
    const { database, engine } = this.#deps;
    if (kind === 'SERVICE_LOG') {
      const lines = await engine.serviceLines(database, scope.serviceId ?? '', which);
      return lines.map((line) => ({ number: line.number, event: serviceLine(scope, line) }));
    }
    const lines = await engine.deploymentLines(database, scope.deploymentId ?? '', which);
    return lines.map((line) => ({ number: line.number, event: deploymentLine(scope, line) }));
  }

  /** Returns the events with the current states of the environments that rows have changed, without ids. */
  async *environmentTexts(watch: Watch, rows: readonly EventRow[], moment: string): AsyncGenerator<string> {
    if (!sendsEnvironmentStates(watch)) return;
    const changed = new Map(rows.filter(changesEnvironment).map((row) => [row.environment_id, row]));
    for (const { environment_id, project_id } of changed.values()) {
      const words = await this.#environmentWords(environment_id, moment);
      const data = { at: new Date().toISOString(), project_id, environment_id, ...words };
      yield wire({ event: 'ENVIRONMENT_STATE', data });
    }
  }

  /**
   * Returns the current state words of an environment. `moment` identifies the events read before. Only streams with
   * the same moment share a result, as the result must not be older than these events.
   */
  #environmentWords(environmentId: string, moment: string): Promise<Words> {
    return once(
      this.#words,
      `${moment} ${environmentId}`,
      async () => (await environmentWords(this.#deps, environmentId)) ?? gone,
    );
  }

  /** Returns the next lines of a log that a snapshot sees. Lines that the snapshot does not see are sent as events. */
  async oldLines(kind: 'SERVICE_LOG' | 'DEPLOYMENT_LOG', scope: LogScope, { seen, line = 0 }: Position): Promise<OldLines> {
    const lines = await this.#linesAt(kind, scope, { after: line, limit: eventsOfPage });
    // This query must run after the one for the lines: a line written in between is sent as an event, and must not be
    // sent here too.
    const hidden = new Set(await this.#linesBehind(kind, scope, seen));
    const last = lines.at(-1);
    return {
      lines: lines.filter(({ number }) => !hidden.has(number)),
      next: last === undefined || lines.length < eventsOfPage ? null : last.number,
    };
  }

  /** Returns the number before the newest `tail` lines that a snapshot sees. */
  async startOfLines(scope: LogScope, seen: Snapshot, tail: number): Promise<number> {
    const { database, engine } = this.#deps;
    const hidden = await this.#linesBehind('SERVICE_LOG', scope, seen);
    return engine.serviceLinesStart(database, scope.serviceId ?? '', tail, hidden);
  }

  async #linesBehind(kind: string, { serviceId, deploymentId }: LogScope, seen: Snapshot): Promise<number[]> {
    const rows = await this.#deps.database.many(store.linesBehind, [seen.xmax, seen.underway, kind, serviceId, deploymentId]);
    return rows.map(({ line }) => line);
  }
}

function isWanted({ serviceIds }: Watch, { data: { service_id: id } }: LineEvent): boolean {
  return serviceIds === undefined || (id !== null && serviceIds.includes(id));
}

function once<Value>(underway: Map<string, Promise<Value>>, key: string, read: () => Promise<Value>): Promise<Value> {
  const known = underway.get(key);
  if (known !== undefined) return known;
  const made = read().finally(() => underway.delete(key));
  underway.set(key, made);
  return made;
}

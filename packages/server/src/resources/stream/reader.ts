import type { StreamData, StreamEvent } from '@davit/contract';
import type { Deps } from '../../deps.ts';
import { environmentWords } from '../deployment/index.ts';
import { isEvent, type Boundary } from './hub.ts';
import { deploymentLine, linesOf, placeOfRow, serviceLine, toEvent, wire, type LineEvent, type LogPlace } from './message.ts';
import { encodePosition, parseSnapshot, sees, type Position, type Snapshot } from './position.ts';
import * as store from './store.ts';
import type { EventRow } from './store.ts';
import { neededKinds, type Watch } from './watch.ts';

export type ReaderDeps = Pick<Deps, 'database' | 'engine'>;

const eventsOfPage = 500;
const linesAtOnce = 200;

/** What is to be told between two snapshots. */
export interface Page {
  readonly events: readonly EventRow[];
  readonly from: Snapshot;
  readonly upTo: Snapshot;
  /** Whether that is all up to there. */
  readonly isWhole: boolean;
  /** Where the stream is at its end, if that is known. */
  readonly to?: Boundary;
}

/** An event of the wire, and where the stream is behind it. */
export interface Told {
  readonly text: string;
  readonly position: Position;
}

/** Lines of a log of before, in order. */
export interface OldLines {
  readonly lines: readonly { readonly number: number; readonly event: LineEvent }[];
  /** Where to go on; null: that was all. */
  readonly next: number | null;
}

type Words = Pick<StreamData['ENVIRONMENT_STATE'], 'state' | 'last_deployment_state'>;
const gone: Words = { state: 'DELETED', last_deployment_state: 'DELETED' };

/** Reads rows for streams. What several need at the same moment is read once. */
export class StreamReader {
  readonly #deps: ReaderDeps;
  readonly #lines = new Map<string, Promise<ReadonlyMap<number, LineEvent>>>();
  readonly #words = new Map<string, Promise<Words>>();

  constructor(deps: ReaderDeps) {
    this.#deps = deps;
  }

  /** The next page behind a position; null: something of it is not kept any more. */
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

  /** Whether everything behind a position is kept still. */
  async isKept({ seen }: Position): Promise<boolean> {
    const horizon = await this.#deps.database.maybe(store.horizonRead);
    return horizon === undefined || sees(seen, parseSnapshot(horizon.snapshot));
  }

  /** A row as events of the wire; of a row that was told in parts, those behind `told`. */
  async *texts(watch: Watch, row: EventRow, page: Page, told: number): AsyncGenerator<Told> {
    const { from, upTo, isWhole, events } = page;
    const isLog = row.kind === 'DEPLOYMENT_LOG' || row.kind === 'SERVICE_LOG';
    const numbers = isLog ? linesOf(row) : [];
    const all = isLog ? numbers.length : 1;
    const isLast = isWhole && row === events.at(-1);
    const toTold = (event: StreamEvent, parts: number): Told => {
      // Behind the last one is behind the whole: such an id is shorter, and holds longer.
      const position: Position =
        isLast && parts === all ? { seen: upTo } : { seen: from, within: { upTo, sequence: row.sequence, parts } };
      return { text: wire(event, encodePosition(position)), position };
    };
    if (!isLog) {
      if (told === 0) yield toTold(toEvent(row), 1);
      return;
    }
    for (let first = told; first < numbers.length; first += linesAtOnce) {
      const wanted = numbers.slice(first, first + linesAtOnce);
      const lines = await this.#linesOnce(row, wanted);
      for (const [index, number] of wanted.entries()) {
        const line = lines.get(number);
        if (line !== undefined && isWanted(watch, line)) yield toTold(line, first + index + 1);
      }
    }
  }

  // They never change, so that it does not matter whose look it was.
  #linesOnce(row: EventRow, numbers: readonly number[]): Promise<ReadonlyMap<number, LineEvent>> {
    return once(this.#lines, `${row.sequence} ${numbers[0]}`, async () => {
      const lines = await this.#linesAt(row.kind, placeOfRow(row), { numbers });
      return new Map(lines.map(({ number, event }) => [number, event]));
    });
  }

  async #linesAt(
    kind: string,
    place: LogPlace,
    which: { readonly numbers: readonly number[] } | { readonly after: number; readonly limit: number },
  ): Promise<{ number: number; event: LineEvent }[]> {
    const { database, engine } = this.#deps;
    if (kind === 'SERVICE_LOG') {
      const lines = await engine.serviceLines(database, place.serviceId ?? '', which);
      return lines.map((line) => ({ number: line.number, event: serviceLine(place, line) }));
    }
    const lines = await engine.deploymentLines(database, place.deploymentId ?? '', which);
    return lines.map((line) => ({ number: line.number, event: deploymentLine(place, line) }));
  }

  /**
   * State words of an environment as they are now. `moment`: names what was read before; only who read the same shares the answer, as it
   * must not be older than that.
   */
  environmentWords(environmentId: string, moment: string): Promise<Words> {
    return once(
      this.#words,
      `${moment} ${environmentId}`,
      async () => (await environmentWords(this.#deps, environmentId)) ?? gone,
    );
  }

  /** The next lines of a log as a snapshot sees it: those that it does not see come as events. */
  async oldLines(kind: 'SERVICE_LOG' | 'DEPLOYMENT_LOG', place: LogPlace, { seen, line = 0 }: Position): Promise<OldLines> {
    const lines = await this.#linesAt(kind, place, { after: line, limit: eventsOfPage });
    // Asked after the lines: one that is written in between is told as an event, and must not be told here too.
    const hidden = new Set(await this.#linesBehind(kind, place, seen));
    const last = lines.at(-1);
    return {
      lines: lines.filter(({ number }) => !hidden.has(number)),
      next: last === undefined || lines.length < eventsOfPage ? null : last.number,
    };
  }

  /** The number behind which the newest lines begin of those that a snapshot sees. */
  async startOfLines(place: LogPlace, seen: Snapshot, tail: number): Promise<number> {
    const { database, engine } = this.#deps;
    const hidden = await this.#linesBehind('SERVICE_LOG', place, seen);
    return engine.serviceLinesStart(database, place.serviceId ?? '', tail, hidden);
  }

  async #linesBehind(kind: string, { serviceId, deploymentId }: LogPlace, seen: Snapshot): Promise<number[]> {
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

import { createHash } from 'node:crypto';
import { roleDescriptions } from '@davit/contract';
import type { Example } from '@davit/contract/examples';
import type { RecordedCall } from './recorder.ts';
import type { Story } from './story.ts';

const uuid = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g;
const instant = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)/g;
/** When the story begins in the examples, and the time between two of its calls. */
const beginning = Date.parse('2026-01-05T09:00:00Z');
const betweenCalls = 20_000;
/** How ids begin that are of no record of this run. */
const noRecord = '00000000-';
const aDay = 86_400_000;
/** Longer lists are cut, as the first entries say what the others look like. */
const mostEntries = 3;

/**
 * Returns the example of each operation, by its id, in the order of the ids. What differs between runs is replaced: ids
 * by ids that are derived from the call that first answered with them, times by times that are derived from the call
 * during which they were, and the texts of `replacements`. So the examples of two runs are equal, an id means the same
 * in all of them, and a new call changes few others.
 */
export function examplesOf({ calls, replacements }: Story): Readonly<Record<string, Example>> {
  const stable = new Stable(calls, replacements);
  const shown = calls.flatMap((call, index) =>
    call.isExample ? [[call.operation.id, stable.example(call, index)] as const] : [],
  );
  return Object.fromEntries(shown.toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

class Stable {
  readonly #calls: readonly RecordedCall[];
  readonly #texts: readonly (readonly [string, string])[];
  readonly #ids = new Map<string, string>();
  readonly #times = new Map<string, string>();
  /** The ids in paths of calls. */
  readonly #named: ReadonlySet<string>;

  constructor(calls: readonly RecordedCall[], replacements: ReadonlyMap<string, string>) {
    this.#calls = calls;
    // A longer text may contain a shorter one.
    this.#texts = [...replacements].toSorted(([a], [b]) => b.length - a.length);
    this.#named = new Set(calls.flatMap(({ path }) => path.match(uuid) ?? []));
    this.#nameIds();
  }

  example({ path, query, request, status, answer, operation }: RecordedCall, index: number): Example {
    const change = (value: unknown): unknown => this.#changed(value, '', index);
    const shownQuery = Object.fromEntries(Object.entries(query).map(([name, value]) => [name, this.#text(value, name, index)]));
    return {
      path: this.#text(path, '', index),
      ...(Object.keys(query).length > 0 && { query: shownQuery }),
      ...(request !== undefined && { request: change(request) }),
      status,
      ...(answer !== undefined && {
        answer: operation.events !== undefined && typeof answer === 'string' ? this.#stream(answer, index) : change(answer),
      }),
    };
  }

  /** Gives each id of this run a name: the operation, the number of its call, and the place in its answer. */
  #nameIds(): void {
    // Ids that are the same in every installation.
    const kept = new Set<string>(Object.values(roleDescriptions).map(({ id }) => id));
    const counts = new Map<string, number>();
    for (const { operation, answer } of this.#calls) {
      const count = (counts.get(operation.id) ?? 0) + 1;
      counts.set(operation.id, count);
      if (operation.id.includes('LifecycleTemplate')) for (const { id } of idsIn(answer, '')) kept.add(id);
      for (const { id, place } of idsIn(answer, '')) {
        if (kept.has(id) || this.#ids.has(id) || id.startsWith(noRecord)) continue;
        const made = madeId(`${operation.id} ${count} ${place}`);
        this.#ids.set(id, made);
        // Names of objects contain the first digits of ids, some in capitals. Ids of log lines begin with those of
        // their service.
        const short = id.slice(0, 8);
        if (!this.#ids.has(short)) this.#ids.set(short, made.slice(0, 8));
      }
    }
  }

  #changed(value: unknown, key: string, index: number): unknown {
    if (typeof value === 'string')
      return measured.test(key) ? value.replace(/^PT[\d.]+S$/, 'PT2S') : this.#text(value, key, index);
    if (typeof value === 'number') return measured.test(key) ? (key.endsWith('_ms') ? 1_500 : 2) : value;
    if (Array.isArray(value)) return this.#cut(value).map((one) => this.#changed(one, key, index));
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, this.#changed(member, name, index)]));
  }

  /**
   * Returns at most three objects of a list, in their order: first those with an id that paths of the story name.
   */
  #cut(list: readonly unknown[]): readonly unknown[] {
    const isKnown = (one: unknown): boolean =>
      typeof one === 'object' && one !== null && 'id' in one && typeof one.id === 'string' && this.#named.has(one.id);
    if (list.length <= mostEntries || list.some((one) => typeof one !== 'object')) return list;
    const kept = new Set([...new Set([...list.filter(isKnown), ...list])].slice(0, mostEntries));
    return list.filter((one) => kept.has(one));
  }

  /** Changes a stream: the data of each event is JSON. */
  #stream(text: string, index: number): string {
    return text.replaceAll(
      /^data: ?(.+)$/gm,
      (_all, data: string) => `data: ${JSON.stringify(this.#changed(JSON.parse(data), '', index))}`,
    );
  }

  #text(text: string, key: string, index: number): string {
    let changed = text;
    for (const [from, to] of this.#texts) changed = changed.replaceAll(from, to);
    return changed
      .replaceAll(uuid, (id) => this.#ids.get(id) ?? id)
      .replaceAll(/[0-9a-f]{8}|[0-9A-F]{8}/g, (digits) => {
        const made = this.#ids.get(digits.toLowerCase());
        if (made === undefined) return digits;
        return digits === digits.toLowerCase() ? made : made.toUpperCase();
      })
      .replaceAll(instant, (time) => this.#time(time, key, index));
  }

  #time(text: string, key: string, index: number): string {
    const known = this.#times.get(text);
    if (known !== undefined) return known;
    const at = Date.parse(text);
    const first = this.#calls[0]?.sentAt ?? 0;
    const last = this.#calls.at(-1)?.sentAt ?? 0;
    // Times that no run makes are part of the world: the day of a commit, the hours of a rule.
    if (at < first - aDay || at > last + 10_000 * aDay) return text;
    const made = this.#placed(at, last, index) + (ending.test(key) ? betweenCalls / 2 : 0);
    const changed = new Date(made).toISOString().replace('.000Z', 'Z');
    if (!ending.test(key)) this.#times.set(text, changed);
    return changed;
  }

  /** Returns the time in the story for a time of this run. A time after its end keeps its distance from its call. */
  #placed(at: number, last: number, index: number): number {
    const minute = 60_000;
    const sentAt = this.#calls[index]?.sentAt ?? 0;
    if (at > last + minute) return beginning + index * betweenCalls + Math.round((at - sentAt) / minute) * minute;
    const during = this.#calls.findLastIndex((call) => call.sentAt <= at);
    return beginning + Math.max(0, during) * betweenCalls;
  }
}

/** Fields with the end of something, which is a little later than its begin. */
const ending = /finished_at|ended_at|completed_at|terminated_at/;
/** Fields with a measured time. */
const measured = /duration|elapsed|latency/;

function idsIn(value: unknown, place: string): { readonly id: string; readonly place: string }[] {
  if (typeof value === 'string') return [...value.matchAll(uuid)].map(([id]) => ({ id, place }));
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, member]) => idsIn(member, `${place}.${name}`));
}

/** Returns the id that belongs to a name. It has the form of a random one. */
function madeId(name: string): string {
  const digits = createHash('sha256').update(name).digest('hex');
  return [
    digits.slice(0, 8),
    digits.slice(8, 12),
    `4${digits.slice(13, 16)}`,
    `a${digits.slice(17, 20)}`,
    digits.slice(20, 32),
  ].join('-');
}

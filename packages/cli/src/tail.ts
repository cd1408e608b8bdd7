import { ApiError, type Client, type Received } from '@davit/client';

/** A line of a service, as the search and the stream both return it. */
export interface Line {
  readonly id: string;
  readonly at: string;
  readonly instance: string;
  readonly message: string;
  readonly release: string | null;
  readonly level: string | null;
}

/** Conditions that all lines meet. They have the meaning of the search in docs/logs.md. */
export interface Wanted {
  readonly text?: string;
  readonly instance?: string;
  readonly level?: 'DEBUG' | 'INFO' | 'WARNING' | 'ERROR';
  /** ISO 8601. */
  readonly from?: string;
  readonly releaseId?: string;
}

export interface TailOptions {
  readonly serviceId: string;
  readonly wanted: Wanted;
  /** Most earlier lines. */
  readonly count: number;
  readonly signal: AbortSignal;
  /** Called when the connection is there again. `lost`: milliseconds since 1970. */
  readonly onReturn: (lost: number) => void;
}

const levels = ['DEBUG', 'INFO', 'WARNING', 'ERROR'];
const pageLines = 1000;

/** Returns the newest kept lines that meet the conditions, at most `count`, oldest first. */
export async function readLines(
  client: Client,
  { serviceId, wanted, count }: Omit<TailOptions, 'signal' | 'onReturn'>,
): Promise<Line[]> {
  const pages: Line[][] = [];
  let missing = count;
  let before: string | undefined;
  while (missing > 0) {
    const query = { ...queryOf(wanted), limit: Math.min(pageLines, missing), ...(before !== undefined && { before }) };
    const page = await client.call('searchServiceLog', { params: { serviceId }, query });
    pages.unshift(page.lines.map(fromSearch));
    missing -= page.lines.length;
    if (page.older === null) break;
    before = page.older;
  }
  return pages.flat();
}

/**
 * Returns earlier lines, then lines as they are printed, without end. No line is lost or repeated: the stream is opened
 * before the earlier lines are read, and after a connection that was lost for too long the lines in between are
 * searched.
 */
export async function* followLines(client: Client, options: TailOptions): AsyncGenerator<Line> {
  const { serviceId, wanted, signal, onReturn } = options;
  // A line may be stored while the search runs: the search and the stream then both return it.
  const seen = new Recent();
  let aliveAt = Date.now();
  let isOpen = false;
  const onAlive = (): void => void (aliveAt = Date.now());
  let lostAt = aliveAt;
  const input = { params: { serviceId }, query: { tail: 0 }, signal, onAlive };
  for await (const received of client.stream('streamServiceLog', input)) {
    if (received.event === 'OPEN') {
      if (isOpen) onReturn(lostAt);
      else for (const line of await readLines(client, options)) if (seen.add(line.id)) yield line;
      isOpen = true;
    }
    if (received.event === 'RESET') {
      for (const line of await linesAfter(client, options, seen.last)) if (seen.add(line.id)) yield line;
    }
    lostAt = aliveAt;
    if (received.event !== 'SERVICE_LOG') continue;
    const line = fromStream(received.data);
    // Lines that are not shown count too: the search continues after the last line.
    if (seen.add(line.id) && meets(line, wanted)) yield line;
  }
}

/** Returns the lines after one line. If that line is no longer kept: the newest ones that meet the conditions. */
async function linesAfter(client: Client, { serviceId, wanted }: TailOptions, lineId: string | null): Promise<Line[]> {
  if (lineId === null) return readLines(client, { serviceId, wanted, count: pageLines });
  const params = { serviceId };
  const found: Line[] = [];
  const at = await client.call('searchServiceLog', { params, query: { line: lineId, limit: 1 } }).catch((error: unknown) => {
    if (error instanceof ApiError && error.status === 404) return null;
    throw error;
  });
  if (at === null) return readLines(client, { serviceId, wanted, count: pageLines });
  let { newer } = at;
  while (newer !== null) {
    const query = { ...queryOf(wanted), after: newer, limit: pageLines };
    const page = await client.call('searchServiceLog', { params, query });
    found.push(...page.lines.map(fromSearch));
    if (page.newer === null || page.newer === newer || page.lines.length === 0) break;
    newer = page.newer;
  }
  return found;
}

/** Remembers the ids of the newest lines. */
class Recent {
  readonly #ids = new Set<string>();
  last: string | null = null;

  /** Returns whether the id is new. */
  add(id: string): boolean {
    if (this.#ids.has(id)) return false;
    this.#ids.add(id);
    this.last = id;
    const [oldest] = this.#ids;
    if (this.#ids.size > 10_000 && oldest !== undefined) this.#ids.delete(oldest);
    return true;
  }
}

function queryOf({ text, instance, level, from, releaseId }: Wanted) {
  return {
    ...(text !== undefined && { text }),
    ...(instance !== undefined && { instance }),
    ...(level !== undefined && { level }),
    ...(from !== undefined && { from }),
    ...(releaseId !== undefined && { release_id: releaseId }),
  };
}

/** Returns whether a line meets the conditions, as the search decides it. */
export function meets(line: Line, { text, instance, level, from, releaseId }: Wanted): boolean {
  if (text !== undefined && !line.message.toLowerCase().includes(text.toLowerCase())) return false;
  if (instance !== undefined && line.instance !== instance) return false;
  if (releaseId !== undefined && line.release !== releaseId) return false;
  if (from !== undefined && line.at < from) return false;
  return level === undefined || (line.level !== null && levels.indexOf(line.level) >= levels.indexOf(level));
}

interface SearchedLine {
  readonly id: string;
  readonly created_at: string;
  readonly message: string;
  readonly pod_name?: string;
  readonly version?: string;
  readonly level: string | null;
}

function fromSearch({ id, created_at: at, message, pod_name: instance = '', version, level }: SearchedLine): Line {
  return { id, at, instance, message, release: version ?? null, level };
}

function fromStream(data: Extract<Received, { event: 'SERVICE_LOG' }>['data']): Line {
  const { id, at, message, pod_name: instance, version: release, level } = data;
  return { id, at, instance, message, release, level };
}

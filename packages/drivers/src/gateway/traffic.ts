import { latencyBucketsMilliseconds, type RouteTraffic } from '../gateway.ts';

/** Counters of one worker of HAProxy since its start, in HAProxy's output format. */
export interface WorkerCounters {
  readonly pid: number;
  /** Output of `show stat -1 2 -1`: the backends. */
  readonly backends: string;
  /** Output of `show table` for the latency table. */
  readonly latency: string;
}

type Counts = Omit<RouteTraffic, 'id'>;

const buckets = latencyBucketsMilliseconds.length + 1;
const nothing: Counts = {
  requests: 0,
  responses: [0, 0, 0, 0, 0],
  receivedBytes: 0,
  sentBytes: 0,
  latency: Array.from({ length: buckets }, () => 0),
};

/**
 * Sums the counters of all workers. Each worker starts at zero, and a reload creates a new worker. Workers that already
 * existed at the first call may have counted earlier traffic, so what they had counted by then is excluded.
 */
export class TrafficCounter {
  readonly #totals = new Map<string, Counts>();
  #workers: Map<number, ReadonlyMap<string, Counts>> | null = null;

  add(workers: readonly WorkerCounters[]): void {
    const isFirst = this.#workers === null;
    const former = this.#workers ?? new Map<number, ReadonlyMap<string, Counts>>();
    const next = new Map<number, ReadonlyMap<string, Counts>>();
    for (const worker of workers) {
      const counted = countsOf(worker);
      next.set(worker.pid, counted);
      if (isFirst) continue;
      for (const [proxy, counts] of counted) this.#add(routeOf(proxy), since(former.get(worker.pid)?.get(proxy), counts));
    }
    // An empty list means that the gateway is unreachable; the known workers are kept.
    if (workers.length > 0) this.#workers = next;
  }

  totals(): RouteTraffic[] {
    return [...this.#totals].map(([id, counts]) => ({ id, ...counts }));
  }

  #add(route: string, counts: Counts): void {
    this.#totals.set(
      route,
      combined(this.#totals.get(route) ?? nothing, counts, (a, b) => a + b),
    );
  }
}

/**
 * Returns the increase since an earlier reading. A number that has fallen was reset: it belongs to another worker with
 * the same process id.
 */
function since(former: Counts | undefined, now: Counts): Counts {
  return former === undefined ? now : combined(now, former, (a, b) => (a >= b ? a - b : a));
}

function combined(a: Counts, b: Counts, with_: (a: number, b: number) => number): Counts {
  const each = (left: readonly number[], right: readonly number[]): number[] =>
    left.map((value, index) => with_(value, right[index] ?? 0));
  return {
    requests: with_(a.requests, b.requests),
    responses: each(a.responses, b.responses),
    receivedBytes: with_(a.receivedBytes, b.receivedBytes),
    sentBytes: with_(a.sentBytes, b.sentBytes),
    latency: each(a.latency, b.latency),
  };
}

/** Parses `http_<route>_<form>` and `tcp_<port>_<route>`, see `haproxy-config.ts`. */
function routeOf(proxy: string): string {
  return proxy.startsWith('http_') ? proxy.slice('http_'.length, proxy.lastIndexOf('_')) : proxy.replace(/^tcp_\d+_/, '');
}

/** Returns the counters by proxy of a route. Pure. */
export function countsOf({ backends, latency }: Omit<WorkerCounters, 'pid'>): Map<string, Counts> {
  const [header = '', ...rows] = backends.split('\n').filter((line) => line !== '');
  const columns = new Map(
    header
      .replace(/^# /, '')
      .split(',')
      .map((name, index) => [name, index]),
  );
  const tookOf = latenciesOf(latency);
  const found = new Map<string, Counts>();
  for (const row of rows) {
    const cells = row.split(',');
    const number = (name: string): number => Number(cells[columns.get(name) ?? -1] ?? 0) || 0;
    const [proxy = ''] = cells;
    if (!proxy.startsWith('http_') && !proxy.startsWith('tcp_')) continue;
    const isHttp = proxy.startsWith('http_');
    found.set(proxy, {
      requests: number(isHttp ? 'req_tot' : 'stot'),
      responses: [1, 2, 3, 4, 5].map((word) => (isHttp ? number(`hrsp_${word}xx`) : 0)),
      receivedBytes: number('bin'),
      sentBytes: number('bout'),
      latency: tookOf.get(proxy) ?? nothing.latency,
    });
  }
  return found;
}

function latenciesOf(text: string): Map<string, number[]> {
  const found = new Map<string, number[]>();
  for (const [, proxy = '', rest = ''] of text.matchAll(/ key=(\S+) (.*)$/gm)) {
    const counts = Array.from({ length: buckets }, () => 0);
    for (const [, index, count] of rest.matchAll(/gpc(\d+)=(\d+)/g)) counts[Number(index)] = Number(count);
    found.set(proxy, counts);
  }
  return found;
}

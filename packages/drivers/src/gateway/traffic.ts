import { latencyBucketsMilliseconds, type RouteTraffic } from '../gateway.ts';

/** What one worker of HAProxy has counted since it started, in HAProxy's words. */
export interface WorkerCounters {
  readonly pid: number;
  /** `show stat -1 2 -1`: the backends. */
  readonly backends: string;
  /** `show table` of the latency table. */
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
 * Adds up what workers count. Each begins at zero when it starts, and a reload makes a new one; what the workers had counted that
 * were there at the first look is not known to be new, and left out.
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
    // No worker at all is a gateway that does not answer: the ones that were there are not forgotten for it.
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

/** What was counted since a former look. A number that has fallen began anew: of another worker with the same process id. */
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

/** `http_<route>_<form>` and `tcp_<port>_<route>`, see `haproxy-config.ts`. */
function routeOf(proxy: string): string {
  return proxy.startsWith('http_') ? proxy.slice('http_'.length, proxy.lastIndexOf('_')) : proxy.replace(/^tcp_\d+_/, '');
}

/** By proxy of a route. Pure. */
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

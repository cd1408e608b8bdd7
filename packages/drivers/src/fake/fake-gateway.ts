import type { Gateway, RouteTable, RouteTraffic } from '../gateway.ts';
import { checkedTable } from '../shared/route-table.ts';
import type { Calls } from './calls.ts';

/** A gateway in memory: keeps the table that was applied last, and reports the traffic that tests set. */
export class FakeGateway {
  isUp = true;
  routes: RouteTable = { http: [], tcp: [] };
  readonly traffic = new Map<string, RouteTraffic>();
  readonly #calls: Calls;

  constructor(calls: Calls) {
    this.#calls = calls;
  }

  #call(method: string, detail: string, effect: () => void): Promise<void> {
    return this.#calls.call({ method, service: '', detail }, new AbortController().signal, effect);
  }

  readonly driver: Gateway = {
    check: (table) => void checkedTable(table, 0),
    start: () => Promise.resolve(),
    apply: (table) =>
      this.#call('apply', '', () => {
        this.routes = table;
      }),
    awaitDrained: (ids) => this.#call('awaitDrained', ids.join(' '), () => undefined),
    traffic: () => Promise.resolve([...this.traffic.values()]),
    isUp: () => this.isUp,
    stop: () => Promise.resolve(),
  };
}

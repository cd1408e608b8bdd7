import type { ClusterScaling, ScaledService, WantedInstances } from '../scaling.ts';
import { aborted, type Calls } from './calls.ts';

/** One service as a cluster that scales by itself stores it. */
export interface FakeScaled extends WantedInstances {
  readonly scaled: ScaledService;
}

/** Numbers of instances that tests set in place of an autoscaler. */
export class FakeScaling {
  /** Missing requirements for scaling, as text. */
  lacks: readonly string[] = [];
  readonly services = new Map<string, FakeScaled>();
  readonly #calls: Calls;
  readonly #watchers = new Set<() => void>();

  constructor(calls: Calls) {
    this.#calls = calls;
  }

  /** Sets the number of instances, as an autoscaler does. */
  write(service: string, instances: number): void {
    const found = this.services.get(service);
    if (found === undefined) throw new Error('the cluster does not decide on it');
    this.#set(service, { ...found, instances });
  }

  #set(service: string, next: FakeScaled): void {
    this.services.set(service, next);
    for (const watcher of this.#watchers) watcher();
  }

  readonly capability: ClusterScaling = {
    missing: (by, signal) => this.#calls.call({ method: 'missing', service: '', detail: by }, signal, () => this.lacks),
    apply: (scaled, signal) => {
      const { service } = scaled.owner;
      return this.#calls.call({ method: 'scale', service, detail: scaled.rollout }, signal, () => {
        const { instances = scaled.instances, running = scaled.instances } = this.services.get(service) ?? {};
        this.#set(service, { service, instances, running, mark: scaled.mark, scaled });
      });
    },
    remove: ({ service }, signal) =>
      this.#calls.call({ method: 'unscale', service, detail: '' }, signal, () => void this.services.delete(service)),
    wanted: (signal) =>
      this.#calls.call({ method: 'wanted', service: '', detail: '' }, signal, () => [...this.services.values()]),
    report: ({ service }, running, signal) =>
      this.#calls.call({ method: 'report', service, detail: String(running) }, signal, () => {
        const found = this.services.get(service);
        if (found !== undefined) this.#set(service, { ...found, running });
      }),
    watch: async (onChange, signal) => {
      this.#watchers.add(onChange);
      await aborted(signal);
      this.#watchers.delete(onChange);
    },
  };
}

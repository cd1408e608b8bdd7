import { randomUUID } from 'node:crypto';
import type { ClusterSchedule, ClusterSchedules } from '../schedules.ts';
import type { Instance, Workload } from '../workload.ts';
import type { Calls } from './calls.ts';

export interface FakeSchedule extends ClusterSchedule {
  isSuspended: boolean;
}

interface Host {
  readonly calls: Calls;
  instances(): readonly Instance[];
  run(workload: Workload): Instance;
}

/** Schedules of the fake cluster. They become due when a test says so. */
export class FakeSchedules {
  /** Schedules by service. */
  readonly armed = new Map<string, FakeSchedule>();
  /** The reason why the cluster cannot start runs, as text; null if it can. Replaceable at any time. */
  unable: string | null = null;
  readonly #host: Host;
  readonly #dueAt = new Map<string, string>();

  constructor(host: Host) {
    this.#host = host;
  }

  /**
   * Makes the schedule of a service due and returns the new run; null if the schedule is suspended or its last run has
   * not ended.
   */
  due(service: string, at = new Date()): Instance | null {
    const schedule = this.armed.get(service);
    if (schedule === undefined || schedule.isSuspended || this.#runs(service).some(({ state }) => state !== 'EXITED'))
      return null;
    const rollout = randomUUID();
    this.#dueAt.set(rollout, at.toISOString());
    return this.#host.run({ ...schedule.workload, rollout });
  }

  #runs(service?: string): Instance[] {
    return this.#host
      .instances()
      .filter((one) => one.scheduled === true && (service === undefined || one.service === service))
      .toSorted((a, b) => this.#dueOf(a).localeCompare(this.#dueOf(b)));
  }

  #dueOf({ rollout }: Instance): string {
    return this.#dueAt.get(rollout) ?? '';
  }

  readonly capability: ClusterSchedules = {
    unable: () => Promise.resolve(this.unable),
    apply: (schedule, { isSuspended }, { signal }) =>
      this.#call('applySchedule', schedule.workload.owner.service, signal, () => {
        this.armed.set(schedule.workload.owner.service, { ...schedule, isSuspended });
      }),
    suspend: ({ service }, signal) =>
      this.#call('suspendSchedule', service, signal, () => {
        const schedule = this.armed.get(service);
        if (schedule !== undefined) schedule.isSuspended = true;
      }),
    resume: ({ service, rollout }, signal) =>
      this.#call('resumeSchedule', service, signal, () => {
        const schedule = this.armed.get(service);
        if (schedule?.workload.rollout === rollout) schedule.isSuspended = false;
      }),
    remove: ({ service }, signal) => this.#call('removeSchedule', service, signal, () => void this.armed.delete(service)),
    list: (signal) =>
      this.#call('listSchedules', '', signal, () =>
        [...this.armed.values()].map(({ workload: { owner, rollout }, isSuspended }) => ({
          environment: owner.environment,
          service: owner.service,
          rollout,
          isSuspended,
        })),
      ),
    runs: ({ service }, signal) =>
      this.#call('scheduledRuns', service ?? '', signal, () =>
        this.#runs(service).map((one) => ({
          id: one.rollout,
          environment: one.environment,
          service: one.service,
          release: one.release,
          dueAt: this.#dueOf(one),
          startedAt: one.startedAt ?? '',
          isOver: one.state === 'EXITED',
        })),
      ),
    awaitStarted: (workload, { signal }) => this.#call('awaitRunStarted', workload.owner.service, signal, () => undefined),
  };

  #call<T>(method: string, service: string, signal: AbortSignal, effect: () => T): Promise<T> {
    return this.#host.calls.call({ method, service, detail: '' }, signal, effect);
  }
}

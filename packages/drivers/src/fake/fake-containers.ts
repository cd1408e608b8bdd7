import type { InstanceEvent, InstanceUsage, OnLine } from '../driver.ts';
import type { Instance, LogLine, Selector, Workload } from '../workload.ts';
import { aborted } from './calls.ts';

/** Resource usage of a fake instance. The counters are derived from it and the time elapsed. */
export interface FakeUse {
  readonly cpuMillicores: number;
  readonly memoryMiB: number;
}

interface Container {
  instance: Instance;
  readonly workload: Workload;
  readonly lines: LogLine[];
  use: FakeUse;
  /** Processor time used until `usedAt`. */
  cpuMilliseconds: number;
  usedAt: number;
}

/** The instances of a cluster in memory, with their output and their use of resources. */
export class FakeContainers {
  readonly #containers = new Map<string, Container>();
  readonly #byService = new Map<string, Map<string, Container>>();
  readonly #none: ReadonlyMap<string, Container> = new Map();
  readonly #watchers = new Set<(event: InstanceEvent) => void>();
  readonly #readers = new Map<string, Set<(line: LogLine | null) => void>>();
  #count = 0;
  #lines = 0;

  get instances(): readonly Instance[] {
    return [...this.#containers.values()].map((container) => container.instance);
  }

  get workloads(): ReadonlyMap<string, Workload> {
    return new Map([...this.#containers.values()].map((container) => [container.instance.id, container.workload]));
  }

  /** See `FakeCluster`, as for `use` and `print`. */
  kill(instanceId: string, exitCode: number, outOfMemory = false): void {
    const container = this.#containers.get(instanceId);
    if (container === undefined) return;
    const exit = { code: exitCode, outOfMemory, at: new Date().toISOString() };
    container.instance = { ...container.instance, state: 'EXITED', exit, lastEnd: exit, endpoints: [] };
    this.#emit('DIED', container.instance);
    for (const read of this.#readers.get(instanceId) ?? []) read(null);
  }

  use(instanceId: string, use: FakeUse): void {
    const container = this.#containers.get(instanceId);
    if (container === undefined) return;
    container.cpuMilliseconds = usedBy(container, Date.now());
    container.usedAt = Date.now();
    container.use = use;
  }

  print(instanceId: string, text: string): void {
    const container = this.#containers.get(instanceId);
    if (container === undefined) return;
    this.#lines += 1;
    const nanoseconds = String(this.#lines % 1_000_000).padStart(6, '0');
    const line: LogLine = { timestamp: `${new Date().toISOString().slice(0, -1)}${nanoseconds}Z`, stream: 'stdout', text };
    container.lines.push(line);
    for (const read of this.#readers.get(instanceId) ?? []) read(line);
  }

  /** Starts an instance again, as Davit's keeper asks for. */
  revive(id: string): void {
    const container = this.#containers.get(id);
    if (container === undefined) return;
    const { ports } = container.workload;
    const stopped = { code: 143, outOfMemory: false, at: new Date().toISOString() };
    const lastEnd = container.instance.state === 'RUNNING' ? stopped : container.instance.lastEnd;
    container.instance = {
      ...container.instance,
      state: 'RUNNING',
      exit: null,
      ...(lastEnd !== undefined && { lastEnd }),
      startedAt: new Date().toISOString(),
      endpoints: ports.map((port) => ({ internalPort: port.internalPort, host: '10.0.0.1', port: port.internalPort })),
    };
    this.#emit('STARTED', container.instance);
  }

  /** Does what Docker does: these instances no longer need a restart policy. */
  setRestartPolicy(instances: readonly Instance[]): void {
    for (const { id } of instances) {
      const container = this.#containers.get(id);
      if (container === undefined) continue;
      const { needsRestartPolicy: _, ...instance } = container.instance;
      container.instance = instance;
    }
  }

  removeInstance(id: string): void {
    const container = this.#containers.get(id);
    if (container !== undefined) this.remove([container]);
  }

  has(id: string): boolean {
    return this.#containers.has(id);
  }

  /** Returns the id of the service of an instance; '' if there is no such instance. */
  serviceOf(id: string): string {
    return this.#containers.get(id)?.instance.service ?? '';
  }

  /** Returns the usage of the instances that run. */
  usage(): readonly InstanceUsage[] {
    return [...this.#containers.values()].filter(({ instance }) => instance.state === 'RUNNING').map(toUsage);
  }

  async watch(onEvent: (event: InstanceEvent) => void, signal: AbortSignal): Promise<void> {
    this.#watchers.add(onEvent);
    await aborted(signal);
    this.#watchers.delete(onEvent);
  }

  #emit(type: InstanceEvent['type'], instance: Instance): void {
    for (const watcher of this.#watchers) watcher({ type, service: instance.service, instance: instance.id });
  }

  /** Returns the containers that a selector names. */
  select(selector: Selector): Container[] {
    // Most calls concern one service. A cluster with thousands of services must not cost more for them.
    const { service } = selector;
    const found = service === undefined ? this.#containers : (this.#byService.get(service) ?? this.#none);
    return [...found.values()].filter(
      ({ instance }) =>
        (selector.environment === undefined || instance.environment === selector.environment) &&
        (selector.service === undefined || instance.service === selector.service) &&
        (selector.rollout === undefined || instance.rollout === selector.rollout) &&
        (selector.exceptRollout === undefined || instance.rollout !== selector.exceptRollout) &&
        (selector.fromIndex === undefined || instance.index >= selector.fromIndex),
    );
  }

  remove(containers: readonly Container[]): void {
    for (const { instance } of containers) {
      this.#containers.delete(instance.id);
      const left = this.#byService.get(instance.service);
      left?.delete(instance.id);
      if (left?.size === 0) this.#byService.delete(instance.service);
      this.#emit('REMOVED', instance);
      for (const read of this.#readers.get(instance.id) ?? []) read(null);
    }
  }

  /** Starts an instance, or returns the one that runs at this index of the rollout. */
  run(workload: Workload, index: number, more: Partial<Instance> = {}): Instance {
    const name = `${workload.name}-${workload.rollout.slice(0, 8)}-${index}`;
    const { service } = workload.owner;
    const existing = this.select({ service, rollout: workload.rollout }).find(({ instance }) => instance.index === index);
    if (existing !== undefined) return existing.instance;
    this.#count += 1;
    const instance: Instance = {
      id: `fake-${this.#count}`,
      name,
      environment: workload.owner.environment,
      service: workload.owner.service,
      release: workload.release,
      rollout: workload.rollout,
      index,
      state: 'RUNNING',
      startedAt: new Date().toISOString(),
      exit: null,
      needsRestartPolicy: true,
      endpoints: workload.ports.map((port) => ({
        internalPort: port.internalPort,
        host: `10.0.0.${this.#count % 250}`,
        port: port.internalPort,
      })),
      ...more,
    };
    const unused = { use: { cpuMillicores: 1, memoryMiB: 16 }, cpuMilliseconds: 0, usedAt: Date.now() };
    const container = { instance, workload, lines: [], ...unused };
    this.#containers.set(instance.id, container);
    this.#byService.set(service, (this.#byService.get(service) ?? new Map<string, Container>()).set(instance.id, container));
    this.#emit('STARTED', instance);
    return instance;
  }

  /** Calls `onLine` with the lines after `since`, then with new ones until the instance exits or the signal aborts. */
  async follow(id: string, since: string | null, onLine: OnLine, signal: AbortSignal): Promise<void> {
    const container = this.#containers.get(id);
    if (container === undefined) return;
    for (const line of container.lines) if (since === null || line.timestamp > since) await onLine(line);
    if (container.instance.state !== 'RUNNING' || signal.aborted) return;
    await new Promise<void>((resolve) => {
      const readers = this.#readers.get(id) ?? new Set();
      this.#readers.set(id, readers);
      const end = (): void => {
        readers.delete(read);
        resolve();
      };
      const read = (line: LogLine | null): void => (line === null ? end() : void onLine(line));
      readers.add(read);
      signal.addEventListener('abort', end, { once: true });
    });
  }
}

function usedBy({ cpuMilliseconds, use, usedAt }: Container, now: number): number {
  return cpuMilliseconds + ((now - usedAt) * use.cpuMillicores) / 1000;
}

function toUsage(container: Container): InstanceUsage {
  const { id, environment, service, rollout, index } = container.instance;
  const at = Date.now();
  return {
    id,
    environment,
    service,
    rollout,
    index,
    at,
    cpuMilliseconds: usedBy(container, at),
    memoryBytes: container.use.memoryMiB * 1024 * 1024,
    receivedBytes: 0,
    sentBytes: 0,
  };
}

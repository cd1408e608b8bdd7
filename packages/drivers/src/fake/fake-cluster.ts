import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import type { ClusterDriver, InstanceEvent, InstancePressure, InstanceUsage, OnLine } from '../driver.ts';
import type { Gateway, RouteTable, RouteTraffic } from '../gateway.ts';
import type { BuildRequest, BuiltImage, EngineImages, PullRequest, PushRequest } from '../image-builder.ts';
import type { SourceDriver } from '../source-driver.ts';
import { DriverError } from '../errors.ts';
import { aborted, Calls, type FakeCall, type FakeScript } from './calls.ts';
import { FakeImages } from './fake-images.ts';
import { FakeScaling } from './fake-scaling.ts';
import { FakeSchedules } from './fake-schedules.ts';
import { fakeSource } from './fake-source.ts';
import type { DiskSpace, ImageStore } from '../stored-images.ts';
import { checkedTable } from '../shared/route-table.ts';
import type { Instance, LogLine, Selector, Workload } from '../workload.ts';

/**
 * A cluster in memory, with builder, git and gateway. It behaves as the interfaces specify, and fails, hangs and lies
 * on demand.
 */
export interface FakeCluster {
  readonly cluster: ClusterDriver;
  readonly builder: EngineImages;
  readonly carrier: EngineImages;
  readonly source: SourceDriver;
  readonly gateway: Gateway;
  readonly imageStore: ImageStore;
  /** Reported disk space of the images; null: the disk is on another machine. Replaceable at any time. */
  space: DiskSpace | null;
  /** Size of the build cache in bytes. Replaceable at any time. */
  cacheBytes: number;
  /** The reported state of the gateway process. Replaceable at any time. */
  isGatewayUp: boolean;
  /** Script for all calls. Replaceable at any time. */
  script: FakeScript;
  /** Current commit of each branch; by default a commit that is derived from URL and branch. */
  readonly branches: Map<string, string>;
  /** The message of all commits. Replaceable at any time. */
  commitMessage: string;
  readonly calls: readonly FakeCall[];
  readonly instances: readonly Instance[];
  /** For clusters that start runs themselves: the `power` of this object is not part of `cluster`. */
  readonly schedules: FakeSchedules;
  /** Images by name. */
  readonly images: Map<string, BuiltImage>;
  readonly volumes: ReadonlySet<string>;
  readonly routes: RouteTable;
  /** The builds requested, in order. */
  readonly builds: readonly BuildRequest[];
  /** The pulls requested, in order. */
  readonly pulls: readonly PullRequest[];
  /** The pushes requested, in order. */
  readonly pushes: readonly PushRequest[];
  /** The workload with which each instance was started, by instance id. */
  readonly workloads: ReadonlyMap<string, Workload>;
  /** Ends a process as if it had crashed, or been killed for lack of memory. */
  kill(instanceId: string, exitCode: number, outOfMemory?: boolean): void;
  /** Adds a line of output. */
  print(instanceId: string, text: string): void;
  /** Sets the resource usage of an instance from now on; by default a thousandth of a CPU and 16 MiB. */
  use(instanceId: string, use: FakeUse): void;
  /** Traffic by route id; scripts add to it. */
  readonly traffic: Map<string, RouteTraffic>;
  /** Bytes in the volumes of a service, by service id. */
  readonly volumeBytes: Map<string, number>;
  /** How close instances are to their limits. Replaceable at any time. */
  pressure: readonly InstancePressure[];
  /** Result of probes; null: they succeed. Replaceable at any time. */
  probeAnswer: (which: 'readiness' | 'liveness') => string | null;
  /** Bytes that instances have written to their own file systems, by instance id. */
  readonly writtenBytes: Map<string, number>;
  /** Capacity of the cluster's machine. Replaceable at any time. */
  capacity: { readonly cpuMillicores: number; readonly memoryMiB: number };
  /** The scaling capability, for tests that add it to `cluster`. */
  readonly scaling: FakeScaling;
  /** Writes a file inside an instance. */
  write(instanceId: string, path: string, text: string): void;
}

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

export function createFakeCluster(): FakeCluster {
  return new MemoryCluster();
}

class MemoryCluster implements FakeCluster {
  readonly #calls = new Calls();
  readonly #made = new FakeImages(this.#calls);
  readonly branches = new Map<string, string>();
  commitMessage = 'a change';
  readonly calls = this.#calls.list;
  readonly images = this.#made.images;
  readonly builds = this.#made.builds;
  readonly pulls = this.#made.pulls;
  readonly pushes = this.#made.pushes;
  readonly builder = this.#made.builder;
  readonly carrier = this.#made.builder;
  readonly imageStore = this.#made.imageStore;
  readonly scaling = new FakeScaling(this.#calls);
  readonly source = fakeSource(this.#calls, this.branches, () => this.commitMessage);
  readonly traffic = new Map<string, RouteTraffic>();
  readonly volumeBytes = new Map<string, number>();
  pressure: readonly InstancePressure[] = [];
  probeAnswer: FakeCluster['probeAnswer'] = () => null;
  readonly writtenBytes = new Map<string, number>();
  capacity = { cpuMillicores: 64_000, memoryMiB: 262_144 };
  isGatewayUp = true;
  readonly schedules = new FakeSchedules({
    calls: this.#calls,
    instances: () => this.instances,
    run: (workload) => this.#run(workload, 0, { scheduled: true }),
  });
  readonly #volumes = new Map<string, string>();
  readonly #files = new Map<string, string>();
  readonly #containers = new Map<string, Container>();
  readonly #byService = new Map<string, Map<string, Container>>();
  readonly #none: ReadonlyMap<string, Container> = new Map();
  readonly #watchers = new Set<(event: InstanceEvent) => void>();
  readonly #readers = new Map<string, Set<(line: LogLine | null) => void>>();
  #routes: RouteTable = { http: [], tcp: [] };
  #count = 0;
  #lines = 0;

  get script(): FakeScript {
    return this.#calls.script;
  }

  set script(script: FakeScript) {
    this.#calls.script = script;
  }

  get cacheBytes(): number {
    return this.#made.cacheBytes;
  }

  set cacheBytes(bytes: number) {
    this.#made.cacheBytes = bytes;
  }

  get space(): DiskSpace | null {
    return this.#made.space;
  }

  set space(space: DiskSpace | null) {
    this.#made.space = space;
  }

  get instances(): readonly Instance[] {
    return [...this.#containers.values()].map((container) => container.instance);
  }

  get volumes(): ReadonlySet<string> {
    return new Set(this.#volumes.keys());
  }

  get workloads(): ReadonlyMap<string, Workload> {
    return new Map([...this.#containers.values()].map((container) => [container.instance.id, container.workload]));
  }

  get routes(): RouteTable {
    return this.#routes;
  }

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

  write(instanceId: string, path: string, text: string): void {
    this.#files.set(`${instanceId} ${path}`, text);
  }

  #call<T>(call: FakeCall, signal: AbortSignal, effect: () => T): Promise<T> {
    return this.#calls.call(call, signal, effect);
  }

  #emit(type: InstanceEvent['type'], instance: Instance): void {
    for (const watcher of this.#watchers) watcher({ type, service: instance.service, instance: instance.id });
  }

  #select(selector: Selector): Container[] {
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

  #remove(containers: readonly Container[]): void {
    for (const { instance } of containers) {
      this.#containers.delete(instance.id);
      const left = this.#byService.get(instance.service);
      left?.delete(instance.id);
      if (left?.size === 0) this.#byService.delete(instance.service);
      this.#emit('REMOVED', instance);
      for (const read of this.#readers.get(instance.id) ?? []) read(null);
    }
  }

  #run(workload: Workload, index: number, more: Partial<Instance> = {}): Instance {
    const name = `${workload.name}-${workload.rollout.slice(0, 8)}-${index}`;
    const { service } = workload.owner;
    const existing = this.#select({ service, rollout: workload.rollout }).find(({ instance }) => instance.index === index);
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

  readonly cluster: ClusterDriver = {
    kind: 'fake',
    describe: (signal) =>
      this.#call({ method: 'describe', service: '', detail: '' }, signal, () => ({
        engine: 'fake',
        version: '1',
        apiVersion: '1',
        ...this.capacity,
      })),
    ping: (signal) => this.#call({ method: 'ping', service: '', detail: '' }, signal, () => undefined),
    start: (workload, { signal }) =>
      this.#call({ method: 'start', service: workload.owner.service, detail: workload.rollout }, signal, () => {
        if (!this.images.values().some((image) => image.id === workload.image)) {
          throw new DriverError({ cause: 'IMAGE_MISSING', message: `there is no image ${workload.image}` });
        }
        for (const volume of workload.volumes) this.#volumes.set(volume.id, workload.owner.service);
        for (let index = workload.firstInstance ?? 0; index < workload.instances; index += 1) this.#run(workload, index);
      }),
    awaitReady: (workload, { signal }) =>
      this.#call({ method: 'awaitReady', service: workload.owner.service, detail: workload.rollout }, signal, () =>
        this.#select({
          service: workload.owner.service,
          rollout: workload.rollout,
          fromIndex: workload.firstInstance ?? 0,
        }).map(({ instance }) => instance),
      ),
    keepUp: () => Promise.resolve(),
    observe: (selector, signal) =>
      this.#call({ method: 'observe', service: selector.service ?? '', detail: '' }, signal, () =>
        this.#select(selector).map(({ instance }) => instance),
      ),
    retire: (selector, _grace, { signal }) => {
      const instances = this.#select(selector).map(({ instance }) => instance.id);
      const called = { method: 'retire', service: selector.service ?? '', detail: selector.rollout ?? '', instances };
      return this.#call(called, signal, () => {
        this.#remove(this.#select(selector));
        const { service, rollout, exceptRollout, fromIndex } = selector;
        const isWhole = rollout === undefined && exceptRollout === undefined && fromIndex === undefined;
        if (service !== undefined && isWhole) this.scaling.services.delete(service);
      });
    },
    revive: (id, { signal }) =>
      this.#call({ method: 'revive', service: this.#containers.get(id)?.instance.service ?? '', detail: id }, signal, () => {
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
      }),
    removeService: (_environment, service, { signal }) =>
      this.#call({ method: 'removeService', service, detail: '' }, signal, () => {
        this.schedules.armed.delete(service);
        this.#remove(this.#select({ service }));
        for (const [id, owner] of this.#volumes) if (owner === service) this.#volumes.delete(id);
        for (const name of this.images.keys()) if (name.includes(service)) this.images.delete(name);
      }),
    removeEnvironment: (environment, { signal }) =>
      this.#call({ method: 'removeEnvironment', service: '', detail: environment }, signal, () =>
        this.#remove(this.#select({ environment })),
      ),
    probe: (_workload, instance, which, signal) =>
      this.#call({ method: 'probe', service: instance.service, detail: which }, signal, () => this.probeAnswer(which)),
    followLogs: (id, position, onLine, signal) => this.#follow(id, position?.at ?? null, onLine, signal),
    readFile: (id, { path }, signal) =>
      this.#call({ method: 'readFile', service: '', detail: path }, signal, () => this.#files.get(`${id} ${path}`) ?? null),
    download: (id, path, signal) =>
      this.#call({ method: 'takeOut', service: this.#serviceOf(id), detail: path }, signal, () =>
        Readable.from([Buffer.from(this.#files.get(`${id} ${path}`) ?? '')]),
      ),
    upload: async (id, { folder, archive }, signal) => {
      const text = (await buffer(archive)).toString();
      await this.#call({ method: 'putInto', service: this.#serviceOf(id), detail: folder }, signal, () => {
        this.write(id, folder, text);
      });
    },
    watch: async (onEvent, signal) => {
      this.#watchers.add(onEvent);
      await aborted(signal);
      this.#watchers.delete(onEvent);
    },
    disk: {
      written: (id, signal) =>
        this.#call({ method: 'written', service: this.#serviceOf(id), detail: id }, signal, () =>
          this.#containers.has(id) ? (this.writtenBytes.get(id) ?? 0) : null,
        ),
      remove: (id, _graceSeconds, { signal }) =>
        this.#call({ method: 'removeInstance', service: this.#serviceOf(id), detail: id }, signal, () =>
          this.#remove([...this.#containers.values()].filter(({ instance }) => instance.id === id)),
        ),
    },
    metrics: {
      usage: (signal) =>
        this.#call({ method: 'usage', service: '', detail: '' }, signal, () =>
          [...this.#containers.values()].filter(({ instance }) => instance.state === 'RUNNING').map(toUsage),
        ),
      volumes: (signal) =>
        this.#call({ method: 'volumes', service: '', detail: '' }, signal, () =>
          [...this.volumeBytes].map(([service, bytes]) => ({ service, bytes })),
        ),
      pressure: (signal) => this.#call({ method: 'pressure', service: '', detail: '' }, signal, () => this.pressure),
    },
  };

  #serviceOf(id: string): string {
    return this.#containers.get(id)?.instance.service ?? '';
  }

  async #follow(id: string, since: string | null, onLine: OnLine, signal: AbortSignal): Promise<void> {
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

  readonly gateway: Gateway = {
    check: (table) => void checkedTable(table, 0),
    start: () => Promise.resolve(),
    apply: async (table) => {
      await this.#call({ method: 'apply', service: '', detail: '' }, new AbortController().signal, () => {
        this.#routes = table;
      });
    },
    awaitDrained: async (ids) => {
      await this.#call(
        { method: 'awaitDrained', service: '', detail: ids.join(' ') },
        new AbortController().signal,
        () => undefined,
      );
    },
    traffic: () => Promise.resolve([...this.traffic.values()]),
    isUp: () => this.isGatewayUp,
    stop: () => Promise.resolve(),
  };
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

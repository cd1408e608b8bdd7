import { createHash } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import type {
  BuildRequest,
  BuiltImage,
  CallContext,
  ClusterDriver,
  Commit,
  Gateway,
  GitSource,
  ImageBuilder,
  InstanceEvent,
  InstanceUsage,
  RouteTable,
  RouteTraffic,
  SourceDriver,
} from '../driver.ts';
import { DriverError } from '../errors.ts';
import type { DiskSpace, ImageStore } from '../stored-images.ts';
import { checkedTable } from '../shared/route-table.ts';
import type { Instance, LogLine, Selector, Workload } from '../workload.ts';

/** One call of a driver's method, as scripts and tests see it. */
export interface FakeCall {
  readonly method: string;
  /** The service concerned; '' where there is none. */
  readonly service: string;
  readonly detail: string;
}

/**
 * Called before a call takes effect: may throw (the call fails), wait (it is slow), or never resolve (it hangs until its signal
 * aborts). `after` is called when it has taken effect: throwing there is an answer that was lost on its way.
 */
export interface FakeScript {
  before?(call: FakeCall, signal: AbortSignal): Promise<void> | void;
  after?(call: FakeCall, signal: AbortSignal): Promise<void> | void;
}

/** A cluster in memory, with builder, git and gateway: behaves as the interfaces say and fails, hangs and lies on demand. */
export interface FakeCluster {
  readonly cluster: ClusterDriver;
  readonly builder: ImageBuilder;
  readonly source: SourceDriver;
  readonly gateway: Gateway;
  readonly imageStore: ImageStore;
  /** What the disk of the images is said to have; null: it is another machine's. Replaceable at any time. */
  space: DiskSpace | null;
  /** Replaceable at any time. */
  script: FakeScript;
  /** Commit that a branch means now; by default one that is derived from URL and branch. */
  readonly branches: Map<string, string>;
  readonly calls: readonly FakeCall[];
  readonly instances: readonly Instance[];
  /** By name. */
  readonly images: Map<string, BuiltImage>;
  readonly volumes: ReadonlySet<string>;
  readonly routes: RouteTable;
  /** What builds were asked for, in order. */
  readonly builds: readonly BuildRequest[];
  /** What an instance was started with, by instance id. */
  readonly workloads: ReadonlyMap<string, Workload>;
  /** Ends a process as if it had died. */
  kill(instanceId: string, exitCode: number): void;
  /** A line of output. */
  print(instanceId: string, text: string): void;
  /** What an instance uses from now on; by default a thousandth of a processor and 16 MiB. */
  use(instanceId: string, use: FakeUse): void;
  /** What went through routes, by the route's id; scripts add to it. */
  readonly traffic: Map<string, RouteTraffic>;
  /** Bytes in the volumes of a service, by its id. */
  readonly volumeBytes: Map<string, number>;
  /** Of the cluster's machine; replaceable at any time. */
  capacity: { readonly cpuMillicores: number; readonly memoryMiB: number };
  /** Writes a file inside an instance. */
  write(instanceId: string, path: string, text: string): void;
}

/** What an instance of the fake uses. Counters follow from it and the time that passes. */
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
  script: FakeScript = {};
  space: DiskSpace | null = null;
  readonly branches = new Map<string, string>();
  readonly calls: FakeCall[] = [];
  readonly images = new Map<string, BuiltImage>();
  readonly builds: BuildRequest[] = [];
  readonly traffic = new Map<string, RouteTraffic>();
  readonly volumeBytes = new Map<string, number>();
  capacity = { cpuMillicores: 64_000, memoryMiB: 262_144 };
  readonly #volumes = new Map<string, string>();
  readonly #files = new Map<string, string>();
  readonly #containers = new Map<string, Container>();
  readonly #watchers = new Set<(event: InstanceEvent) => void>();
  readonly #readers = new Map<string, Set<(line: LogLine | null) => void>>();
  #routes: RouteTable = { http: [], tcp: [] };
  #count = 0;
  #lines = 0;

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

  kill(instanceId: string, exitCode: number): void {
    const container = this.#containers.get(instanceId);
    if (container === undefined) return;
    const exit = { code: exitCode, outOfMemory: false, at: new Date().toISOString() };
    container.instance = { ...container.instance, state: 'EXITED', exit, endpoints: [] };
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

  async #call<T>(call: FakeCall, signal: AbortSignal, effect: () => T): Promise<T> {
    this.calls.push(call);
    signal.throwIfAborted();
    await orAborted(this.script.before?.(call, signal), signal);
    const result = effect();
    await orAborted(this.script.after?.(call, signal), signal);
    return result;
  }

  #emit(type: InstanceEvent['type'], instance: Instance): void {
    for (const watcher of this.#watchers) watcher({ type, service: instance.service, instance: instance.id });
  }

  #select(selector: Selector): Container[] {
    return [...this.#containers.values()].filter(
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
      this.#emit('REMOVED', instance);
      for (const read of this.#readers.get(instance.id) ?? []) read(null);
    }
  }

  #run(workload: Workload, index: number): void {
    const name = `${workload.name}-${workload.rollout.slice(0, 8)}-${index}`;
    const existing = [...this.#containers.values()].find(
      ({ instance }) =>
        instance.service === workload.owner.service && instance.rollout === workload.rollout && instance.index === index,
    );
    if (existing !== undefined) return;
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
    };
    const unused = { use: { cpuMillicores: 1, memoryMiB: 16 }, cpuMilliseconds: 0, usedAt: Date.now() };
    this.#containers.set(instance.id, { instance, workload, lines: [], ...unused });
    this.#emit('STARTED', instance);
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
    start: (workload, { signal }) =>
      this.#call({ method: 'start', service: workload.owner.service, detail: workload.rollout }, signal, () => {
        if (![...this.images.values()].some((image) => image.id === workload.image)) {
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
    observe: (selector, signal) =>
      this.#call({ method: 'observe', service: selector.service ?? '', detail: '' }, signal, () =>
        this.#select(selector).map(({ instance }) => instance),
      ),
    retire: (selector, _grace, { signal }) =>
      this.#call({ method: 'retire', service: selector.service ?? '', detail: selector.rollout ?? '' }, signal, () =>
        this.#remove(this.#select(selector)),
      ),
    revive: (id, { signal }) =>
      this.#call({ method: 'revive', service: this.#containers.get(id)?.instance.service ?? '', detail: id }, signal, () => {
        const container = this.#containers.get(id);
        if (container === undefined) return;
        const { ports } = container.workload;
        container.instance = {
          ...container.instance,
          state: 'RUNNING',
          exit: null,
          startedAt: new Date().toISOString(),
          endpoints: ports.map((port) => ({ internalPort: port.internalPort, host: '10.0.0.1', port: port.internalPort })),
        };
        this.#emit('STARTED', container.instance);
      }),
    removeService: (_environment, service, { signal }) =>
      this.#call({ method: 'removeService', service, detail: '' }, signal, () => {
        this.#remove(this.#select({ service }));
        for (const [id, owner] of this.#volumes) if (owner === service) this.#volumes.delete(id);
        for (const name of this.images.keys()) if (name.includes(service)) this.images.delete(name);
      }),
    removeEnvironment: (environment, { signal }) =>
      this.#call({ method: 'removeEnvironment', service: '', detail: environment }, signal, () =>
        this.#remove(this.#select({ environment })),
      ),
    probe: (_workload, instance, which, signal) =>
      this.#call({ method: 'probe', service: instance.service, detail: which }, signal, () => null),
    followLogs: (id, since, onLine, signal) => this.#follow(id, since, onLine, signal),
    readFile: (id, { path }, signal) =>
      this.#call({ method: 'readFile', service: '', detail: path }, signal, () => this.#files.get(`${id} ${path}`) ?? null),
    takeOut: (id, path, signal) =>
      this.#call({ method: 'takeOut', service: this.#serviceOf(id), detail: path }, signal, () =>
        Readable.from([Buffer.from(this.#files.get(`${id} ${path}`) ?? '')]),
      ),
    putInto: async (id, { folder, archive }, signal) => {
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
    metrics: {
      usage: (signal) =>
        this.#call({ method: 'usage', service: '', detail: '' }, signal, () =>
          [...this.#containers.values()].filter(({ instance }) => instance.state === 'RUNNING').map(toUsage),
        ),
      volumes: (signal) =>
        this.#call({ method: 'volumes', service: '', detail: '' }, signal, () =>
          [...this.volumeBytes].map(([service, bytes]) => ({ service, bytes })),
        ),
    },
  };

  #serviceOf(id: string): string {
    return this.#containers.get(id)?.instance.service ?? '';
  }

  async #follow(id: string, since: string | null, onLine: (line: LogLine) => void, signal: AbortSignal): Promise<void> {
    const container = this.#containers.get(id);
    if (container === undefined) return;
    for (const line of container.lines) if (since === null || line.timestamp > since) onLine(line);
    if (container.instance.state !== 'RUNNING' || signal.aborted) return;
    await new Promise<void>((resolve) => {
      const readers = this.#readers.get(id) ?? new Set();
      this.#readers.set(id, readers);
      const end = (): void => {
        readers.delete(read);
        resolve();
      };
      const read = (line: LogLine | null): void => (line === null ? end() : onLine(line));
      readers.add(read);
      signal.addEventListener('abort', end, { once: true });
    });
  }

  readonly builder: ImageBuilder = {
    declaredArguments: () => Promise.resolve([]),
    find: (image, signal) =>
      this.#call({ method: 'find', service: serviceOf(image), detail: image }, signal, () => this.images.get(image) ?? null),
    build: (request: BuildRequest, context: CallContext) =>
      this.#call({ method: 'build', service: request.owner.service, detail: request.image }, context.signal, () => {
        this.builds.push(request);
        context.log(`building ${request.image}`);
        const image = { id: `sha256:${digest(request.image)}`, sizeBytes: 1_000 };
        this.images.set(request.image, image);
        return image;
      }),
    pull: ({ reference }, { signal }) =>
      this.#call({ method: 'pull', service: '', detail: reference }, signal, () => {
        const id = `sha256:${digest(reference)}`;
        this.images.set(reference, { id, sizeBytes: 1_000 });
        return { id, sizeBytes: 1_000, digest: id };
      }),
    removeImages: (ids, { signal }) =>
      this.#call({ method: 'removeImages', service: '', detail: ids.join(' ') }, signal, () => {
        for (const [name, image] of this.images) if (ids.includes(image.id)) this.images.delete(name);
      }),
  };

  readonly imageStore: ImageStore = {
    list: (signal) =>
      this.#call({ method: 'list', service: '', detail: '' }, signal, () =>
        [...Map.groupBy(this.images, ([, { id }]) => id)].map(([id, named]) => ({
          id,
          names: named.map(([name]) => name),
          sizeBytes: 1_000,
          createdAt: '2026-01-01T00:00:00.000Z',
          service: named.map(([name]) => builtFor(name)).find((service) => service !== null) ?? null,
        })),
      ),
    space: (signal) => this.#call({ method: 'space', service: '', detail: '' }, signal, () => this.space),
    release: ({ id, names }, { signal }) =>
      this.#call({ method: 'release', service: '', detail: id }, signal, () => {
        for (const [name, image] of this.images) if (image.id === id && names.includes(name)) this.images.delete(name);
        return [...this.images.values()].some((image) => image.id === id) ? 'NAMED' : 'GONE';
      }),
  };

  readonly source: SourceDriver = {
    resolve: (source: GitSource, { signal }) =>
      this.#call({ method: 'resolve', service: '', detail: source.url }, signal, () => source.commit ?? this.#head(source)),
    checkout: async (source, directory, { signal }) => {
      const commit = await this.#call({ method: 'checkout', service: '', detail: source.url }, signal, (): Commit => ({
        ...fakeCommit,
        id: source.commit,
      }));
      await mkdir(directory, { recursive: true });
      await writeFile(join(directory, 'Dockerfile'), fakeDockerfile);
      return commit;
    },
    files: (source, { paths }, { signal }) =>
      this.#call({ method: 'files', service: '', detail: source.url }, signal, () =>
        paths.map((path) => (path === 'Dockerfile' ? fakeDockerfile : null)),
      ),
    heads: (source, { signal }) =>
      this.#call({ method: 'heads', service: '', detail: source.url }, signal, () => ({
        defaultBranch: 'main',
        branches: new Map([['main', this.#head(source)], ...this.branches]),
      })),
    changes: (source, { base, head }, { signal }) =>
      this.#call({ method: 'changes', service: '', detail: source.url }, signal, () => ({
        isForward: true,
        files: base === head ? [] : ['Dockerfile'],
      })),
    history: (source, _limit, { signal }) =>
      this.#call({ method: 'history', service: '', detail: source.url }, signal, () => [
        { ...fakeCommit, id: this.#head(source), authorEmail: 'author@example.org' },
      ]),
  };

  #head(source: GitSource): string {
    return this.branches.get(source.branch ?? 'main') ?? digest(`${source.url} ${source.branch ?? 'main'}`).slice(0, 40);
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

/** The only file of a repository here. */
const fakeDockerfile = 'FROM scratch\n';

const fakeCommit = { message: 'a change', authorName: 'An Author', createdAt: '2026-01-01T00:00:00.000Z', tag: '' };

function digest(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

function builtFor(name: string): string | null {
  return /^davit\/([^:]+):/.exec(name)?.[1] ?? null;
}

function serviceOf(image: string): string {
  return image.split('/')[1]?.split(':')[0] ?? '';
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
}

async function orAborted(work: Promise<void> | void, signal: AbortSignal): Promise<void> {
  if (work === undefined) return;
  await Promise.race([work, aborted(signal)]);
  signal.throwIfAborted();
}

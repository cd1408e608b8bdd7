import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import type { ClusterDriver, InstancePressure } from '../driver.ts';
import type { Gateway, RouteTable, RouteTraffic } from '../gateway.ts';
import type { BuildRequest, BuiltImage, EngineImages, PullRequest, PushRequest } from '../image-builder.ts';
import type { SourceDriver } from '../source-driver.ts';
import { DriverError } from '../errors.ts';
import { Calls, type FakeCall, type FakeScript } from './calls.ts';
import { FakeContainers, type FakeUse } from './fake-containers.ts';
import { FakeGateway } from './fake-gateway.ts';
import { FakeImages } from './fake-images.ts';
import { FakeScaling } from './fake-scaling.ts';
import { FakeSchedules } from './fake-schedules.ts';
import { fakeSource } from './fake-source.ts';
import type { DiskSpace, ImageStore } from '../stored-images.ts';
import type { Instance, Workload } from '../workload.ts';

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
  /** For clusters that start runs themselves: the `capability` of this object is not part of `cluster`. */
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
  readonly #gateway = new FakeGateway(this.#calls);
  readonly gateway = this.#gateway.driver;
  readonly traffic = this.#gateway.traffic;
  readonly volumeBytes = new Map<string, number>();
  pressure: readonly InstancePressure[] = [];
  probeAnswer: FakeCluster['probeAnswer'] = () => null;
  readonly writtenBytes = new Map<string, number>();
  capacity = { cpuMillicores: 64_000, memoryMiB: 262_144 };
  readonly schedules = new FakeSchedules({
    calls: this.#calls,
    instances: () => this.instances,
    run: (workload) => this.#containers.run(workload, 0, { scheduled: true }),
  });
  readonly #volumes = new Map<string, string>();
  readonly #files = new Map<string, string>();
  readonly #containers = new FakeContainers();

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

  get isGatewayUp(): boolean {
    return this.#gateway.isUp;
  }

  set isGatewayUp(isUp: boolean) {
    this.#gateway.isUp = isUp;
  }

  get instances(): readonly Instance[] {
    return this.#containers.instances;
  }

  get workloads(): ReadonlyMap<string, Workload> {
    return this.#containers.workloads;
  }

  get volumes(): ReadonlySet<string> {
    return new Set(this.#volumes.keys());
  }

  get routes(): RouteTable {
    return this.#gateway.routes;
  }

  kill(instanceId: string, exitCode: number, outOfMemory = false): void {
    this.#containers.kill(instanceId, exitCode, outOfMemory);
  }

  print(instanceId: string, text: string): void {
    this.#containers.print(instanceId, text);
  }

  use(instanceId: string, use: FakeUse): void {
    this.#containers.use(instanceId, use);
  }

  write(instanceId: string, path: string, text: string): void {
    this.#files.set(`${instanceId} ${path}`, text);
  }

  #call<T>(call: FakeCall, signal: AbortSignal, effect: () => T): Promise<T> {
    return this.#calls.call(call, signal, effect);
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
        if (!this.#made.has(workload.image)) {
          throw new DriverError({ cause: 'IMAGE_MISSING', message: `there is no image ${workload.image}` });
        }
        for (const volume of workload.volumes) this.#volumes.set(volume.id, workload.owner.service);
        for (let index = workload.firstInstance ?? 0; index < workload.instances; index += 1)
          this.#containers.run(workload, index);
      }),
    awaitReady: (workload, { signal }) =>
      this.#call({ method: 'awaitReady', service: workload.owner.service, detail: workload.rollout }, signal, () =>
        this.#containers
          .select({
            service: workload.owner.service,
            rollout: workload.rollout,
            fromIndex: workload.firstInstance ?? 0,
          })
          .map(({ instance }) => instance),
      ),
    setRestartPolicy: (instances) => Promise.resolve(this.#containers.setRestartPolicy(instances)),
    observe: (selector, signal) =>
      this.#call({ method: 'observe', service: selector.service ?? '', detail: '' }, signal, () =>
        this.#containers.select(selector).map(({ instance }) => instance),
      ),
    retire: (selector, _grace, { signal }) => {
      const instances = this.#containers.select(selector).map(({ instance }) => instance.id);
      const called = { method: 'retire', service: selector.service ?? '', detail: selector.rollout ?? '', instances };
      return this.#call(called, signal, () => {
        this.#containers.remove(this.#containers.select(selector));
        const { service, rollout, exceptRollout, fromIndex } = selector;
        const isWhole = rollout === undefined && exceptRollout === undefined && fromIndex === undefined;
        if (service !== undefined && isWhole) this.scaling.services.delete(service);
      });
    },
    revive: (id, { signal }) =>
      this.#call({ method: 'revive', service: this.#containers.serviceOf(id), detail: id }, signal, () =>
        this.#containers.revive(id),
      ),
    removeService: (_environment, service, { signal }) =>
      this.#call({ method: 'removeService', service, detail: '' }, signal, () => {
        this.schedules.armed.delete(service);
        this.#containers.remove(this.#containers.select({ service }));
        for (const [id, owner] of this.#volumes) if (owner === service) this.#volumes.delete(id);
        for (const name of this.images.keys()) if (name.includes(service)) this.images.delete(name);
      }),
    removeEnvironment: (environment, { signal }) =>
      this.#call({ method: 'removeEnvironment', service: '', detail: environment }, signal, () =>
        this.#containers.remove(this.#containers.select({ environment })),
      ),
    probe: (_workload, instance, which, signal) =>
      this.#call({ method: 'probe', service: instance.service, detail: which }, signal, () => this.probeAnswer(which)),
    followLogs: (id, position, onLine, signal) => this.#containers.follow(id, position?.at ?? null, onLine, signal),
    readFile: (id, { path }, signal) =>
      this.#call({ method: 'readFile', service: '', detail: path }, signal, () => this.#files.get(`${id} ${path}`) ?? null),
    download: (id, path, signal) =>
      this.#call({ method: 'takeOut', service: this.#containers.serviceOf(id), detail: path }, signal, () =>
        Readable.from([Buffer.from(this.#files.get(`${id} ${path}`) ?? '')]),
      ),
    upload: async (id, { folder, archive }, signal) => {
      const text = (await buffer(archive)).toString();
      await this.#call({ method: 'putInto', service: this.#containers.serviceOf(id), detail: folder }, signal, () => {
        this.write(id, folder, text);
      });
    },
    watch: (onEvent, signal) => this.#containers.watch(onEvent, signal),
    disk: {
      written: (id, signal) =>
        this.#call({ method: 'written', service: this.#containers.serviceOf(id), detail: id }, signal, () =>
          this.#containers.has(id) ? (this.writtenBytes.get(id) ?? 0) : null,
        ),
      remove: (id, _graceSeconds, { signal }) =>
        this.#call({ method: 'removeInstance', service: this.#containers.serviceOf(id), detail: id }, signal, () =>
          this.#containers.removeInstance(id),
        ),
    },
    metrics: {
      usage: (signal) => this.#call({ method: 'usage', service: '', detail: '' }, signal, () => this.#containers.usage()),
      volumes: (signal) =>
        this.#call({ method: 'volumes', service: '', detail: '' }, signal, () =>
          [...this.volumeBytes].map(([service, bytes]) => ({ service, bytes })),
        ),
      pressure: (signal) => this.#call({ method: 'pressure', service: '', detail: '' }, signal, () => this.pressure),
    },
  };
}

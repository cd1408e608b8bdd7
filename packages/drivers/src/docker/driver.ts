import type { Readable } from 'node:stream';
import { inParallel } from '@davit/base';
import type { EngineConnection } from './connection.ts';
import type {
  CallContext,
  ClusterDescription,
  ClusterDisk,
  ClusterDriver,
  ClusterMetrics,
  InstanceEvent,
  OnLine,
} from '../driver.ts';
import type { Instance, LogPosition, Selector, Workload } from '../workload.ts';
import { Addresses } from './addresses.ts';
import { upload, download } from './archives.ts';
import { ClosedNetworks } from './closed-networks.ts';
import { fullTraits } from './container-spec.ts';
import { call } from './engine-api.ts';
import { askVersion, describeEngine } from './describe.ts';
import { Ends } from './ends.ts';
import { inspectSelected, restartPolicy, toInstance, type Inspection, type ReadyScope } from './instances.ts';
import { bridgeName } from './names.ts';
import { followLogs } from './logs.ts';
import { engineDisk } from './disk.ts';
import { engineMetrics } from './metrics.ts';
import { pressureOf } from './pressure.ts';
import { probeOnce } from './probes/probe.ts';
import { awaitReady } from './ready.ts';
import { readFile } from './read-file.ts';
import { removeEnvironment, removeService, retire, revive } from './removal.ts';
import { startWorkload, type EngineMemory } from './start.ts';
import { translated } from './refusals.ts';
import { watchEvents } from './watch.ts';

export interface DockerDriverInput {
  /** Connection whose API version has been negotiated: see `openDockerEngine`. */
  readonly docker: EngineConnection;
  /** Id of the installation whose objects this driver creates and sees. */
  readonly installation: string;
  readonly engine: 'docker' | 'podman';
  /** Thousandths of a processor of the engine's machine. */
  readonly cpuMillicores: number;
  /** Whether containers are reachable at their own addresses. If false, ports are published on 127.0.0.1. */
  readonly isDirect: boolean;
  /** Whether the engine's processes run on this machine, so that their /proc entries may be read. */
  readonly isLocal: boolean;
  /**
   * IP address of this machine on which public UDP ports are published: `0.0.0.0` for all of IPv4, `::` for all of IPv4
   * and IPv6. Default: 127.0.0.1.
   */
  readonly publicAddress?: string;
  /** Whether services get an address inside their environment that stays (see `addresses`). Default: false. */
  readonly keepsAddresses?: boolean;
}

/** The cluster driver for Docker Engine (API 1.41 or later) and Podman's compatible API (4.3 or later). */
export function createDockerDriver(input: DockerDriverInput): ClusterDriver {
  return new DockerDriver(input);
}

class DockerDriver implements ClusterDriver {
  readonly kind = 'docker';
  readonly #scope: ReadyScope;
  readonly #memory: EngineMemory;
  readonly #ends = new Ends();
  /** All instances of the last full observation. */
  #observed: readonly Inspection[] = [];
  readonly #closed: ClosedNetworks;
  readonly metrics: ClusterMetrics;
  readonly disk: ClusterDisk;
  readonly addresses: Addresses | undefined;

  constructor(input: DockerDriverInput) {
    const { docker, installation, isDirect, isLocal, publicAddress = fullTraits.publicAddress } = input;
    this.#scope = { docker, installation, isDirect, isLocal, engine: input.engine };
    this.metrics = {
      ...engineMetrics(this.#scope),
      pressure: () => (isLocal ? pressureOf(this.#observed) : Promise.resolve([])),
    };
    this.disk = engineDisk(this.#scope);
    const publishOn = isDirect ? null : '127.0.0.1';
    const traits = { ...fullTraits, cpuMillicores: input.cpuMillicores, publishOn, publicAddress };
    this.#closed = new ClosedNetworks(isLocal);
    this.addresses = input.keepsAddresses === true ? new Addresses(this.#scope) : undefined;
    this.#memory = {
      traits,
      known: new Set(),
      underWay: new Map(),
      engine: input.engine,
      closed: this.#closed,
      addresses: this.addresses,
    };
  }

  async describe(signal: AbortSignal): Promise<ClusterDescription> {
    return describeEngine(this.#scope.docker, signal);
  }

  async ping(signal: AbortSignal): Promise<void> {
    await askVersion(this.#scope.docker, signal);
  }

  async start(workload: Workload, context: CallContext): Promise<void> {
    await startWorkload(this.#scope, this.#memory, workload, context);
  }

  async awaitReady(workload: Workload, context: CallContext): Promise<readonly Instance[]> {
    return awaitReady(this.#scope, workload, context);
  }

  // Sets the restart policy only once the instance serves, so that the engine never restarts a failing instance. The
  // policy restarts instances after a reboot even while Davit is not running. Podman 4.3 restarts without any pause
  // between attempts, so with Podman only Davit restarts instances.
  async setRestartPolicy(instances: readonly Instance[], signal: AbortSignal): Promise<void> {
    if (this.#scope.engine !== 'docker') return;
    const body = { RestartPolicy: { Name: restartPolicy } };
    try {
      await inParallel(instances, 4, ({ id }) =>
        call(this.#scope.docker, { method: 'POST', path: `/containers/${id}/update`, body, signal, accept: [404] }),
      );
    } catch (error) {
      throw translated(error, 'The restart policy could not be set');
    }
  }

  async observe(selector: Selector, signal: AbortSignal): Promise<readonly Instance[]> {
    try {
      const inspections = await inspectSelected(this.#scope, selector, signal);
      if (Object.keys(selector).length === 0) this.#observed = inspections;
      const instances = inspections.map((inspection) => this.#toInstance(inspection));
      await this.#close(instances);
      return instances;
    } catch (error) {
      throw translated(error, 'The instances could not be listed');
    }
  }

  #toInstance(inspection: Inspection): Instance {
    const instance = toInstance(inspection, this.#scope);
    if (instance.lastEnd === undefined) return instance;
    return { ...instance, lastEnd: this.#ends.complete(instance.id, instance.lastEnd) };
  }

  /**
   * Closes the networks of the observed instances. This includes networks from before an upgrade, a reboot or a reload
   * of the firewall: after these events no instance is started through Davit.
   */
  async #close(instances: readonly Instance[]): Promise<void> {
    const { installation } = this.#scope;
    const bridges = instances.map(({ environment }) => bridgeName({ installation, environment }));
    // A failing firewall must not hide the running instances. `start` and `davit doctor` report the failure.
    await this.#closed.close(bridges).catch(() => undefined);
  }

  async retire(selector: Selector, graceSeconds: number, context: CallContext): Promise<void> {
    await retire(this.#scope, selector, graceSeconds, context);
  }

  async revive(instanceId: string, context: CallContext): Promise<void> {
    await revive(this.#scope, instanceId, context);
  }

  async removeService(environment: string, service: string, context: CallContext): Promise<void> {
    this.#memory.known.clear();
    await removeService(this.#scope, { environment, service }, context);
  }

  async removeEnvironment(environment: string, context: CallContext): Promise<void> {
    this.#memory.known.clear();
    await removeEnvironment(this.#scope, environment, context);
    await this.#closed.forget(bridgeName({ installation: this.#scope.installation, environment })).catch(() => undefined);
  }

  async probe(
    workload: Workload,
    instance: Instance,
    which: 'readiness' | 'liveness',
    signal: AbortSignal,
  ): Promise<string | null> {
    const probe = workload[which];
    return probe === null ? null : probeOnce(this.#scope, probe, instance, signal);
  }

  async followLogs(instanceId: string, position: LogPosition | null, onLine: OnLine, signal: AbortSignal): Promise<void> {
    await followLogs(this.#scope.docker, instanceId, position?.at ?? null, { onLine, signal });
  }

  async readFile(
    instanceId: string,
    file: { readonly path: string; readonly maxBytes: number },
    signal: AbortSignal,
  ): Promise<string | null> {
    return readFile(this.#scope.docker, instanceId, file, signal);
  }

  async download(instanceId: string, path: string, signal: AbortSignal): Promise<Readable> {
    return download(this.#scope.docker, instanceId, path, signal);
  }

  async upload(
    instanceId: string,
    what: { readonly folder: string; readonly archive: Readable },
    signal: AbortSignal,
  ): Promise<void> {
    await upload(this.#scope.docker, instanceId, what, signal);
  }

  async watch(onEvent: (event: InstanceEvent) => void, signal: AbortSignal): Promise<void> {
    const noted = (event: InstanceEvent): void => {
      if (event.type !== 'STARTED') this.addresses?.ended(event.instance);
      onEvent(event);
    };
    await watchEvents(this.#scope, { ends: this.#ends, onEvent: noted }, signal);
  }
}

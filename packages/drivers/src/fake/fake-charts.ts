import { Sensitive } from '@davit/base';
import { DriverError } from '../errors.ts';
import type {
  ChartObject,
  ChartRevision,
  ChartState,
  ChartAccessRequest,
  ClusterCharts,
  HelmDriver,
  HelmInstall,
  HelmRun,
  HelmSession,
} from '../helm-driver.ts';

interface FakeRevision extends ChartRevision {
  readonly install: HelmInstall;
}

/** Helm, and a cluster with its releases, in memory. */
export interface FakeCharts {
  readonly helm: HelmDriver;
  readonly charts: ClusterCharts;
  /** Revisions by release, oldest first. */
  readonly releases: ReadonlyMap<string, readonly ChartRevision[]>;
  /** Returns the last installed version of a release that still exists; undefined if there is none. */
  live(release: string): HelmInstall | undefined;
  /** The operations performed, in order: `upgrade`, `rollback 1`, `uninstall`, `stop`, … */
  readonly done: string[];
  /** Called while an upgrade waits. It may throw, wait, or hang until the signal aborts. Replaceable at any time. */
  onUpgrade: ((signal: AbortSignal) => Promise<void>) | null;
  /** Called before a rollback begins. Replaceable at any time. */
  onRollback: ((options: { readonly waits: boolean }, signal: AbortSignal) => Promise<void>) | null;
  /** Called before each call to the cluster, with the name of the method. Replaceable at any time. */
  onAsk: ((what: keyof ClusterCharts) => Promise<void>) | null;
  /** If true, Helm is killed instead of stopping gracefully: the operation stays half done. */
  dies: boolean;
  /** The objects that lie outside the namespace. */
  outside: readonly string[];
  /** Whether the operator allows charts to use Davit's own account. */
  allowsClusterWide: boolean;
  /** The access that was requested for Helm, in order. */
  readonly accessRequests: readonly ChartAccessRequest[];
  state: Omit<ChartState, 'instances'>;
  /** Returns another cluster with that name, for the same Helm. */
  elsewhere(name: string): FakeCharts;
  /** Installs a release as if somebody else did. */
  take(release: string): void;
}

export function createFakeCharts(): FakeCharts {
  return new MemoryCharts();
}

const object: ChartObject = { apiVersion: 'apps/v1', kind: 'Deployment', name: 'web', namespace: null, saysScale: true };

class MemoryCharts implements FakeCharts {
  readonly #name: string;
  readonly #others = new Map<string, MemoryCharts>();
  readonly releases = new Map<string, FakeRevision[]>();
  readonly done: string[] = [];
  readonly #marked = new Set<string>();
  readonly #live = new Map<string, HelmInstall>();
  onUpgrade: FakeCharts['onUpgrade'] = null;
  onRollback: FakeCharts['onRollback'] = null;
  onAsk: FakeCharts['onAsk'] = null;
  dies = false;
  outside: readonly string[] = [];
  allowsClusterWide = true;
  readonly accessRequests: ChartAccessRequest[] = [];
  state = { wanted: 1, ready: 1 };

  constructor(name = '') {
    this.#name = name;
  }

  elsewhere(name: string): MemoryCharts {
    const other = this.#others.get(name) ?? new MemoryCharts(name);
    this.#others.set(name, other);
    return other;
  }

  live(release: string): HelmInstall | undefined {
    return this.#live.get(release);
  }

  take(release: string): void {
    const install = { chart: '', root: '', values: { files: [], set: [], setString: [], setJson: [] }, variables: new Map() };
    this.#add(release, { ...install, arguments: [], labels: {} }, 'deployed');
  }

  get helm(): HelmDriver {
    const open: HelmDriver['open'] = (run) => {
      const there = this.#others.get(run.kubeconfig.reveal()) ?? this;
      return Promise.resolve(there.#session(run));
    };
    return { version: () => Promise.resolve('4.0.0'), open };
  }

  get charts(): ClusterCharts {
    const requested = async <Answer>(what: keyof ClusterCharts, answer: () => Answer): Promise<Answer> => {
      await this.onAsk?.(what);
      return answer();
    };
    const note = (what: string): void => void this.done.push(what);
    return {
      access: ({ environment }, access) =>
        requested('access', () => {
          if (access.isClusterWide && !access.takesBack && !this.allowsClusterWide)
            throw new DriverError({ cause: 'HELM_OUTSIDE_ENVIRONMENT', message: 'the operator does not let charts have it' });
          this.accessRequests.push(access);
          return { namespace: environment, kubeconfig: new Sensitive(this.#name) };
        }),
      outside: () => requested('outside', () => this.outside),
      revisions: ({ release }) => requested('revisions', () => this.releases.get(release) ?? []),
      whileWatched: (_chart, _objects, work, { signal }) => work(signal),
      stop: () => requested('stop', () => note('stop')),
      wake: () => requested('wake', () => note('wake')),
      markClaims: ({ release }) => requested('markClaims', () => void this.#marked.add(release)),
      removeClaims: ({ release }) =>
        requested('removeClaims', () => {
          if (this.#marked.delete(release)) note('remove claims');
        }),
      services: () => requested('services', () => []),
      state: () => requested('state', () => ({ ...this.state, instances: [] })),
    };
  }

  #session({ release, install }: HelmRun): HelmSession {
    const wanted = (): HelmInstall => {
      if (install === null) throw new Error('this run installs nothing');
      return install;
    };
    return {
      render: () => Promise.resolve([object]),
      template: () => Promise.resolve([object]),
      diff: () => Promise.resolve(['~ Deployment web']),
      upgrade: ({ signal }) => this.#upgrade(release, wanted(), signal),
      rollback: async (revision, options, { signal }) => {
        await this.onRollback?.(options, signal);
        this.#rollback(release, revision);
      },
      uninstall: () => {
        this.done.push('uninstall');
        this.releases.delete(release);
        this.#live.delete(release);
        return Promise.resolve();
      },
      close: () => Promise.resolve(),
    };
  }

  async #upgrade(release: string, install: HelmInstall, signal: AbortSignal): Promise<void> {
    this.done.push('upgrade');
    const before = this.releases.get(release)?.at(-1);
    if (before?.status.startsWith('pending') === true) {
      throw new DriverError({ cause: 'HELM_FAILED', message: 'another operation is in progress' });
    }
    const kept = this.#add(release, install, before === undefined ? 'pending-install' : 'pending-upgrade');
    this.#live.set(release, install);
    try {
      await this.onUpgrade?.(signal);
      signal.throwIfAborted();
    } catch (error) {
      if (!this.dies) this.#mark(release, kept.revision, 'failed');
      throw error;
    }
    this.#deployed(release, kept.revision);
  }

  #rollback(release: string, revision: number): void {
    this.done.push(`rollback ${revision}`);
    const target = this.releases.get(release)?.find((one) => one.revision === revision);
    if (target === undefined) throw new DriverError({ cause: 'HELM_FAILED', message: `there is no revision ${revision}` });
    this.#live.set(release, target.install);
    this.#deployed(release, this.#add(release, target.install, 'pending-rollback').revision);
  }

  #add(release: string, install: HelmInstall, status: string): FakeRevision {
    const list = this.releases.get(release) ?? [];
    const { 'davit.service': service = null, 'davit.rollout': rollout = null } = install.labels;
    const kept = { revision: list.length + 1, status, service, rollout, install };
    this.releases.set(release, [...list, kept]);
    return kept;
  }

  #mark(release: string, revision: number, status: string): void {
    const list = this.releases.get(release) ?? [];
    this.releases.set(
      release,
      list.map((one) => (one.revision === revision ? { ...one, status } : one)),
    );
  }

  #deployed(release: string, revision: number): void {
    for (const one of this.releases.get(release) ?? [])
      if (one.status === 'deployed') this.#mark(release, one.revision, 'superseded');
    this.#mark(release, revision, 'deployed');
  }
}

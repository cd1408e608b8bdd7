import { Sensitive } from '@davit/base';
import { DriverError } from '../errors.ts';
import type {
  ChartObject,
  ChartRevision,
  ChartState,
  ClusterCharts,
  HelmDriver,
  HelmInstall,
  HelmRun,
  HelmSession,
} from '../helm-driver.ts';

interface Kept extends ChartRevision {
  readonly install: HelmInstall;
}

/** Helm, and a cluster that has its releases, in memory. */
export interface FakeCharts {
  readonly helm: HelmDriver;
  readonly charts: ClusterCharts;
  /** By release, oldest revision first. */
  readonly releases: ReadonlyMap<string, readonly ChartRevision[]>;
  /** What was installed last of a release, and is there; undefined: nothing. */
  live(release: string): HelmInstall | undefined;
  /** What was done, in order: `upgrade`, `rollback 1`, `uninstall`, `stop`, … */
  readonly done: string[];
  /** Called while an upgrade waits: may throw, wait, or hang until the signal aborts. Replaceable at any time. */
  onUpgrade: ((signal: AbortSignal) => Promise<void>) | null;
  /** Helm is killed instead of ending in order: what it was doing stays as it was. */
  dies: boolean;
  /** What of the objects is outside of the namespace. */
  outside: readonly string[];
  state: Omit<ChartState, 'instances'>;
  /** Puts a release there as somebody else would. */
  take(release: string): void;
}

export function createFakeCharts(): FakeCharts {
  return new MemoryCharts();
}

const object: ChartObject = { apiVersion: 'apps/v1', kind: 'Deployment', name: 'web', namespace: null, saysScale: true };

class MemoryCharts implements FakeCharts {
  readonly releases = new Map<string, Kept[]>();
  readonly done: string[] = [];
  readonly #live = new Map<string, HelmInstall>();
  onUpgrade: FakeCharts['onUpgrade'] = null;
  dies = false;
  outside: readonly string[] = [];
  state = { wanted: 1, ready: 1 };

  live(release: string): HelmInstall | undefined {
    return this.#live.get(release);
  }

  take(release: string): void {
    const install = { chart: '', root: '', values: { files: [], set: [], setString: [], setJson: [] }, variables: new Map() };
    this.#add(release, { ...install, arguments: [], labels: {} }, 'deployed');
  }

  get helm(): HelmDriver {
    return { version: () => Promise.resolve('4.0.0'), open: (run) => Promise.resolve(this.#session(run)) };
  }

  get charts(): ClusterCharts {
    const note = (what: string): Promise<void> => Promise.resolve(void this.done.push(what));
    return {
      access: ({ environment }) => Promise.resolve({ namespace: environment, kubeconfig: new Sensitive('') }),
      outside: () => Promise.resolve(this.outside),
      revisions: ({ release }) => Promise.resolve(this.releases.get(release) ?? []),
      whileWatched: (_place, _objects, work, { signal }) => work(signal),
      stop: () => note('stop'),
      wake: () => note('wake'),
      releaseClaims: () => note('release claims'),
      services: () => Promise.resolve([]),
      state: () => Promise.resolve({ ...this.state, instances: [] }),
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
      rollback: (revision) => Promise.resolve(this.#rollback(release, revision)),
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

  #add(release: string, install: HelmInstall, status: string): Kept {
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

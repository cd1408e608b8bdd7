import { randomUUID } from 'node:crypto';
import { Sensitive } from '@davit/base';
import { statement } from '@davit/db';
import {
  createFakeCluster,
  DriverError,
  type ClusterBuilder,
  type ClusterDriver,
  type ClusterRoutes,
  type FakeCall,
  type FakeCharts,
  type FakeCluster,
  type ServedRoutes,
} from '@davit/drivers';
import type { ClusterDrivers, ImageRegistry } from '../shared/cluster-drivers.ts';
import type { ClusterAccess, EnvironmentRef } from '../port.ts';
import type { TestClusters } from './test-engine.ts';

/** A fake remote cluster that can be unreachable and that requires a token. */
export interface Site {
  readonly id: string;
  readonly fake: FakeCluster;
  /** Whether every call fails with a refused connection. */
  isDown: boolean;
  /** The token that the cluster accepts. Davit sends the token of its kubeconfig. */
  token: string;
  /** Called before each call. */
  onCall: ((call: FakeCall) => Promise<void> | void) | null;
  /** The registry that receives images built elsewhere for this cluster; null if there is none. */
  imageRegistry: ImageRegistry | null;
  /** The builder inside the cluster; null if there is none. */
  clusterBuilder: ClusterBuilder | null;
  /** Number of times that drivers were made for the cluster. */
  connections: number;
  /** Routes that the cluster serves itself, by service. Empty for a cluster without routes of its own. */
  readonly led: Map<string, ServedRoutes>;
  /** The fake Helm of the cluster; null if charts cannot be installed on it. */
  charts: FakeCharts | null;
  /** Whether the cluster rejects routes. */
  refusesRoutes: boolean;
  readonly environment: EnvironmentRef;
}

/** Several remote clusters, as the records of clusters list them. */
export class Sites implements TestClusters {
  readonly #sites = new Map<string, Site>();
  readonly #access = new Map<string, ClusterAccess>();
  readonly #builds: boolean;
  readonly #leads: boolean;
  readonly #schedules: boolean;

  /**
   * @param builds Whether images are built on the clusters.
   * @param leads Whether the clusters route requests themselves, in place of a gateway.
   * @param schedules Whether the clusters start scheduled runs themselves.
   */
  constructor(builds = true, leads = false, schedules = false) {
    this.#builds = builds;
    this.#leads = leads;
    this.#schedules = schedules;
  }

  get list(): readonly ClusterAccess[] {
    return [...this.#access.values()];
  }

  /** Adds a cluster for which Davit has valid credentials. */
  add(name: string): Site {
    const fake = createFakeCluster();
    const id = randomUUID();
    const site: Site = {
      id,
      fake,
      isDown: false,
      token: 'good',
      onCall: null,
      imageRegistry: null,
      clusterBuilder: null,
      connections: 0,
      led: new Map(),
      charts: null,
      refusesRoutes: false,
      environment: {
        organizationId: randomUUID(),
        projectId: randomUUID(),
        environmentId: randomUUID(),
        clusterId: id,
        driver: id,
      },
    };
    this.#sites.set(id, site);
    this.give(site, name, 'good');
    return site;
  }

  /** Replaces the credentials that Davit has for the cluster. */
  give(site: Site, name: string, token: string): void {
    this.#access.set(site.id, { id: site.id, name, version: randomUUID(), kubeconfig: new Sensitive(token) });
  }

  /** Removes the record of the cluster. */
  remove(site: Site): void {
    this.#access.delete(site.id);
  }

  get fakes(): readonly FakeCluster[] {
    return [...this.#sites.values()].map(({ fake }) => fake);
  }

  readonly make = (access: ClusterAccess): ClusterDrivers => {
    const site = this.#sites.get(access.id);
    if (site === undefined) throw new Error('there is no such site');
    site.connections += 1;
    const { fake } = site;
    const token = access.kubeconfig.reveal();
    const ended = new AbortController();
    fake.script = {
      before: async (call) => {
        await site.onCall?.(call);
        if (site.isDown) throw new DriverError({ cause: 'ENGINE_UNREACHABLE', message: 'connection refused', retryable: true });
        if (token !== site.token) throw new DriverError({ cause: 'CLUSTER_ACCESS_DENIED', message: 'Unauthorized' });
      },
    };
    const { builder, gateway, imageStore } = fake;
    const { imageRegistry, clusterBuilder } = site;
    const cluster: ClusterDriver = {
      ...fake.cluster,
      start: (workload, call) => {
        const { image } = workload;
        // The cluster pulls the image by itself.
        if (imageRegistry !== null && image.includes('@')) fake.images.set(image, { id: image, sizeBytes: 0 });
        return fake.cluster.start(workload, call);
      },
      ...(this.#leads && { routes: this.#routes(site) }),
      ...(this.#schedules && { schedules: fake.schedules.capability }),
      get charts() {
        return site.charts?.charts;
      },
    };
    return {
      cluster,
      ...(this.#leads ? {} : { gateway }),
      imageStore,
      ...(this.#builds && { builder }),
      ...(imageRegistry !== null && { imageRegistry }),
      ...(clusterBuilder !== null && { clusterBuilder }),
      close: () => ended.abort(),
    };
  };

  #routes(site: Site): ClusterRoutes {
    return {
      apply: async (served) => {
        answer(site);
        if (site.refusesRoutes) throw new DriverError({ cause: 'ENGINE_FAILED', message: 'no such Service' });
        site.led.set(served.owner.service, served);
        return ['Nobody is let in.'];
      },
      remove: async ({ service }) => {
        answer(site);
        site.led.delete(service);
      },
    };
  }
}

function answer({ isDown }: Site): void {
  if (isDown) throw new DriverError({ cause: 'ENGINE_UNREACHABLE', message: 'connection refused', retryable: true });
}

/** The notification that the database sends when the record of a cluster changes. */
export const notifyClusters = statement('test_notify_clusters', `select pg_notify('davit_clusters', '')`);

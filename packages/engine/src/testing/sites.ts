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
import type { ClusterAccess, EnvironmentPlace } from '../port.ts';
import type { WorldClusters } from './world.ts';

/** A fake cluster somewhere else, which can be away and wants a token. */
export interface Site {
  readonly id: string;
  readonly fake: FakeCluster;
  /** Nobody answers. */
  isDown: boolean;
  /** What it takes; what Davit has is in its kubeconfig. */
  token: string;
  /** Called before each call. */
  onCall: ((call: FakeCall) => Promise<void> | void) | null;
  /** Where what is built for it is pushed, where nothing is built on it. */
  imageRegistry: ImageRegistry | null;
  /** What builds inside of it, where something does. */
  clusterBuilder: ClusterBuilder | null;
  /** How often it was connected. */
  connections: number;
  /** By service: what the cluster leads requests from outside to, where it does so itself. */
  readonly led: Map<string, ServedRoutes>;
  /** What Helm needs there, where charts are installed on it. */
  charts: FakeCharts | null;
  /** It leads no requests in. */
  refusesRoutes: boolean;
  readonly place: EnvironmentPlace;
}

/** Several of them, as records say them. */
export class Sites implements WorldClusters {
  readonly #sites = new Map<string, Site>();
  readonly #access = new Map<string, ClusterAccess>();
  readonly #builds: boolean;
  readonly #leads: boolean;
  readonly #schedules: boolean;

  /**
   * `builds`: whether images are built on them; `leads`: whether they lead requests by themselves, in place of a gateway; `schedules`: whether
   * they start the runs of schedules by themselves.
   */
  constructor(builds = true, leads = false, schedules = false) {
    this.#builds = builds;
    this.#leads = leads;
    this.#schedules = schedules;
  }

  get list(): readonly ClusterAccess[] {
    return [...this.#access.values()];
  }

  /** A new cluster with good credentials. */
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
      place: {
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

  /** Other credentials. */
  give(site: Site, name: string, token: string): void {
    this.#access.set(site.id, { id: site.id, name, version: randomUUID(), kubeconfig: new Sensitive(token) });
  }

  /** Its record is gone. */
  remove(site: Site): void {
    this.#access.delete(site.id);
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
        // It pulls by itself.
        if (imageRegistry !== null && image.includes('@')) fake.images.set(image, { id: image, sizeBytes: 0 });
        return fake.cluster.start(workload, call);
      },
      ...(this.#leads && { routes: this.#routes(site) }),
      ...(this.#schedules && { schedules: fake.schedules.power }),
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

/** What the database says where a cluster's record changes. */
export const notifyClusters = statement('testNotifyClusters', `SELECT pg_notify('davit_clusters', '')`);

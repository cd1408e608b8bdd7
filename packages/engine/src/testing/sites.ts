import { randomUUID } from 'node:crypto';
import { Sensitive } from '@davit/base';
import { statement } from '@davit/db';
import { createFakeCluster, DriverError, type FakeCall, type FakeCluster } from '@davit/drivers';
import type { ClusterDrivers } from '../clusters/drivers.ts';
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
  /** How often it was connected. */
  connections: number;
  /** What is led there, where requests are led by a gateway. */
  readonly place: EnvironmentPlace;
}

/** Several of them, as records say them. */
export class Sites implements WorldClusters {
  readonly #sites = new Map<string, Site>();
  readonly #access = new Map<string, ClusterAccess>();
  readonly #builds: boolean;

  /** `builds`: whether images are built on them. */
  constructor(builds = true) {
    this.#builds = builds;
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
      connections: 0,
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
    const { cluster, builder, gateway, imageStore } = fake;
    return { cluster, gateway, imageStore, ...(this.#builds && { builder }), close: () => ended.abort() };
  };
}

/** What the database says where a cluster's record changes. */
export const notifyClusters = statement('testNotifyClusters', `SELECT pg_notify('davit_clusters', '')`);

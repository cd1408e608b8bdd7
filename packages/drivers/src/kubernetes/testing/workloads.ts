import { randomUUID } from 'node:crypto';
import { Sensitive } from '@davit/base';
import type { Workload } from '../../workload.ts';
import { defaultSettings, type ClusterSettings, type ClusterTraits } from '../manifests/settings.ts';
import { shell } from './cluster.ts';

export const cluster: { readonly settings: ClusterSettings; readonly traits: ClusterTraits } = {
  settings: defaultSettings,
  traits: { canLinger: true, canBuild: true, hasSidecars: true },
};

/** Returns a workload that uses every feature. */
export function sampleWorkload(changes: Partial<Workload> = {}): Workload {
  return {
    owner: {
      installation: 'a9f0a2c4-0000-4000-8000-000000000001',
      organization: 'a9f0a2c4-0000-4000-8000-000000000002',
      project: 'a9f0a2c4-0000-4000-8000-000000000003',
      environment: 'a9f0a2c4-0000-4000-8000-000000000004',
      service: 'a9f0a2c4-0000-4000-8000-000000000005',
    },
    name: 'Web Shop',
    release: 'a9f0a2c4-0000-4000-8000-000000000006',
    rollout: 'a9f0a2c4-0000-4000-8000-000000000007',
    image: 'registry.example.org/team/shop@sha256:0000000000000000000000000000000000000000000000000000000000000000',
    entrypoint: [],
    arguments: ['serve', '--greeting', 'costs $5 and $(NOTHING)'],
    environment: [{ name: 'DATABASE_URL', value: new Sensitive('postgres://shop:canary@db/shop') }],
    files: [{ path: '/etc/shop/config.toml', content: new Sensitive('answer = 42\n') }],
    ports: [
      { id: 'web', internalPort: 8080, protocol: 'HTTP' },
      { id: 'rpc', internalPort: 9090, protocol: 'GRPC' },
    ],
    volumes: [],
    cpuMillicores: 500,
    memoryMiB: 256,
    instances: 1,
    hostnames: ['web-shop', 'app-za9f0a2c4'],
    readiness: {
      check: { type: 'http', port: 8080, path: '/healthy', scheme: 'HTTP' },
      initialDelaySeconds: 30,
      periodSeconds: 10,
      timeoutSeconds: 1,
      successThreshold: 1,
      failureThreshold: 3,
    },
    liveness: null,
    readyTimeoutSeconds: 60,
    terminationGraceSeconds: 10,
    ...changes,
  };
}

/** The cluster location of a test workload, and its image with busybox. */
export interface TestOwnership {
  readonly installation: string;
  readonly environment: string;
  readonly image: string;
}

/**
 * Returns a small service that runs a shell script, with ids of its own. It opens no ports, has no names, and is ready
 * when it runs.
 */
export function scriptWorkload({ image, ...ids }: TestOwnership, script: string, changes: Partial<Workload> = {}): Workload {
  return sampleWorkload({
    owner: { ...sampleWorkload().owner, ...ids, service: randomUUID() },
    release: randomUUID(),
    rollout: randomUUID(),
    image,
    ...shell(script),
    environment: [],
    files: [],
    ports: [],
    hostnames: [],
    readiness: null,
    cpuMillicores: 100,
    memoryMiB: 64,
    readyTimeoutSeconds: 30,
    terminationGraceSeconds: 2,
    ...changes,
  });
}

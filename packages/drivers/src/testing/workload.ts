import { randomUUID } from 'node:crypto';
import type { Workload } from '../workload.ts';

/**
 * Returns a workload with one instance that serves HTTP on port 8080, in a rollout of its own. `given`: its owner, its
 * process, and the fields that differ.
 */
export function testWorkload(
  given: Partial<Workload> & Pick<Workload, 'owner' | 'image' | 'entrypoint' | 'arguments'>,
): Workload {
  return {
    name: 'Shop',
    release: randomUUID(),
    rollout: randomUUID(),
    environment: [],
    files: [],
    ports: [{ id: 'port', internalPort: 8080, protocol: 'HTTP' }],
    volumes: [],
    cpuMillicores: 500,
    memoryMiB: 64,
    instances: 1,
    hostnames: [],
    readiness: null,
    liveness: null,
    readyTimeoutSeconds: 20,
    terminationGraceSeconds: 2,
    ...given,
  };
}

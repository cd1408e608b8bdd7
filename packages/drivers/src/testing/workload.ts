import { randomUUID } from 'node:crypto';
import type { Workload } from '../workload.ts';

/** One instance that serves HTTP on port 8080, of a rollout of its own. `given`: whose it is, what it runs, and what differs. */
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

import { describe, expect, it } from 'vitest';
import { conformsToClusterDriver } from '../conformance/index.ts';
import { subjectOf, testCluster } from './testing/cluster.ts';

const cluster = testCluster();

describe.skipIf(cluster.missing !== null)(`on a cluster${cluster.missing === null ? '' : ` (${cluster.missing})`}`, () => {
  conformsToClusterDriver('the Kubernetes driver', { describe, it, expect }, () => subjectOf(cluster));
});

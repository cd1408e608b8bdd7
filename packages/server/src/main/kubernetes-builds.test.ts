import { Sensitive } from '@davit/base';
import { expect, test } from 'vitest';
import type { OneClusterSettings } from '../cluster-settings.ts';
import { kubernetesClusters } from './kubernetes-clusters.ts';

const id = '2f1c7b1e-4c1f-4c59-9d3e-0d1f6b1f3a10';
const cluster = { id, name: 'east', version: '1', kubeconfig: new Sensitive('') };

test.each<[string, boolean, OneClusterSettings, boolean]>([
  ['with an engine', true, {}, false],
  ['without one', false, {}, true],
  ['with an engine, where the operator wants it', true, { builds: 'cluster' }, true],
  ['without one, where the operator does not', false, { builds: 'engine' }, false],
])('%s: images are built on the cluster or not', (_name, localEngine, settings, isInside) => {
  const make = kubernetesClusters({ localEngine, clusterSettings: { '*': settings } }, 'installation');
  expect(make(cluster).clusterBuilder !== undefined).toBe(isInside);
});

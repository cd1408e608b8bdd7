import { abortablePause } from '@davit/base';
import type { Deployment, StatefulSet } from 'kubernetes-types/apps/v1.js';
import type { CronJob } from 'kubernetes-types/batch/v1.js';
import type { PersistentVolumeClaim, Pod } from 'kubernetes-types/core/v1.js';
import type { CallContext } from '../../driver.ts';
import { DriverError } from '../../errors.ts';
import type { ChartObject, ChartRef } from '../../helm-driver.ts';
import { call, type KubernetesObject } from '../client/api.ts';
import type { ClusterScope } from '../client/cluster-scope.ts';
import { list } from '../client/follow.ts';
import { pathOf, remove, type Scope } from '../client/objects.ts';
import { label, labelSelector } from '../names/labels.ts';
import { isMadeBy, members, namespaceOf, type Maker } from './members.ts';
import { readState } from './state.ts';

const scaled = ['Deployment', 'StatefulSet'] as const;
const lookAgainMilliseconds = 300;

/** See `ClusterCharts.stop`. */
export async function stopRelease(scope: Scope, chart: ChartRef, context: CallContext): Promise<void> {
  const { signal } = context;
  for (const cron of await members<CronJob>(scope, chart, 'CronJob', signal)) {
    await change(scope, chart, { kind: 'CronJob', object: cron, spec: { suspend: true } }, signal);
  }
  const makers: Maker[] = [];
  for (const kind of scaled) {
    for (const object of await members<Deployment | StatefulSet>(scope, chart, kind, signal)) {
      await change(scope, chart, { kind, object, spec: { replicas: 0 } }, signal);
      makers.push({ kind, name: object.metadata?.name ?? '' });
    }
  }
  for (const { metadata } of await members(scope, chart, 'DaemonSet', signal)) {
    context.log(`The DaemonSet ${metadata?.name} keeps running: Kubernetes cannot scale a DaemonSet to zero.`);
  }
  const path = pathOf('Pod', { namespace: namespaceOf(chart) });
  for (;;) {
    const { items } = await list<Pod>(scope.api, { path, query: {} }, signal);
    const left = items.filter((pod) => makers.some((maker) => isMadeBy(pod, maker)));
    if (left.length === 0) return;
    if (context.force?.aborted === true) {
      return context.log(`Not waited for: ${left.map(({ metadata }) => `pod ${metadata?.name}`).join(', ')}, which should end.`);
    }
    await abortablePause(lookAgainMilliseconds, signal);
  }
}

/** See `ClusterCharts.wake`. */
export async function wakeRelease(
  scope: Scope,
  chart: ChartRef,
  { objects, seconds }: { readonly objects: readonly ChartObject[]; readonly seconds: number },
  signal: AbortSignal,
): Promise<void> {
  const isSilent = (kind: string, { metadata }: KubernetesObject): boolean =>
    objects.some((one) => one.kind === kind && one.name === metadata?.name && !one.saysScale);
  for (const cron of await members<CronJob>(scope, chart, 'CronJob', signal)) {
    if (cron.spec?.suspend !== true || !isSilent('CronJob', cron)) continue;
    await change(scope, chart, { kind: 'CronJob', object: cron, spec: { suspend: false } }, signal);
  }
  for (const kind of scaled) {
    for (const object of await members<Deployment | StatefulSet>(scope, chart, kind, signal)) {
      if (object.spec?.replicas !== 0 || !isSilent(kind, object)) continue;
      // Kubernetes starts with 1 if no number is given. An autoscaler continues from there.
      await change(scope, chart, { kind, object, spec: { replicas: 1 } }, signal);
    }
  }
  await untilReady(scope, chart, seconds, signal);
}

async function untilReady(scope: Scope, chart: ChartRef, seconds: number, signal: AbortSignal): Promise<void> {
  const until = Date.now() + seconds * 1_000;
  for (;;) {
    const { wanted, ready } = await readState(scope, chart, signal);
    if (ready >= wanted) return;
    if (Date.now() > until) {
      throw new DriverError({ cause: 'HELM_FAILED', message: `${ready} of ${wanted} pods were ready after ${seconds} s` });
    }
    await abortablePause(lookAgainMilliseconds, signal);
  }
}

/** See `ClusterCharts.markClaims`. */
export async function markClaims(scope: Scope, chart: ChartRef, signal: AbortSignal): Promise<void> {
  const namespace = namespaceOf(chart);
  const sets = await members<StatefulSet>(scope, chart, 'StatefulSet', signal);
  const beginnings = sets.flatMap(({ metadata, spec }) =>
    (spec?.volumeClaimTemplates ?? []).map((template) => `${template.metadata?.name}-${metadata?.name}-`),
  );
  if (beginnings.length === 0) return;
  const path = pathOf('PersistentVolumeClaim', { namespace });
  const { items } = await list<PersistentVolumeClaim>(scope.api, { path, query: {} }, signal);
  const { installation, environment, service } = chart.owner;
  const labels = { [label.installation]: installation, [label.environment]: environment, [label.service]: service };
  for (const { metadata } of items) {
    const name = metadata?.name ?? '';
    if (!beginnings.some((beginning) => name.startsWith(beginning) && /^\d+$/.test(name.slice(beginning.length)))) continue;
    await call(scope.api, {
      method: 'PATCH',
      path: pathOf('PersistentVolumeClaim', { namespace, name }),
      query: { fieldManager: 'davit' },
      body: { metadata: { labels } },
      contentType: 'application/merge-patch+json',
      signal,
      accept: [404],
    });
  }
}

/** See `ClusterCharts.removeClaims`. */
export async function removeClaims({ api, installation }: ClusterScope, chart: ChartRef, signal: AbortSignal): Promise<void> {
  const namespace = namespaceOf(chart);
  const { environment, service } = chart.owner;
  const query = { labelSelector: labelSelector(installation, null, { environment, service }) };
  const path = pathOf('PersistentVolumeClaim', { namespace });
  const { items } = await list<PersistentVolumeClaim>(api, { path, query }, signal);
  for (const { metadata } of items) {
    await remove(api, pathOf('PersistentVolumeClaim', { namespace, name: metadata?.name ?? '' }), signal, { uid: metadata?.uid });
  }
}

interface SpecChange {
  readonly kind: string;
  readonly object: KubernetesObject;
  readonly spec: object;
}

async function change({ api }: Scope, chart: ChartRef, { kind, object, spec }: SpecChange, signal: AbortSignal): Promise<void> {
  await call(api, {
    method: 'PATCH',
    path: pathOf(kind, { namespace: namespaceOf(chart), name: object.metadata?.name ?? '' }),
    query: { fieldManager: 'davit' },
    body: { spec },
    contentType: 'application/merge-patch+json',
    signal,
    accept: [404],
  });
}

import type { DaemonSet, Deployment, StatefulSet } from 'kubernetes-types/apps/v1.js';
import type { Pod, Service } from 'kubernetes-types/core/v1.js';
import type { ChartRef, ChartService, ChartState } from '../../helm-driver.ts';
import type { Instance } from '../../workload.ts';
import { list } from '../client/follow.ts';
import { pathOf, type Scope } from '../client/objects.ts';
import { lastEnd } from '../instances/instances.ts';
import { chartInstanceId } from '../names/chart-instance-id.ts';
import { isMadeBy, members, namespaceOf, type Maker } from './members.ts';

/** See `ClusterCharts.services`. */
export async function readServices(scope: Scope, chart: ChartRef, signal: AbortSignal): Promise<readonly ChartService[]> {
  const services = await members<Service>(scope, chart, 'Service', signal);
  return services.map(toChartService).toSorted((left, right) => left.name.localeCompare(right.name));
}

/**
 * Returns all Services of the namespace. These include the Services that an operator created at the request of a chart,
 * which carry no mark of the chart.
 */
export async function readServicesAround({ api }: Scope, chart: ChartRef, signal: AbortSignal): Promise<readonly ChartService[]> {
  const { items } = await list<Service>(api, { path: pathOf('Service', { namespace: namespaceOf(chart) }), query: {} }, signal);
  return items.map(toChartService);
}

function toChartService({ metadata, spec }: Service): ChartService {
  return {
    name: metadata?.name ?? '',
    type: spec?.type ?? 'ClusterIP',
    ports: (spec?.ports ?? []).map(({ name, port }) => ({ name: name ?? null, port })),
    selectors: { ...spec?.selector },
  };
}

/** See `ClusterCharts.state`. */
export async function readState(scope: Scope, chart: ChartRef, signal: AbortSignal): Promise<ChartState> {
  const [deployments, sets, daemons, jobs, crons] = await Promise.all([
    members<Deployment>(scope, chart, 'Deployment', signal),
    members<StatefulSet>(scope, chart, 'StatefulSet', signal),
    members<DaemonSet>(scope, chart, 'DaemonSet', signal),
    members(scope, chart, 'Job', signal),
    members(scope, chart, 'CronJob', signal),
  ]);
  const counts = [
    ...[...deployments, ...sets].map(({ spec, status }) => ({ wanted: spec?.replicas ?? 1, ready: status?.readyReplicas ?? 0 })),
    ...daemons.map(({ status }) => ({ wanted: status?.desiredNumberScheduled ?? 0, ready: status?.numberReady ?? 0 })),
  ];
  const kinds = { Deployment: deployments, StatefulSet: sets, DaemonSet: daemons, Job: jobs, CronJob: crons };
  const makers = Object.entries(kinds).flatMap(([kind, objects]) =>
    objects.map(({ metadata }): Maker => ({ kind, name: metadata?.name ?? '' })),
  );
  const { items } = await list<Pod>(scope.api, { path: pathOf('Pod', { namespace: namespaceOf(chart) }), query: {} }, signal);
  const pods = items.filter((pod) => makers.some((maker) => isMadeBy(pod, maker)));
  return {
    wanted: counts.reduce((sum, { wanted }) => sum + wanted, 0),
    ready: counts.reduce((sum, { wanted, ready }) => sum + Math.min(wanted, ready), 0),
    instances: pods.flatMap((pod) => toInstances(pod, chart)),
  };
}

function toInstances(pod: Pod, { owner }: ChartRef): Instance[] {
  const { metadata, status } = pod;
  const containers = [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])];
  return containers.map((container, index) => {
    const running = container.state?.running;
    const ended = running === undefined ? lastEnd(container) : undefined;
    return {
      id: chartInstanceId(metadata?.namespace ?? '', metadata?.name ?? '', container.name),
      name: containers.length === 1 ? (metadata?.name ?? '') : `${metadata?.name}/${container.name}`,
      environment: owner.environment,
      service: owner.service,
      release: '',
      rollout: '',
      index,
      state: running ? 'RUNNING' : ended ? 'EXITED' : 'CREATED',
      startedAt: running?.startedAt ?? ended?.startedAt ?? null,
      exit: toExit(ended),
      endpoints: [],
    };
  });
}

function toExit(ended: ReturnType<typeof lastEnd>): Instance['exit'] {
  if (ended === undefined) return null;
  return { code: ended.exitCode, outOfMemory: ended.reason === 'OOMKilled', at: String(ended.finishedAt) };
}

import { DriverError, type Workload } from '@davit/drivers';
import type { KubernetesObject } from '../../../../../../drivers/src/kubernetes/client/api.ts';
import { toAutoscaler } from '../../../../../../drivers/src/kubernetes/manifests/autoscaler.ts';
import { toCronJob } from '../../../../../../drivers/src/kubernetes/manifests/cron-job.ts';
import { toHttpRoutes } from '../../../../../../drivers/src/kubernetes/manifests/http-route.ts';
import { toManifests } from '../../../../../../drivers/src/kubernetes/manifests/index.ts';
import { toIngress } from '../../../../../../drivers/src/kubernetes/manifests/ingress.ts';
import { cluster } from '../../../../../../drivers/src/kubernetes/testing/workloads.ts';
import { accepted, type TestPlace, type TestService } from '../testing.ts';

/*
 * Services as the objects that a Kubernetes cluster gets. One test holds them against schemas and rules, another one
 * against a real API server.
 */

const probe = (seconds: number) => ({
  type: { http: { path: `/${'a'.repeat(1999)}`, port: 65_535 } },
  initial_delay_seconds: seconds,
  period_seconds: seconds,
  timeout_seconds: seconds,
  success_threshold: seconds,
  failure_threshold: seconds,
});
const ports = Array.from({ length: 100 }, (_, index) => ({
  internal_port: 65_535 - index,
  publicly_accessible: false,
  protocol: (['HTTP', 'GRPC', 'TCP', 'UDP'] as const)[index % 4] ?? 'HTTP',
}));
const storage = Array.from({ length: 50 }, (_, index) => ({
  type: 'FAST_SSD' as const,
  size: 65_536,
  mount_point: `/${`${index}/`.padEnd(190, 'a/')}x`,
}));

const percents = (percent: number) => ({
  'hpa.cpu.average_utilization_percent': percent,
  'hpa.memory.average_utilization_percent': percent,
});

/** Services with the least and the most of each setting. Davit and a cluster accept them all. */
export const extremes: readonly (readonly [string, TestService])[] = [
  ['the least cpu and memory', { request: { cpu: 10, memory: 6 } }],
  ['the most cpu and memory', { request: { cpu: 2_147_483_647, memory: 2_147_483_647 } }],
  ['the least percent of use', { request: {}, settings: percents(1) }],
  ['the most percent of use', { request: {}, settings: percents(95) }],
  ['no instance', { request: { min_running_instances: 0 } }],
  ['the longest times', { request: { healthchecks: { readiness_probe: probe(86_400), liveness_probe: probe(86_400) } } }],
  ['the shortest times', { request: { healthchecks: { readiness_probe: { ...probe(1), initial_delay_seconds: 0 } } } }],
  ['the longest grace', { request: { ports }, settings: { 'deployment.termination_grace_period_seconds': 3600 } }],
  ['the shortest grace', { request: { ports }, settings: { 'deployment.termination_grace_period_seconds': 1 } }],
  ['the most ports and volumes', { request: { ports, storage } }],
  ['the longest name', { request: { name: '漢'.repeat(255) } }],
  ['a name that is no host name', { request: { name: '2048' } }],
  ['the longest value of a variable', { request: {}, variables: [{ key: `A${'b'.repeat(254)}`, value: 'x'.repeat(130_000) }] }],
  ['the largest file', { request: {}, variables: [{ key: 'A', value: 'x'.repeat(524_288), mountPath: '/opt/large' }] }],
  ['a million characters of arguments', { request: { arguments: Array.from({ length: 100 }, () => 'x'.repeat(10_000)) } }],
];

/**
 * Returns the objects of a service: its own, those of a job and of a cron job with its values, and its routes and
 * autoscaler. Returns a text instead if the API (`API: …`) or the start (`START_FAILED: …`) refuses the service. Of
 * several instances, only two are returned, because they differ in nothing but their number.
 */
export function kubernetesObjectsOf(service: TestService, place: TestPlace): readonly KubernetesObject[] | string {
  const workload = accepted(service, place);
  if (typeof workload === 'string') return `API: ${workload}`;
  try {
    return [...ownObjects(workload), ...runOnce(workload), ...routesOf(workload), ...autoscalerOf(workload, service)];
  } catch (error) {
    if (error instanceof DriverError) return `${error.code}: ${error.message}`;
    throw error;
  }
}

function ownObjects(workload: Workload): readonly KubernetesObject[] {
  const all = toManifests({ ...workload, instances: Math.min(workload.instances, 2) }, cluster, workload.rollout);
  const { namespace, networkPolicy, secrets, claims, services, disruptionBudget, controllers } = all;
  const budgets = disruptionBudget === null ? [] : [disruptionBudget];
  return [namespace, networkPolicy, ...secrets, ...claims, ...services, ...budgets, ...controllers];
}

function runOnce(service: Workload): readonly KubernetesObject[] {
  const workload: Workload = { ...service, runsOnce: true, folders: ['/davit-output'], firstInstance: 0, instances: 1 };
  const times = { expression: '0 3 * * *', timezone: 'Europe/Paris', maxSeconds: 86_400, holdSeconds: 120 };
  const cronJob = toCronJob({ workload, ...times, maxRestarts: 10, isSuspended: true }, cluster);
  return [...toManifests(workload, cluster, workload.rollout).controllers, cronJob];
}

function routesOf({ owner, rollout, ports: all, metadata }: Workload): readonly KubernetesObject[] {
  const routed = all.filter(({ protocol }) => protocol === 'HTTP' || protocol === 'GRPC');
  const routes = routed.map(({ id, internalPort }) => ({
    id,
    hosts: [`p${internalPort}.apps.example.org`, '*.example.org'],
    pathPrefix: `/${internalPort}`,
    internalPort,
  }));
  const served = { owner, rollout, routes, metadata };
  const certificates = { issuer: 'letsencrypt', wildcardDomain: 'example.org' };
  const ingress = toIngress(served, { ...cluster.settings, certificates });
  return [...(ingress === null ? [] : [ingress]), ...toHttpRoutes(served, { namespace: 'gateways', name: 'public' })];
}

/** Returns the autoscaler. With a minimum of 0, a service is not scaled by its use. */
function autoscalerOf(
  { owner, rollout, name, instances, metadata, environment }: Workload,
  { settings = {} }: TestService,
): readonly KubernetesObject[] {
  if (instances === 0) return [];
  const percent = (resource: string): number | null => {
    const value = settings[`hpa.${resource}.average_utilization_percent`];
    return typeof value === 'number' ? value : null;
  };
  const by = { type: 'USE', cpuPercent: percent('cpu') ?? 60, memoryPercent: percent('memory') } as const;
  const limits = { instances, min: instances, max: Math.max(instances, 1000), scaleDownSeconds: 300 };
  const variables = environment.map((one) => one.name);
  return [toAutoscaler({ owner, rollout, name, ...limits, by, variables, mark: 'mark', metadata }, by)];
}

import { toGroupRecords, type Groups } from '../groups.ts';
import { toAutoscaling, toEvents, type AutoscalingSpec } from '../shapes/autoscaling.ts';
import { parseCommand } from '../shapes/command.ts';
import { toGroups } from '../shapes/groups.ts';
import { toPorts, type PortSpec } from '../shapes/ports.ts';
import { toHealthchecks, type HealthchecksSpec } from '../shapes/probe.ts';
import type { ApplicationRecord, ProcessRequest } from '../shapes/request.ts';
import { toStorage, type StorageSpec } from '../shapes/storage.ts';
import type { Problems } from '../../shared/problems.ts';
import type { ServiceSpec, SpecRules } from '../spec.ts';

/** The settings of a service that runs as processes, whatever the source of its image, with defaults applied. */
export interface ProcessSpec extends ServiceSpec {
  readonly description: string;
  readonly cpu: number;
  readonly memory: number;
  readonly gpu: number;
  readonly min_running_instances: number;
  readonly max_running_instances: number;
  readonly auto_preview: boolean;
  readonly auto_deploy: boolean;
  readonly arguments: readonly string[];
  readonly entrypoint: string | null;
  readonly ports: readonly PortSpec[];
  readonly storage: readonly StorageSpec[];
  readonly healthchecks: HealthchecksSpec;
  /** Absent: cpu and memory scale the service between its minimum and maximum of instances. */
  readonly autoscaling?: AutoscalingSpec;
}

/** The members that determine instances and their addresses. */
export type ProcessParts = Pick<
  ProcessSpec,
  | 'entrypoint'
  | 'arguments'
  | 'ports'
  | 'storage'
  | 'cpu'
  | 'memory'
  | 'min_running_instances'
  | 'max_running_instances'
  | 'healthchecks'
  | 'autoscaling'
>;

/** The parts of a service without instances, or with instances that Davit does not start. */
export const noProcess: ProcessParts = {
  entrypoint: null,
  arguments: [],
  ports: [],
  storage: [],
  cpu: 0,
  memory: 0,
  min_running_instances: 0,
  max_running_instances: 0,
  healthchecks: { readiness_probe: null, liveness_probe: null },
};

// No cluster driver of this version can give a service a GPU.
export const maximumGpu = 0;

/** Returns the defaults of a new service. */
export function blankProcess(icon: string, request: ProcessRequest, rules: SpecRules): ProcessSpec {
  return {
    description: '',
    icon_uri: `app://davit-console/${icon}`,
    cpu: 500,
    memory: 512,
    gpu: 0,
    min_running_instances: 1,
    // Without a requested maximum, the maximum follows the minimum.
    max_running_instances: Math.max(1, request.min_running_instances ?? 1),
    auto_preview: rules.autoPreview,
    auto_deploy: false,
    arguments: [],
    entrypoint: null,
    ports: [],
    storage: [],
    healthchecks: { readiness_probe: null, liveness_probe: null },
  };
}

/**
 * Returns the spec after a request:
 * - Omitted members stay.
 * - A list replaces the former list, and `healthchecks` replaces both probes.
 * - null clears members that can be empty. For other members, null has no effect.
 */
export function mergedProcess(request: ProcessRequest, former: ProcessSpec, rules: SpecRules): ProcessSpec {
  const { problems } = rules;
  const spec: ProcessSpec = {
    description: request.description === undefined ? former.description : (request.description ?? ''),
    icon_uri: request.icon_uri ?? former.icon_uri,
    cpu: request.cpu ?? former.cpu,
    memory: request.memory ?? former.memory,
    gpu: request.gpu ?? former.gpu,
    min_running_instances: request.min_running_instances ?? former.min_running_instances,
    max_running_instances: request.max_running_instances ?? former.max_running_instances,
    auto_preview: request.auto_preview ?? former.auto_preview,
    auto_deploy: request.auto_deploy ?? former.auto_deploy,
    arguments: request.arguments ?? former.arguments,
    entrypoint: request.entrypoint === undefined ? former.entrypoint : request.entrypoint || null,
    ports: request.ports ? toPorts(request.ports, former.ports, rules) : former.ports,
    storage: request.storage ? toStorage(request.storage, former.storage, problems) : former.storage,
    healthchecks: request.healthchecks ? toHealthchecks(request.healthchecks, problems) : former.healthchecks,
    ...toGroups(request, former),
    ...withAutoscaling(request, former, rules),
    ...(former.advanced_settings !== undefined && { advanced_settings: former.advanced_settings }),
  };
  const command = parseCommand(spec.entrypoint ?? '');
  if ('fault' in command) problems.add('entrypoint', `${command.fault}; quote it as for a shell`);
  checkResources(spec, request, rules);
  checkAutoscaling(spec, request, rules);
  return spec;
}

function checkResources(spec: ProcessSpec, request: ProcessRequest, { problems, caps }: SpecRules): void {
  const { min_running_instances: least, max_running_instances: most } = spec;
  if (most !== -1 && least > most) {
    if (request.max_running_instances === undefined) {
      problems.add(
        'min_running_instances',
        `must not be above max_running_instances (${most}); raise that too, -1 means no limit`,
      );
    } else {
      problems.add('max_running_instances', `must not be below min_running_instances (${least}); -1 means no limit`);
    }
  }
  // An accepted value stays editable after the machine became smaller.
  if (caps !== null && request.cpu && spec.cpu > caps.cpuMillicores) {
    problems.add('cpu', `must be at most ${caps.cpuMillicores} millicores: what the cluster has (maximum_cpu)`);
  }
  if (caps !== null && request.memory && spec.memory > caps.memoryMiB) {
    problems.add('memory', `must be at most ${caps.memoryMiB} MB: what the cluster has (maximum_memory)`);
  }
  if (request.gpu && spec.gpu > maximumGpu) problems.add('gpu', `must be ${maximumGpu}: the cluster has no GPU (maximun_gpu)`);
  refuseUnheld(request, problems);
}

/** Refuses members that newer clients can request and that no cluster of this version supports. */
function refuseUnheld(request: ProcessRequest, problems: Problems): void {
  if (request.cpu_architecture) {
    problems.add('cpu_architecture', 'cannot be chosen: services run on the processors that the cluster has; leave it out');
  }
  if (request.ephemeral_storage_in_gib) {
    const message = 'cannot be reserved: leave it out, or send 0; data that must have room belongs on a volume (`storage`)';
    problems.add('ephemeral_storage_in_gib', message);
  }
}

function withAutoscaling(
  { autoscaling }: ProcessRequest,
  former: ProcessSpec,
  { problems, scalesByEvents }: SpecRules,
): Pick<ProcessSpec, 'autoscaling'> {
  if (autoscaling === null) return {};
  if (autoscaling === undefined) return former.autoscaling === undefined ? {} : { autoscaling: former.autoscaling };
  if (scalesByEvents) return { autoscaling: toAutoscaling(autoscaling, former.autoscaling, problems) };
  // Unsupported members are refused. If they were stored without effect, the user would believe that they work.
  problems.add(
    'autoscaling',
    'is not offered on this cluster: scaling by events needs a Kubernetes cluster with KEDA. Leave it out; Davit then scales between min_running_instances and max_running_instances by cpu and memory (advanced settings hpa.…)',
  );
  return {};
}

/** Refuses scaling settings that could be stored but would have no effect. Ignores edits of other members. */
function checkAutoscaling(spec: ProcessSpec, request: ProcessRequest, { problems }: SpecRules): void {
  const events = toEvents(spec.autoscaling);
  const { storage, ports, min_running_instances, max_running_instances } = request;
  const concerned = [request.autoscaling, storage, ports, min_running_instances, max_running_instances];
  if (events === null || concerned.every((member) => member === undefined)) return;
  if (spec.storage.length > 0)
    problems.add('autoscaling', 'cannot be combined with storage: a volume has one writer. Leave one of them out');
  if (spec.max_running_instances === 0) problems.add('max_running_instances', 'must be above 0 with autoscaling, or -1');
  const isOfResources = events.triggers.every(({ type }) => type === 'cpu' || type === 'memory');
  if (spec.min_running_instances === 0 && isOfResources) {
    problems.add(
      'autoscaling.scalers',
      'must have a scaler other than cpu and memory if min_running_instances is 0: a service without instances uses neither, so it would never start',
    );
  }
}

/** Returns the members that the records of all such services share. `groups`: the groups that the spec references. */
export function processRecord(spec: ProcessSpec, groups?: Groups) {
  return {
    description: spec.description,
    icon_uri: spec.icon_uri,
    cpu: spec.cpu,
    memory: spec.memory,
    gpu: spec.gpu,
    min_running_instances: spec.min_running_instances,
    max_running_instances: spec.max_running_instances,
    auto_preview: spec.auto_preview,
    auto_deploy: spec.auto_deploy,
    arguments: [...spec.arguments],
    ...(spec.entrypoint === null ? {} : { entrypoint: spec.entrypoint }),
    ports: spec.ports.map(toPortRecord),
    storage: [...spec.storage],
    healthchecks: spec.healthchecks,
    ...toGroupRecords(spec, groups),
  };
}

function toPortRecord(port: PortSpec): NonNullable<ApplicationRecord['ports']>[number] {
  const { external_port, public_path, public_path_rewrite, ...always } = port;
  return {
    ...always,
    ...(external_port === null ? {} : { external_port }),
    ...(public_path === null ? {} : { public_path }),
    ...(public_path_rewrite === null ? {} : { public_path_rewrite }),
  };
}

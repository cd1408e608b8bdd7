import { kinds, type Body, type operations } from '@davit/contract';
import { wholeImageName } from '../../container-registry/index.ts';
import { checkImage, tagFault } from '../../shared/image-name.ts';
import { invalid } from '../../shared/problems.ts';
import type { Groups } from '../groups.ts';
import type { RegistryDetails, ServiceRow } from '../rows.ts';
import { commandLine } from '../../shared/command-line.ts';
import { toAutoscalingRecord } from '../shapes/autoscaling.ts';
import type { ServiceRecord } from '../shapes/request.ts';
import { defineKind, type SourceRow } from './kind.ts';
import type { Caps, SpecRules } from '../spec.ts';
import { blankProcess, maximumGpu, mergedProcess, processRecord, type ProcessSpec } from './process.ts';
import { recordHead } from './record-head.ts';

type CreateRequest = Body<(typeof operations)['createContainer']>;
type EditRequest = Body<(typeof operations)['editContainer']>;
type DeployRequest = Body<(typeof operations)['deployContainer']>;

/**
 * The settings of a container that users can change, in the contract's terms and with defaults applied. Stored in this
 * form.
 */
export interface ContainerSpec extends ProcessSpec {
  readonly registry_id: string;
  readonly image_name: string;
  readonly tag: string;
}

/** The kind of services that run an image of a registry. */
export const container = defineKind({
  type: kinds.CONTAINER.type,
  stageName: 'CONTAINER DEFAULT',
  hostPrefix: 'container',
  create: newContainer,
  edit: editedContainer,
  record: toContainerRecord,
  workload: (spec: ContainerSpec) => spec,
  source: ({ spec, registry }: SourceRow<ContainerSpec>) => ({
    type: 'IMAGE',
    image: imageReference(registry, spec.image_name),
    tag: spec.tag,
    registryId: spec.registry_id,
  }),
  oldHistory: ({ ran }) => {
    if (ran === null) return {};
    const { source, entrypoint } = ran;
    return {
      ...(source.type === 'IMAGE' && { image_name: source.image, tag: source.tag }),
      arguments: [...ran.arguments],
      ...(entrypoint.length > 0 && { entrypoint: commandLine(entrypoint) }),
    };
  },
  choice: (request: DeployRequest) => {
    const tag = request?.image_tag ?? null;
    const releaseId = request?.release_id ?? null;
    if (tag !== null && releaseId !== null) {
      throw invalid('release_id', 'cannot be sent together with image_tag: a release has its image; send one of them');
    }
    const fault = tag === null ? null : tagFault(tag);
    if (fault !== null) throw invalid('image_tag', fault);
    return { releaseId, commitId: null, ...(tag !== null && { edit: { tag } }) };
  },
});

function newContainer(request: CreateRequest, rules: SpecRules): ContainerSpec {
  const former: ContainerSpec = {
    ...blankProcess(kinds.CONTAINER.icon, request, rules),
    registry_id: request.registry_id.toLowerCase(),
    image_name: request.image_name,
    tag: request.tag,
  };
  return editedContainer(request, former, rules);
}

function editedContainer(request: EditRequest, former: ContainerSpec, rules: SpecRules): ContainerSpec {
  const spec: ContainerSpec = {
    ...mergedProcess(request, former, rules),
    registry_id: request.registry_id?.toLowerCase() ?? former.registry_id,
    image_name: request.image_name ?? former.image_name,
    tag: request.tag ?? former.tag,
  };
  checkImage(spec, rules.problems);
  return spec;
}

/** See `wholeImageName`. */
export function imageReference(registry: RegistryDetails | null, name: string): string {
  if (registry === null) throw new Error('a service of an image has no registry');
  return wholeImageName(registry, name);
}

function toContainerRecord(row: ServiceRow<ContainerSpec>, caps: Caps | null, groups?: Groups): ServiceRecord {
  const { spec, registry } = row;
  if (registry === null) throw new Error(`container ${row.id} has no registry`);
  return {
    ...recordHead(row, kinds.CONTAINER.type),
    image_name: spec.image_name,
    tag: spec.tag,
    registry_id: spec.registry_id,
    registry,
    // The contract requires this member. If the cluster never responded, the record shows the accepted value.
    maximum_cpu: caps?.cpuMillicores ?? spec.cpu,
    maximum_memory: caps?.memoryMiB ?? spec.memory,
    maximum_gpu: maximumGpu,
    ...processRecord(spec, groups),
    ...toAutoscalingRecord(spec.autoscaling, row),
  };
}

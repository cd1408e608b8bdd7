import type { BuildRequest } from '../../image-builder.ts';
import { cpuPeriodMicroseconds, cpuQuotaMicroseconds } from '../../shared/control-group.ts';
import { serviceLabels } from '../labels.ts';
import { wantsRepository, withoutRepository } from '../../shared/build/repository-folder.ts';
import { offeredArguments } from '../../shared/build/arguments.ts';
import { findStage, type Dockerfile } from '../../shared/build/dockerfile.ts';
import type { BuildTraits } from './engine-traits.ts';

export type Builder = 'buildkit' | 'podman';

export interface BuildPlan {
  readonly builder: Builder;
  /** Query of `POST /build`. */
  readonly query: Readonly<Record<string, string>>;
  /** Memory limit of commands in MiB, or null if it cannot be set. */
  readonly memoryMiB: number | null;
  /** Remarks to log before the build begins. */
  readonly remarks: readonly string[];
}

export interface PlanInput {
  readonly request: BuildRequest;
  readonly dockerfile: Dockerfile;
  /** Path of the Dockerfile in the archive that the engine gets. */
  readonly dockerfilePath: string;
  readonly traits: BuildTraits;
  /** Name of a control group that only this build uses. An aborted build is found by it. Podman only. */
  readonly group: string | null;
  /** Process limit of the build's control group, or null if it could not be set. Podman only. */
  readonly processes: number | null;
  /** See `LimitInput.mark`. Docker only. */
  readonly mark: string | null;
  /** Why the commands cannot be limited, or null if they can. Docker only; see `whyUnlimited`. */
  readonly unlimitedBecause: string | null;
}

/**
 * Capabilities that are dropped for commands of builds: as for instances (see `container-spec.ts`), except SETFCAP.
 * Packages of many distributions set file capabilities during installation, and their installation would fail.
 */
const droppedCapabilities = ['CAP_AUDIT_WRITE', 'CAP_MKNOD', 'CAP_NET_RAW', 'CAP_SETPCAP'];

// Smallest memory limit in MiB that engines accept.
const minMemoryMiB = 8;

/** Plans the request for the engine. Pure. */
export function planBuild(input: PlanInput): BuildPlan {
  const { request, dockerfile, traits } = input;
  const builder = traits.engine === 'podman' ? 'podman' : 'buildkit';
  const canLimitMemory = builder === 'podman' ? traits.canLimitMemory : input.unlimitedBecause === null;
  const memoryMiB = canLimitMemory ? Math.max(minMemoryMiB, request.memoryMiB) : null;
  const { offered, remarks } = offeredArguments(request, dockerfile);
  const query: Record<string, string> = {
    dockerfile: input.dockerfilePath,
    buildargs: JSON.stringify({ ...offered, ...(input.mark !== null && { NO_PROXY: input.mark }) }),
    t: request.image,
    rm: '1',
    forcerm: '1',
    version: builder === 'buildkit' ? '2' : '1',
  };
  if (request.withoutCache === true) query['nocache'] = '1';
  if (request.targetStage !== null) query['target'] = request.targetStage;
  if (builder === 'podman') {
    if (memoryMiB !== null) {
      query['memory'] = String(memoryMiB * 1024 * 1024);
      query['memswap'] = query['memory'];
    }
    if (traits.canLimitCpu) {
      query['cpuperiod'] = String(cpuPeriodMicroseconds);
      query['cpuquota'] = String(cpuQuotaMicroseconds(request.cpuMillicores));
    }
    query['skipunusedstages'] = '1';
    // `.dockerignore` is applied when the context is packed; only Davit's own Dockerfile is left to exclude.
    query['excludes'] = JSON.stringify([input.dockerfilePath]);
    // The labels are in the Dockerfile, see `labelledDockerfile`. Without `nsoptions`, Podman's build endpoint
    // runs commands in the host's network, where they reach everything that listens on 127.0.0.1 (seen with 4.3.1,
    // whatever `networkmode` is).
    query['nsoptions'] = JSON.stringify([{ Name: 'network', Host: false, Path: '' }]);
    query['dropcaps'] = JSON.stringify(droppedCapabilities);
    if (input.group !== null) query['cgroupparent'] = `/${input.group}/run`;
  } else {
    // BuildKit writes labels into the image's configuration, without a step.
    query['labels'] = JSON.stringify(serviceLabels(request.owner, 'image'));
  }
  return { builder, query, memoryMiB, remarks: [...remarks, ...repositoryRemarks(dockerfile), ...capRemarks(input, builder)] };
}

/**
 * Returns the Dockerfile for Podman: the given one with one more instruction, which labels the image, at the end of the
 * stage that is built. The instruction costs one commit of an empty layer; all earlier ones stay in the cache that
 * services share. Podman's own `labels` parameter (seen with 4.3.1) has three faults:
 * - The labels come in a random order, which creates a different image from the same content each time.
 * - Each label costs a commit.
 * - The labels are lost if the target is not the last stage.
 */
export function labelledDockerfile(
  content: string,
  dockerfile: Dockerfile,
  request: Pick<BuildRequest, 'owner' | 'targetStage'>,
): string {
  const quoted = (text: string): string => `"${text.replace(/["\\$]/g, '\\$&')}"`;
  const labels = Object.entries(serviceLabels(request.owner, 'image')).map(([name, value]) => `${quoted(name)}=${quoted(value)}`);
  const instruction = `LABEL ${labels.toSorted().join(' ')}`;
  const built = request.targetStage === null ? undefined : findStage(dockerfile, request.targetStage);
  const next = built === undefined ? undefined : dockerfile.stages[built.index + 1];
  const lines = content.split('\n');
  if (next === undefined) return `${content}${content.endsWith('\n') ? '' : '\n'}${instruction}\n`;
  return [...lines.slice(0, next.line - 1), instruction, ...lines.slice(next.line - 1)].join('\n');
}

/** Returns whether a line of a build shows the instruction of `labelledDockerfile`, which no user has written. */
export function isLabelStep(line: string): boolean {
  return /^(?:\[\d+\/\d+\] )?STEP \d+\/\d+: LABEL "davit\./.test(line);
}

function repositoryRemarks(dockerfile: Dockerfile): string[] {
  const wanting = wantsRepository(dockerfile);
  return wanting === null
    ? []
    : [`${wanting.keyword} in line ${wanting.line} uses .git, which is not in the build context. ${withoutRepository}`];
}

function capRemarks({ request, traits, processes, unlimitedBecause }: PlanInput, builder: Builder): string[] {
  if (builder === 'buildkit') return unlimitedBecause === null ? [] : [withoutLimits(unlimitedBecause)];
  const remarks: string[] = [];
  if (!traits.canLimitMemory) remarks.push(`This host cannot limit memory: the build is not limited to ${request.memoryMiB} MiB`);
  if (processes === null) remarks.push('This host cannot limit the number of processes of a build');
  return remarks;
}

/** Returns the remark about a build whose commands have no limits. */
export function withoutLimits(why: string): string {
  return `Memory, CPU and processes of this build are not limited: ${why}`;
}

import type { BuildRequest } from '../../image-builder.ts';
import { serviceLabels } from '../labels.ts';
import { wantsRepository, withoutRepository } from '../../shared/build/repository-folder.ts';
import { offeredArguments } from '../../shared/build/arguments.ts';
import type { Dockerfile } from '../../shared/build/dockerfile.ts';
import type { BuildTraits } from './engine-traits.ts';

export type Builder = 'classic' | 'buildkit' | 'podman';

export interface BuildPlan {
  readonly builder: Builder;
  /** Query of `POST /build`. */
  readonly query: Readonly<Record<string, string>>;
  /** The cap that commands run under; null where the builder or the host has none. */
  readonly memoryMiB: number | null;
  /** What the reader of the log should know before the build begins. */
  readonly remarks: readonly string[];
}

export interface PlanInput {
  readonly request: BuildRequest;
  readonly dockerfile: Dockerfile;
  /** Relative to the context, without symbolic links. */
  readonly dockerfilePath: string;
  readonly traits: BuildTraits;
  /** A control group of this build alone: how an aborted build is found again. Podman only. */
  readonly group: string | null;
  /** Most processes of the build's control group; null: it could not be limited. */
  readonly processes: number | null;
}

/**
 * Taken from the commands of builds: as from instances (see `container-spec.ts`), but for SETFCAP. Packages of many distributions set
 * file capabilities while they are installed, and installing them would fail.
 */
const droppedCapabilities = ['CAP_AUDIT_WRITE', 'CAP_MKNOD', 'CAP_NET_RAW', 'CAP_SETPCAP'];

const cpuPeriodMicroseconds = 100_000;
// Engines refuse less.
const leastMemoryMiB = 8;

/** What is asked of the engine. Pure. */
export function planBuild(input: PlanInput): BuildPlan {
  const { request, dockerfile, traits } = input;
  const builder = builderFor(dockerfile, traits);
  const isCapped = builder !== 'buildkit';
  const memoryMiB = isCapped && traits.canLimitMemory ? Math.max(leastMemoryMiB, request.memoryMiB) : null;
  const { offered, remarks } = offeredArguments(request, dockerfile);
  const query: Record<string, string> = {
    dockerfile: input.dockerfilePath,
    buildargs: JSON.stringify(offered),
    rm: '1',
    forcerm: '1',
    version: builder === 'buildkit' ? '2' : '1',
  };
  if (request.withoutCache === true) query['nocache'] = '1';
  if (request.targetStage !== null) query['target'] = request.targetStage;
  if (memoryMiB !== null) {
    query['memory'] = String(memoryMiB * 1024 * 1024);
    query['memswap'] = query['memory'];
  }
  if (isCapped && traits.canLimitCpu) {
    query['cpuperiod'] = String(cpuPeriodMicroseconds);
    query['cpuquota'] = String(Math.max(1000, Math.round((request.cpuMillicores / 1000) * cpuPeriodMicroseconds)));
  }
  if (builder === 'podman') {
    // Its name and labels come afterwards, see `labelDockerfile`.
    // Without this, Podman's build endpoint runs commands in the host's network, where they reach all that listens on
    // 127.0.0.1 (seen with 4.3.1, whatever `networkmode` says).
    query['nsoptions'] = JSON.stringify([{ Name: 'network', Host: false, Path: '' }]);
    query['dropcaps'] = JSON.stringify(droppedCapabilities);
    if (input.group !== null) query['cgroupparent'] = `/${input.group}/run`;
  }
  if (builder !== 'podman') {
    query['t'] = request.image;
    query['labels'] = JSON.stringify(serviceLabels(request.owner, 'image'));
  }
  return { builder, query, memoryMiB, remarks: [...remarks, ...repositoryRemarks(dockerfile), ...capRemarks(input, builder)] };
}

/**
 * A second build that puts the labels on an image of Podman. Its own `labels` (seen with 4.3.1) come in a random order, which
 * makes another image of the same content each time, cost a commit each, and are lost when the target is not the last stage.
 */
export function labelDockerfile(imageId: string, request: Pick<BuildRequest, 'owner'>): string {
  const quoted = (text: string): string => `"${text.replace(/["\\$]/g, '\\$&')}"`;
  const labels = Object.entries(serviceLabels(request.owner, 'image')).map(([name, value]) => `${quoted(name)}=${quoted(value)}`);
  return `FROM ${imageId.replace('sha256:', '')}\nLABEL ${labels.toSorted().join(' ')}\n`;
}

// The classic builder by choice, although BuildKit is faster: the build endpoint hands BuildKit no limit for memory or CPU, so
// that a build could starve the host (Docker Engine 20.10 ignores even `cgroupparent` there).
function builderFor(dockerfile: Dockerfile, traits: BuildTraits): Builder {
  if (traits.engine === 'podman') return 'podman';
  return dockerfile.needsBuildKit === null ? 'classic' : 'buildkit';
}

function repositoryRemarks(dockerfile: Dockerfile): string[] {
  const wanting = wantsRepository(dockerfile);
  return wanting === null
    ? []
    : [`${wanting.keyword} in line ${wanting.line} wants .git, which is not there. ${withoutRepository}`];
}

function capRemarks({ request, dockerfile, traits, processes }: PlanInput, builder: Builder): string[] {
  if (builder === 'buildkit') {
    return [
      `Building with BuildKit, as the Dockerfile uses ${dockerfile.needsBuildKit}. Docker Engine cannot limit memory and CPU of such builds`,
    ];
  }
  const remarks: string[] = [];
  if (!traits.canLimitMemory) remarks.push(`This host cannot limit memory: the build is not held to ${request.memoryMiB} MiB`);
  if (builder === 'podman' && processes === null) remarks.push('This host cannot limit the number of processes of a build');
  return remarks;
}

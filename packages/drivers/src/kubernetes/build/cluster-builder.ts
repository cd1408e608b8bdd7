import { randomBytes } from 'node:crypto';
import { messageOf } from '@davit/base';
import type { CallContext } from '../../driver.ts';
import { DriverError } from '../../errors.ts';
import type { ClusterBuilder, ClusterBuildRequest, PushedImage } from '../../image-builder.ts';
import { offeredArguments, type OfferedArguments } from '../../shared/build/arguments.ts';
import { checkedDockerfile, declaredArguments } from '../../shared/build/checked.ts';
import { openContext, type BuildContext } from '../../shared/build/context.ts';
import type { Dockerfile } from '../../shared/build/dockerfile.ts';
import type { ClusterScope } from '../client/cluster-scope.ts';
import { apply } from '../client/objects.ts';
import { podsOf } from '../client/pods.ts';
import { translated } from '../client/refusals.ts';
import { lastLines } from '../diagnosis/logs.ts';
import { buildNamespaceName } from '../names/names.ts';
import { digest } from '../../shared/digest.ts';
import { fill, readDigest, runBuildctl, wasKilledForMemory, type BuildRun, type Site } from './client.ts';
import { buildArguments } from './configuration.ts';
import { beginFailure, endFailure, lostPod, runFailure, silentDaemon } from './failures.ts';
import { prepare, tidy } from './jobs.ts';
import { builderImage, toBuildJob } from './manifests.ts';
import { BuildPod, type PodEnd } from './pod.ts';

const shownLines = 50;
/** Time that a node may take to report that a daemon was killed. */
const reportMilliseconds = 5_000;

/** Builds on the cluster itself. See `ClusterBuilder`, and docs/adr/0024 for the reasons. */
export function clusterBuilder(scope: ClusterScope): ClusterBuilder {
  return {
    limits: scope.settings.builds.limits,
    declaredArguments,
    build: (request, context) => buildOnCluster(scope, request, context),
  };
}

async function buildOnCluster(scope: ClusterScope, request: ClusterBuildRequest, context: CallContext): Promise<PushedImage> {
  refuseOld(scope);
  const files = await openContext(request);
  const dockerfile = checkedDockerfile(files, request);
  const offered = offeredArguments(request, dockerfile);
  for (const remark of offered.remarks) context.log(remark);
  const namespace = buildNamespaceName(scope.installation);
  const name = `build-${digest(10, request.reference)}-${randomBytes(4).toString('hex')}`;
  const build = new ClusterBuild(scope, request, { namespace, name, files, dockerfile, offered });
  try {
    await prepare(scope, request, context.signal);
    return await build.run(context);
  } catch (error) {
    context.signal.throwIfAborted();
    throw translated(error, 'The image could not be built on the cluster');
  } finally {
    build.close();
    // This also cleans up after a canceled build.
    await tidy(scope, { namespace, name }).catch((error: unknown) => {
      const why = messageOf(error);
      context.log(`The job ${name} in the namespace ${namespace} could not be deleted; its deadline will end it: ${why}.`);
    });
  }
}

function refuseOld({ traits }: ClusterScope): void {
  if (traits.canBuild) return;
  throw new DriverError({
    cause: 'BUILD_UNAVAILABLE',
    message: 'Building images on a cluster needs Kubernetes 1.30 or later, and this cluster is older.',
    hint: 'Upgrade the cluster, or run a worker of Davit on a machine with a container engine, which then builds the images.',
  });
}

interface BuildParts {
  readonly namespace: string;
  readonly name: string;
  readonly files: BuildContext;
  readonly dockerfile: Dockerfile;
  readonly offered: OfferedArguments;
}

/** One build in one pod. */
class ClusterBuild {
  readonly #scope: ClusterScope;
  readonly #request: ClusterBuildRequest;
  readonly #parts: BuildParts;
  #pod: BuildPod | null = null;
  /** The last lines of the output. */
  #lines: readonly string[] = [];

  constructor(scope: ClusterScope, request: ClusterBuildRequest, parts: BuildParts) {
    this.#scope = scope;
    this.#request = request;
    this.#parts = parts;
  }

  close(): void {
    this.#pod?.close();
  }

  async run(context: CallContext): Promise<PushedImage> {
    const { files, offered } = this.#parts;
    const site = await this.#begin(context);
    const ended = new AbortController();
    const log = (line: string): void => {
      this.#lines = [...this.#lines, line].slice(-shownLines);
      context.log(line);
    };
    const within = { log, signal: AbortSignal.any([context.signal, ended.signal]) };
    const work = async (): Promise<BuildRun> => {
      await fill(this.#scope, site, { files, registry: this.#request.registry }, within.signal);
      return runBuildctl(this.#scope, site, buildArguments(this.#request, files.dockerfilePath, offered), within);
    };
    const working = work();
    // The first result wins. The other task is aborted and its result ignored.
    working.catch(() => undefined);
    try {
      const first = await Promise.race([working, this.#endOfPod()]);
      if ('podEnd' in first) throw await this.#ended(first.podEnd, site, context);
      if (first.type !== 'BUILT') throw await this.#failure(first, site, context);
      return { digest: await readDigest(this.#scope, site, context.signal) };
    } finally {
      ended.abort();
    }
  }

  async #begin(context: CallContext): Promise<Site> {
    const { signal } = context;
    const { namespace, name } = this.#parts;
    const { settings } = this.#scope;
    this.#pod = new BuildPod(this.#scope, { namespace, name });
    // This request is not aborted: the API server might still create the Job when the Job is thought to be gone.
    await apply(this.#scope, toBuildJob(this.#request, settings.builds, name), new AbortController().signal);
    signal.throwIfAborted();
    context.log(`Building on the cluster: pod of the job ${name} in the namespace ${namespace}.`);
    const beginning = await Promise.race([this.#pod.begun, aborted(signal)]);
    if (beginning.type === 'FAILED') throw beginFailure(beginning.suspicion, this.#request, builderImage(settings.builds));
    const [pod] = await podsOf(this.#scope, { namespace, name }, signal);
    const site = { namespace, name, pod: pod?.metadata?.name ?? '' };
    if (beginning.type === 'ENDED') throw await this.#ended(beginning.end, site, context);
    return site;
  }

  async #endOfPod(): Promise<{ readonly podEnd: PodEnd }> {
    return { podEnd: (await this.#pod?.ended) ?? { type: 'GONE', words: 'it was never created' } };
  }

  async #ended(podEnd: PodEnd, site: Site, { signal }: CallContext): Promise<DriverError> {
    const lines = podEnd.type === 'ENDED' ? await this.#daemonLines(site, signal) : this.#lines;
    return endFailure(podEnd, this.#request, lines);
  }

  async #daemonLines({ namespace, name }: Site, signal: AbortSignal): Promise<string[]> {
    const [pod] = await podsOf(this.#scope, { namespace, name }, signal);
    return pod === undefined ? [] : lastLines(this.#scope, pod, { count: shownLines }, signal);
  }

  async #failure(run: Exclude<BuildRun, { type: 'BUILT' }>, site: Site, context: CallContext): Promise<DriverError> {
    const { signal } = context;
    if (run.type === 'SILENT') return silentDaemon(await this.#daemonLines(site, signal));
    if (lostPod(run.message)) {
      const reported = await Promise.race([this.#endOfPod(), later(reportMilliseconds)]);
      if (reported !== null) return this.#ended(reported.podEnd, site, context);
    }
    const { dockerfile, files } = this.#parts;
    const failed = {
      outcome: run.outcome,
      message: run.message,
      memoryMiB: this.#request.memoryMiB,
      wasKilledForMemory: await wasKilledForMemory(this.#scope, site, signal),
      dockerfile,
      dockerfilePath: files.dockerfilePath,
    };
    return runFailure(failed, this.#request.reference);
  }
}

function later(milliseconds: number): Promise<null> {
  return new Promise((resolve) => setTimeout(() => resolve(null), milliseconds).unref());
}

function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    const abort = (): void => reject(signal.reason); // oxlint-disable-line typescript/prefer-promise-reject-errors -- the caller's own reason
    if (signal.aborted) abort();
    else signal.addEventListener('abort', abort, { once: true });
  });
}

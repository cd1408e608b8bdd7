import { createHash } from 'node:crypto';
import { pause } from '@davit/base';
import type { EngineConnection } from '../connection.ts';
import type { CallContext } from '../../driver.ts';
import type { BuildRequest, BuiltImage, EngineImages } from '../../image-builder.ts';
import { DriverError } from '../../errors.ts';
import { call, unreachable } from '../engine-api.ts';
import { label } from '../labels.ts';
import { BuildRefusal, callBuild } from './build-call.ts';
import { buildFailure, isSyntaxImage } from '../../shared/build/build-failure.ts';
import { isLabelStep, labelledDockerfile, planBuild, withoutLimits, type BuildPlan } from './build-query.ts';
import { limitCommands, markFor, whyUnlimited, type LimitedCommands } from './command-limits.ts';
import { openContext, packContext, type BuildContext, type OwnDockerfile } from '../../shared/build/context.ts';
import {
  endOrphanGroups,
  killControlGroup,
  makeControlGroup,
  newGroupName,
  removeControlGroup,
  wasKilledForMemory,
} from '../../shared/control-group.ts';
import { pidsLimit } from '../container-spec.ts';
import { takesConnections } from './listening.ts';
import { checkedDockerfile, declaredArguments } from '../../shared/build/checked.ts';
import { parseDockerfile, withoutSyntax, type Dockerfile } from '../../shared/build/dockerfile.ts';
import { forOlderBuilders, oldestSyntax, podmanSyntax, type BuilderSyntax } from '../../shared/build/older-builders.ts';
import { askBuildTraits, type BuildTraits } from './engine-traits.ts';
import { needsSession, openSession, type BuildSession } from './build-session.ts';
import { pullImage } from './image-pull.ts';
import { pushImage } from './image-push.ts';
import { BuildOutput, type BuildOutcome } from '../../shared/build/output.ts';

export interface ImageBuilderInput {
  readonly docker: EngineConnection;
  /** Id of the installation. Only images with its label are ever removed. */
  readonly installation: string;
}

interface Inspection {
  readonly Id: string;
  readonly Size: number;
  readonly RepoTags?: readonly string[] | null;
  readonly Config?: { readonly Labels?: Readonly<Record<string, string>> | null } | null;
}

/** Creates a builder for Docker Engine (20.10 or later) and Podman (4 or later). It uses their build endpoint. */
export function createImageBuilder({ docker, installation }: ImageBuilderInput): EngineImages {
  let known: BuildTraits | null = null;
  const traits = async (signal: AbortSignal): Promise<BuildTraits> => (known ??= await askBuildTraits(docker, signal));
  return {
    declaredArguments,
    find: async (image, signal) => {
      const found = await inspect(docker, image, signal);
      return found && toBuiltImage(found);
    },
    build: async (request, context) => {
      const files = await openContext(request);
      const dockerfile = checkedDockerfile(files, request);
      const found = await traits(context.signal);
      const group = found.engine === 'podman' && !found.isRootless ? newGroupName('build') : null;
      if (group !== null) await endOrphanGroups();
      const isLimited = group !== null && (await makeControlGroup(group, { processes: pidsLimit })) !== null;
      const isDocker = found.engine === 'docker';
      const mark = isDocker ? markFor(dockerfile) : null;
      const dataFolder = isLocal(docker) ? found.dataFolder : null;
      const unlimitedBecause = isDocker ? whyUnlimited(dataFolder) : null;
      const own = isDocker ? null : ownDockerfile(files, dockerfile, request, podmanSyntax(found.version));
      const plan = planBuild({
        request,
        dockerfile,
        dockerfilePath: own?.name ?? files.dockerfilePath,
        traits: found,
        group,
        processes: isLimited ? pidsLimit : null,
        mark,
        unlimitedBecause,
      });
      for (const remark of plan.remarks) context.log(remark);
      const memoryBytes = (plan.memoryMiB ?? 0) * 1024 * 1024;
      const limits = { memoryBytes, cpuMillicores: request.cpuMillicores, processes: pidsLimit };
      const limited =
        isDocker && unlimitedBecause === null && dataFolder !== null ? limitCommands({ dataFolder, limits, mark }) : null;
      try {
        return await new Build(docker, plan, { files, own, dockerfile, context, group, limited }).run();
      } finally {
        await limited?.end();
        if (group !== null) await removeControlGroup(group);
      }
    },
    pull: (request, context) => pullImage(docker, request, context),
    push: (request, context) => pushImage(docker, request, context),
    removeImages: async (ids, context) => {
      for (const id of ids) await removeImage(docker, id, { installation, context });
    },
  };
}

interface BuildScope {
  readonly files: BuildContext;
  readonly own: OwnDockerfile | null;
  readonly dockerfile: Dockerfile;
  readonly context: CallContext;
  /** See `PlanInput.group`. */
  readonly group: string | null;
  /** The limits of the commands. Docker only. */
  readonly limited: LimitedCommands | null;
}

/** Returns the Dockerfile for Podman. Its name depends on its content, so that no file of the context has it. */
function ownDockerfile(files: BuildContext, dockerfile: Dockerfile, request: BuildRequest, syntax: BuilderSyntax): OwnDockerfile {
  const older = forOlderBuilders(files.dockerfile, dockerfile, { targetStage: request.targetStage, syntax });
  const content = labelledDockerfile(older, parseDockerfile(older), request);
  return { name: `.davit-${createHash('sha256').update(content).digest('hex')}`, content };
}

/** Returns whether the engine is reached by a socket, and so runs on this machine or in a virtual machine of it. */
function isLocal(docker: EngineConnection): boolean {
  return docker.connection.socketPath !== undefined;
}

/** Why a build failed, and whether the reason is the image that its line `# syntax=` names. */
class FailedAttempt {
  readonly error: DriverError;
  readonly isSyntaxImage: boolean;

  constructor(error: DriverError, ofSyntaxImage: boolean) {
    this.error = error;
    this.isSyntaxImage = ofSyntaxImage;
  }
}

/** One build on one engine. */
class Build {
  readonly #docker: EngineConnection;
  readonly #plan: BuildPlan;
  readonly #scope: BuildScope;

  constructor(docker: EngineConnection, plan: BuildPlan, scope: BuildScope) {
    this.#docker = docker;
    this.#plan = plan;
    this.#scope = scope;
  }

  async run(): Promise<BuiltImage> {
    const { context, files, own, dockerfile } = this.#scope;
    const first = await this.#attempt(own);
    if (!(first instanceof FailedAttempt)) return first;
    // Each BuildKit has a version of Docker's own syntax built in, which is enough for most Dockerfiles.
    if (!first.isSyntaxImage || dockerfile.syntax?.isOfficial !== true) throw first.error;
    context.log(`${first.error.message} The build goes on with the version that is built into the engine.`);
    const targetStage = this.#plan.query['target'] ?? null;
    const older = forOlderBuilders(files.dockerfile, dockerfile, { targetStage, syntax: oldestSyntax });
    let last = first;
    // Only an engine that cannot read the Dockerfile as it is written gets the translated one.
    for (const content of new Set([files.dockerfile, older])) {
      const next = await this.#attempt({ name: files.dockerfilePath, content: withoutSyntax(content) });
      if (!(next instanceof FailedAttempt)) return next;
      last = next;
      // ENGINE_FAILED says that the build failed before its first instruction, for a cause that is not known.
      if (next.error.code !== 'DOCKERFILE_INVALID' && next.error.code !== 'ENGINE_FAILED') break;
    }
    // A Dockerfile that the engine cannot read by itself needs the image.
    throw last.error.code === 'DOCKERFILE_INVALID' ? first.error : last.error;
  }

  async #attempt(own: OwnDockerfile | null): Promise<BuiltImage | FailedAttempt> {
    const { context } = this.#scope;
    const output = new BuildOutput((line) => {
      if (!isLabelStep(line)) context.log(line);
    });
    const refusal = await this.#call(output, own);
    const outcome = output.end();
    this.#warnIfUnlimited(outcome);
    if (refusal !== null || outcome.error) {
      const error = await this.#failure(outcome, refusal ?? outcome.error?.message ?? '');
      return new FailedAttempt(error, error.code === 'BASE_IMAGE_UNAVAILABLE' && isSyntaxImage(outcome));
    }
    const built = outcome.imageId === null ? null : await inspect(this.#docker, outcome.imageId, context.signal);
    if (built) return toBuiltImage(built);
    throw new DriverError({
      cause: 'ENGINE_UNREACHABLE',
      message: 'The container engine ended the build without a result.',
      evidence: { lines: outcome.lines },
      retryable: true,
    });
  }

  /** Logs if commands ran without limits because none of their control groups was found. */
  #warnIfUnlimited({ commands }: BuildOutcome): void {
    const { limited, context } = this.#scope;
    if (limited !== null && commands > 0 && limited.count === 0)
      context.log(withoutLimits('the control groups of its commands were not found'));
  }

  async #openSession(): Promise<BuildSession | null> {
    const { dockerfile, context } = this.#scope;
    const { socketPath } = this.#docker.connection;
    if (this.#plan.builder !== 'buildkit' || socketPath === undefined || !needsSession(dockerfile)) return null;
    return openSession(socketPath, context.signal);
  }

  /** Runs the build. Returns the engine's refusal, or null if the engine accepted the request. */
  async #call(output: BuildOutput, own: OwnDockerfile | null): Promise<string | null> {
    const { signal } = this.#scope.context;
    const connection = new AbortController();
    const stopping: Promise<void>[] = [];
    let isOver = false;
    let session: BuildSession | null = null;
    const stop = (): void => {
      stopping.push(this.#stop(connection, () => isOver));
    };
    signal.addEventListener('abort', stop, { once: true });
    try {
      signal.throwIfAborted();
      session = await this.#openSession();
      await callBuild(this.#docker, {
        query: { ...this.#plan.query, ...(session !== null && { session: session.id }) },
        context: packContext(this.#scope.files, own),
        signal: connection.signal,
        onText: (text) => output.write(text),
      });
      return null;
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof BuildRefusal) return error.words;
      // The engine has exited, but the command that it started still runs.
      if (this.#scope.group !== null) await killControlGroup(this.#scope.group);
      await this.#scope.limited?.kill();
      throw error;
    } finally {
      isOver = true;
      session?.close();
      signal.removeEventListener('abort', stop);
      await Promise.all(stopping);
      signal.throwIfAborted();
    }
  }

  /**
   * Stops the build. Docker Engine ends a build, its command and its container when the connection closes. Podman (seen
   * with 4.3.1) lets the command continue and leaves its containers behind. If the command is killed, it fails, and
   * Buildah cleans up. The command is found by its control group, which only this build uses.
   */
  async #stop(connection: AbortController, isOver: () => boolean): Promise<void> {
    const { group } = this.#scope;
    if (group === null) return connection.abort();
    // Killing the current step makes the build fail, which ends the response. Between two steps there is nothing to
    // kill, and closing the connection ends the build. The next step may start at that very moment, so the group is
    // killed again afterwards.
    for (let tries = 0; tries < 40 && !isOver(); tries += 1) {
      await killControlGroup(group);
      if (tries === 20) connection.abort();
      await pause(50);
    }
    connection.abort();
    for (let quiet = 0; quiet < 4; quiet += 1) {
      if ((await killControlGroup(group)) > 0) quiet = 0;
      await pause(50);
    }
  }

  async #failure(outcome: BuildOutcome, message: string): Promise<DriverError> {
    const { dockerfile, files, context } = this.#scope;
    const { memoryMiB } = this.#plan;
    const failure = buildFailure({
      outcome,
      message,
      memoryMiB,
      wasKilledForMemory: await this.#wasKilledForMemory(),
      dockerfile,
      dockerfilePath: files.dockerfilePath,
    });
    // An engine that is being stopped kills its containers. That is not a fault of the build.
    const wasKilled = failure.code === 'BUILD_COMMAND_FAILED' && (failure.evidence.exit?.code ?? 0) > 128;
    context.signal.throwIfAborted();
    if (!wasKilled || !(await this.#isStopping())) return failure;
    await this.#scope.limited?.kill();
    return unreachable('was stopped during the build', failure);
  }

  /** Returns whether the engine stops. It may still take connections for a moment after it killed its containers. */
  async #isStopping(): Promise<boolean> {
    for (let tries = 0; tries < 5; tries += 1) {
      if (!(await takesConnections(this.#docker))) return true;
      await pause(100);
    }
    return false;
  }

  async #wasKilledForMemory(): Promise<boolean | null> {
    const { memoryMiB } = this.#plan;
    const { group, limited } = this.#scope;
    if (memoryMiB === null) return null;
    if (limited !== null) return limited.wasKilledForMemory();
    return group === null ? null : wasKilledForMemory(group, memoryMiB * 1024 * 1024);
  }
}

async function inspect(docker: EngineConnection, image: string, signal: AbortSignal): Promise<Inspection | null> {
  const answer = await call<Inspection>(docker, { method: 'GET', path: `/images/${image}/json`, signal, accept: [404] });
  return answer.status === 404 ? null : answer.body;
}

function toBuiltImage(inspection: Inspection): BuiltImage {
  const id = inspection.Id.startsWith('sha256:') ? inspection.Id : `sha256:${inspection.Id}`;
  return { id, sizeBytes: inspection.Size };
}

interface RemovalScope {
  readonly installation: string;
  readonly context: CallContext;
}

async function removeImage(docker: EngineConnection, id: string, { installation, context }: RemovalScope): Promise<void> {
  const { signal } = context;
  const found = await inspect(docker, id, signal);
  if (!found) return;
  if (found.Config?.Labels?.[label.installation] !== installation) {
    context.log(`Image ${id} does not belong to this installation and is kept`);
    return;
  }
  // Removes the names first. An image with several names cannot be removed by id without force, and force would remove
  // it from containers that use it. 404: the image is already gone. 409: the image is in use.
  for (const name of [...(found.RepoTags ?? []), id]) {
    await call(docker, { method: 'DELETE', path: `/images/${name}`, signal, accept: [404, 409] });
  }
}

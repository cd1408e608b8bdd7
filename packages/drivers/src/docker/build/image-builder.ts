import { randomBytes } from 'node:crypto';
import type Dockerode from 'dockerode';
import type { BuildRequest, BuiltImage, CallContext, ImageBuilder } from '../../driver.ts';
import { DriverError } from '../../errors.ts';
import { call } from '../engine-api.ts';
import { label } from '../labels.ts';
import { pause } from '../pause.ts';
import { BuildRefusal, callBuild } from './build-call.ts';
import { buildFailure } from './build-failure.ts';
import { planBuild, type BuildPlan } from './build-query.ts';
import { openContext, packContext, type BuildContext } from './context.ts';
import { killControlGroup } from './control-group.ts';
import { findStage, parseDockerfile, type Dockerfile } from './dockerfile.ts';
import { askBuildTraits, type BuildTraits } from './engine-traits.ts';
import { BuildOutput, type BuildOutcome } from './output.ts';

export interface ImageBuilderInput {
  readonly docker: Dockerode;
  /** Only images that carry this installation's label are ever removed. */
  readonly installation: string;
}

interface Inspection {
  readonly Id: string;
  readonly Size: number;
  readonly RepoTags?: readonly string[] | null;
  readonly Config?: { readonly Labels?: Readonly<Record<string, string>> | null } | null;
}

/** Builds on Docker Engine (20.10 or later) and on Podman (4 or later), over their build endpoint. */
export function createImageBuilder({ docker, installation }: ImageBuilderInput): ImageBuilder {
  let known: BuildTraits | null = null;
  const traits = async (signal: AbortSignal): Promise<BuildTraits> => (known ??= await askBuildTraits(docker, signal));
  return {
    find: async (image, signal) => {
      const found = await inspect(docker, image, signal);
      return found && toBuiltImage(found);
    },
    build: async (request, context) => {
      const files = await openContext(request);
      const dockerfile = checkedDockerfile(files, request);
      const group = `davit-build-${randomBytes(8).toString('hex')}`;
      const found = await traits(context.signal);
      const canOwnGroup = found.engine === 'podman' && !found.isRootless;
      const plan = planBuild({
        request,
        dockerfile,
        dockerfilePath: files.dockerfilePath,
        traits: found,
        group: canOwnGroup ? group : null,
      });
      for (const remark of plan.remarks) context.log(remark);
      return new Build(docker, plan, { files, dockerfile, context, group: canOwnGroup ? group : null, request }).run();
    },
    removeImages: async (ids, context) => {
      for (const id of ids) await removeImage(docker, id, { installation, context });
    },
  };
}

interface BuildScope {
  readonly files: BuildContext;
  readonly dockerfile: Dockerfile;
  readonly request: BuildRequest;
  readonly context: CallContext;
  /** See `PlanInput.group`. */
  readonly group: string | null;
}

/** One build on one engine. */
class Build {
  readonly #docker: Dockerode;
  readonly #plan: BuildPlan;
  readonly #scope: BuildScope;

  constructor(docker: Dockerode, plan: BuildPlan, scope: BuildScope) {
    this.#docker = docker;
    this.#plan = plan;
    this.#scope = scope;
  }

  async run(): Promise<BuiltImage> {
    const { context } = this.#scope;
    const output = new BuildOutput((line) => context.log(line));
    const refusal = await this.#call(output);
    const outcome = output.end();
    if (refusal !== null || outcome.error) throw await this.#failure(outcome, refusal ?? outcome.error?.message ?? '');
    const built = await inspect(this.#docker, outcome.imageId ?? this.#scope.request.image, context.signal);
    if (built && outcome.imageId !== null) return toBuiltImage(built);
    throw new DriverError({
      cause: 'ENGINE_UNREACHABLE',
      message: 'The container engine ended the build without a result.',
      evidence: { lines: outcome.lines },
      retryable: true,
    });
  }

  /** The engine's refusal, or null when it took the request. */
  async #call(output: BuildOutput): Promise<string | null> {
    const { signal } = this.#scope.context;
    const connection = new AbortController();
    const stopping: Promise<void>[] = [];
    let isOver = false;
    const stop = (): void => {
      stopping.push(this.#stop(connection, () => isOver));
    };
    signal.addEventListener('abort', stop, { once: true });
    try {
      signal.throwIfAborted();
      await callBuild(this.#docker, {
        query: this.#plan.query,
        context: packContext(this.#scope.files),
        signal: connection.signal,
        onText: (text) => output.write(text),
      });
      return null;
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof BuildRefusal) return error.words;
      throw error;
    } finally {
      isOver = true;
      signal.removeEventListener('abort', stop);
      await Promise.all(stopping);
      signal.throwIfAborted();
    }
  }

  /**
   * Docker Engine ends a build, its command and its container when the connection ends. Podman (seen with 4.3.1) lets the
   * command run on and its containers stay; killed, the command fails, and Buildah clears all away. It is found by its control
   * group, which is this build's alone.
   */
  async #stop(connection: AbortController, isOver: () => boolean): Promise<void> {
    const { group } = this.#scope;
    if (group === null) return connection.abort();
    // A step that is under way ends the build by its failure, and the answer ends with it. Between two steps there is nothing
    // to kill, and the end of the connection ends the build; the next step may have begun just then.
    for (let tries = 0; tries < 40 && !isOver(); tries += 1) {
      await killControlGroup(group);
      if (tries === 20) connection.abort();
      await pause(50, new AbortController().signal);
    }
    connection.abort();
    for (let quiet = 0; quiet < 4; quiet += 1) {
      if ((await killControlGroup(group)) > 0) quiet = 0;
      await pause(50, new AbortController().signal);
    }
  }

  async #failure(outcome: BuildOutcome, message: string): Promise<DriverError> {
    const { memoryMiB } = this.#plan;
    const wasKilledForMemory =
      memoryMiB !== null && this.#plan.builder === 'classic' && outcome.container !== null
        ? await sawOutOfMemory(this.#docker, outcome.container, this.#scope.context.signal)
        : null;
    const { dockerfile, files } = this.#scope;
    return buildFailure({ outcome, message, memoryMiB, wasKilledForMemory, dockerfile, dockerfilePath: files.dockerfilePath });
  }
}

function checkedDockerfile(files: BuildContext, request: BuildRequest): Dockerfile {
  const dockerfile = parseDockerfile(files.dockerfile);
  if (dockerfile.fault) {
    throw new DriverError({
      cause: 'DOCKERFILE_INVALID',
      message: `${files.dockerfilePath}, line ${dockerfile.fault.line}: ${dockerfile.fault.message}.`,
    });
  }
  if (request.targetStage !== null && !findStage(dockerfile, request.targetStage)) {
    const names = dockerfile.stages.flatMap(({ name }) => name ?? []);
    const there = names.length === 0 ? 'none of its stages has a name' : `its stages are ${names.join(', ')}`;
    throw new DriverError({
      cause: 'BUILD_TARGET_MISSING',
      message: `${files.dockerfilePath} has no stage ${request.targetStage}; ${there}.`,
    });
  }
  return dockerfile;
}

/** Whether the engine has noted a kill for memory in a container that it has meanwhile removed. */
async function sawOutOfMemory(docker: Dockerode, container: string, signal: AbortSignal): Promise<boolean> {
  const filters = JSON.stringify({ type: ['container'], event: ['oom'], container: [container] });
  // The note of the kill comes by another way than the exit, and may be a moment later.
  for (const milliseconds of [0, 100, 250]) {
    await pause(milliseconds, signal);
    const now = Date.now() / 1000;
    const query = { since: String(Math.floor(now - 86_400)), until: now.toFixed(3), filters };
    const events = await call(docker, { method: 'GET', path: '/events', query, signal });
    if (events.body !== '') return true;
  }
  return false;
}

async function inspect(docker: Dockerode, image: string, signal: AbortSignal): Promise<Inspection | null> {
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

async function removeImage(docker: Dockerode, id: string, { installation, context }: RemovalScope): Promise<void> {
  const { signal } = context;
  const found = await inspect(docker, id, signal);
  if (!found) return;
  if (found.Config?.Labels?.[label.installation] !== installation) {
    context.log(`Image ${id} is not of this installation: left alone`);
    return;
  }
  // By name first: an image with several names cannot be removed by its id without force, and force would take it from
  // containers that use it. 404: gone meanwhile. 409: in use.
  for (const name of [...(found.RepoTags ?? []), id]) {
    await call(docker, { method: 'DELETE', path: `/images/${name}`, signal, accept: [404, 409] });
  }
}

import type { Sensitive } from '@davit/base';
import type { CallContext } from './driver.ts';
import type { Ownership } from './workload.ts';

/** Where in a checked-out repository a Dockerfile and its build context are. */
export interface BuildSource {
  /** Checked-out repository. */
  readonly directory: string;
  /** Folder of the repository that is the build context; `/` is all. Never leaves the repository, symbolic links included. */
  readonly rootPath: string;
  /** Relative to `rootPath`. */
  readonly dockerfilePath: string;
}

export interface BuildRequest extends BuildSource {
  readonly owner: Ownership;
  /** Name and tag the image gets, for example `davit/<service>:<key>`. */
  readonly image: string;
  readonly targetStage: string | null;
  /** Offered to the ARGs that the Dockerfile declares; others are left out. Never secrets. */
  readonly arguments: Readonly<Record<string, string>>;
  /** Names of secrets: an ARG of such a name gets nothing, and a log line says why. */
  readonly secretNames: readonly string[];
  readonly cpuMillicores: number;
  readonly memoryMiB: number;
  /** Every step runs anew, whatever earlier builds left. */
  readonly withoutCache?: boolean;
  /** After so long nobody waits for it any more: what builds it beside this process ends then by itself. Default an hour. */
  readonly timeoutSeconds?: number;
}

export interface BuiltImage {
  /** What releases run, whatever happens to the tag: the engine's id, `sha256:…`; for a cluster that pulls by itself name and digest. */
  readonly id: string;
  readonly sizeBytes: number;
}

/** Identification at a registry. */
export interface RegistryCredentials {
  readonly username: string;
  readonly password: Sensitive;
}

export interface PullRequest {
  /** Complete: `registry.example.org:5000/team/app:1.2` or `…/app@sha256:…`. */
  readonly reference: string;
  readonly credentials: RegistryCredentials | null;
}

export interface PulledImage extends BuiltImage {
  /** `sha256:…` of what the registry gave under this reference; null where the engine does not say. */
  readonly digest: string | null;
}

export interface PushRequest {
  /** As the engine has it. */
  readonly image: string;
  /** What the registry is to call it: `registry.example.org:5000/team/app:1.2`. */
  readonly reference: string;
  readonly credentials: RegistryCredentials | null;
}

export interface PushedImage {
  /** `sha256:…` under which the registry gives it. */
  readonly digest: string;
}

export interface ClusterBuildRequest extends BuildRequest {
  /** What the registry is to call it: `registry.example.org:5000/davit/<service>:<key>`. */
  readonly reference: string;
  readonly registry: BuildRegistry;
}

/** Where images that are built in a cluster go. */
export interface BuildRegistry {
  /** Under which its credentials are looked for: `registry.example.org:5000`; of Docker Hub `https://index.docker.io/v1/`. */
  readonly host: string;
  /** May write there. Commands of the Dockerfile never see them. */
  readonly credentials: RegistryCredentials | null;
  /** It speaks http. */
  readonly isPlain: boolean;
  /**
   * Images below this name are those of all services that are built for the cluster: `registry.example.org:5000/davit`. As the credentials
   * may read them, a Dockerfile that begins with one of them is refused.
   */
  readonly folder: string;
}

/** What a build may use, of processors and memory. */
export type BuildLimits = Pick<BuildRequest, 'cpuMillicores' | 'memoryMiB'>;

/** Builds images in a cluster, and pushes them from there. */
export interface ClusterBuilder {
  /** At most. Its nodes build, and not this machine. */
  readonly limits: BuildLimits;

  /** See `ImageBuilder.declaredArguments`. */
  declaredArguments(source: BuildSource): Promise<readonly string[]>;

  /**
   * Builds, pushes, and leaves nothing on the cluster; output lines go to the log as they come. What a former build of the same
   * reference left, of a process that died, is ended first. Layers are kept in the registry for the next build of the same name. Fails
   * as `ImageBuilder.build` and `ImageCarrier.push`, and with BUILD_UNAVAILABLE, UNSCHEDULABLE, QUOTA_EXCEEDED or ADMISSION_REFUSED where
   * the cluster does not let it begin. On abort the build is killed.
   */
  build(request: ClusterBuildRequest, context: CallContext): Promise<PushedImage>;
}

/** Builds images where the cluster can run them. */
export interface ImageBuilder {
  /**
   * Names of the build arguments that the Dockerfile declares; none when it is not there or not readable, which `build` reports
   * better. Asks no engine.
   */
  declaredArguments(source: BuildSource): Promise<readonly string[]>;

  /** The image of that name, or null. */
  find(image: string, signal: AbortSignal): Promise<BuiltImage | null>;

  /**
   * Builds and names the image; output lines go to the log. Fails with DOCKERFILE_MISSING, DOCKERFILE_INVALID,
   * BUILD_ROOT_MISSING, BUILD_TARGET_MISSING, BASE_IMAGE_UNAVAILABLE, BUILD_COMMAND_FAILED, BUILD_OUT_OF_MEMORY, DISK_FULL,
   * ENGINE_UNREACHABLE. On abort the engine's build is stopped too.
   */
  build(request: BuildRequest, context: CallContext): Promise<BuiltImage>;

  /** Removes images of a service by their id. One that is in use or gone is no failure. */
  removeImages(ids: readonly string[], context: CallContext): Promise<void>;
}

/** Carries images between registries and an engine. */
export interface ImageCarrier {
  /**
   * Brings an image from its registry, also when the engine has one of that name already: a tag may have moved. Progress goes to
   * the log. Fails with IMAGE_NOT_FOUND, REGISTRY_ACCESS_DENIED, REGISTRY_UNREACHABLE, DISK_FULL, ENGINE_UNREACHABLE.
   */
  pull(request: PullRequest, context: CallContext): Promise<PulledImage>;

  /**
   * Brings an image to a registry; what is there of it already is not sent again. Progress goes to the log. Fails with
   * IMAGE_MISSING, REGISTRY_ACCESS_DENIED, REGISTRY_UNREACHABLE, IMAGE_NOT_PUSHED, ENGINE_UNREACHABLE. Leaves no name of the
   * registry on the engine.
   */
  push(request: PushRequest, context: CallContext): Promise<PushedImage>;
}

/** What a container engine does with images. */
export interface EngineImages extends ImageBuilder, ImageCarrier {}

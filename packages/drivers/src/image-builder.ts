import type { Sensitive } from '@davit/base';
import type { CallContext } from './driver.ts';
import type { Ownership } from './workload.ts';

/** The place of a Dockerfile and its build context in a checked-out repository. */
export interface BuildSource {
  /** Folder of the checked-out repository. */
  readonly directory: string;
  /**
   * Folder of the repository that is the build context; `/` is the whole repository. Never leaves the repository, not
   * even by symbolic links.
   */
  readonly rootPath: string;
  /** Path relative to `rootPath`. */
  readonly dockerfilePath: string;
  /**
   * Time of the commit (ISO 8601), which all files of the context get as their time of modification. Web servers derive
   * `Last-Modified` and `ETag` from it, so a constant would make browsers keep files of the former release. Engines
   * ignore it when they look up their cache. Default: 2000-01-01.
   */
  readonly committedAt?: string;
}

export interface BuildRequest extends BuildSource {
  readonly owner: Ownership;
  /** Name and tag of the image, for example `davit/<service>:<key>`. */
  readonly image: string;
  readonly targetStage: string | null;
  /** Values for the ARGs that the Dockerfile declares; values of other names are ignored. Never secrets. */
  readonly arguments: Readonly<Record<string, string>>;
  /** Names of secrets. An ARG with such a name gets no value, and a log line says why. */
  readonly secretNames: readonly string[];
  readonly cpuMillicores: number;
  readonly memoryMiB: number;
  /** Runs every step anew, whatever is cached. */
  readonly withoutCache?: boolean;
  /** Timeout of the build, in seconds. A build that runs outside this process then ends by itself. Default: an hour. */
  readonly timeoutSeconds?: number;
}

export interface BuiltImage {
  /**
   * Reference of the image that releases run, whatever happens to the tag. It is the engine's id, `sha256:…`; for a
   * cluster that pulls images itself, it is name and digest.
   */
  readonly id: string;
  readonly sizeBytes: number;
}

/** Credentials for a registry. */
export interface RegistryCredentials {
  readonly username: string;
  readonly password: Sensitive;
}

export interface PullRequest {
  /** The complete reference: `registry.example.org:5000/team/app:1.2` or `…/app@sha256:…`. */
  readonly reference: string;
  readonly credentials: RegistryCredentials | null;
}

export interface PulledImage extends BuiltImage {
  /** Digest, `sha256:…`, that the registry returned for this reference; null if the engine does not report it. */
  readonly digest: string | null;
}

export interface PushRequest {
  /** Name or id of the image on the engine. */
  readonly image: string;
  /** Reference under which the registry stores the image: `registry.example.org:5000/team/app:1.2`. */
  readonly reference: string;
  readonly credentials: RegistryCredentials | null;
}

export interface PushedImage {
  /** Digest, `sha256:…`, of the image in the registry. */
  readonly digest: string;
}

export interface ClusterBuildRequest extends BuildRequest {
  /** Reference under which the registry stores the image: `registry.example.org:5000/davit/<service>:<key>`. */
  readonly reference: string;
  readonly registry: BuildRegistry;
}

/** The registry to which a cluster pushes the images that it builds. */
export interface BuildRegistry {
  /**
   * Host under which clients look up the credentials: `registry.example.org:5000`; `https://index.docker.io/v1/` for
   * Docker Hub.
   */
  readonly host: string;
  /** Credentials that allow pushing. Commands of the Dockerfile never see them. */
  readonly credentials: RegistryCredentials | null;
  /** True if the registry uses HTTP, not HTTPS. */
  readonly isPlain: boolean;
  /**
   * Name prefix of the images of all services that are built for the cluster: `registry.example.org:5000/davit`. The
   * credentials can read all of these images, so a Dockerfile with one of them as its base image is refused.
   */
  readonly folder: string;
}

/** Most CPU and memory that a build may use. */
export type BuildLimits = Pick<BuildRequest, 'cpuMillicores' | 'memoryMiB'>;

/** Builds images on a cluster and pushes them from there. */
export interface ClusterBuilder {
  /** The most that a build may use on a node of the cluster. */
  readonly limits: BuildLimits;

  /** See `ImageBuilder.declaredArguments`. */
  declaredArguments(source: BuildSource): Promise<readonly string[]>;

  /**
   * Builds and pushes an image, and leaves nothing on the cluster. Output lines go to the log as they arrive. A build
   * of the same reference that a crashed process left behind is ended first. Layers are cached in the registry for the
   * next build of the same name.
   * Fails as `ImageBuilder.build` and `ImageCarrier.push`, and with BUILD_UNAVAILABLE, UNSCHEDULABLE, QUOTA_EXCEEDED or
   * ADMISSION_REFUSED if the cluster does not start the build. On abort the build is killed.
   */
  build(request: ClusterBuildRequest, context: CallContext): Promise<PushedImage>;
}

/** Builds images where the cluster can run them. */
export interface ImageBuilder {
  /**
   * Returns the names of the build arguments that the Dockerfile declares. Returns none if the Dockerfile is missing or
   * unreadable; `build` reports that better. Does not contact an engine.
   */
  declaredArguments(source: BuildSource): Promise<readonly string[]>;

  /** Returns the image with that name, or null. */
  find(image: string, signal: AbortSignal): Promise<BuiltImage | null>;

  /**
   * Builds and names the image; output lines go to the log. Fails with DOCKERFILE_MISSING, DOCKERFILE_INVALID,
   * BUILD_ROOT_MISSING, BUILD_TARGET_MISSING, BASE_IMAGE_UNAVAILABLE, BUILD_COMMAND_FAILED, BUILD_OUT_OF_MEMORY,
   * DISK_FULL, ENGINE_UNREACHABLE. On abort the engine's build is stopped too.
   */
  build(request: BuildRequest, context: CallContext): Promise<BuiltImage>;

  /** Removes images of a service by their ids. Images that are in use or already gone are ignored. */
  removeImages(ids: readonly string[], context: CallContext): Promise<void>;
}

/** Transfers images between registries and an engine. */
export interface ImageCarrier {
  /**
   * Pulls an image from its registry, even if the engine already has one of that name: a tag may have moved. Progress
   * goes to the log. Fails with IMAGE_NOT_FOUND, REGISTRY_ACCESS_DENIED, REGISTRY_UNREACHABLE, DISK_FULL,
   * ENGINE_UNREACHABLE.
   */
  pull(request: PullRequest, context: CallContext): Promise<PulledImage>;

  /**
   * Pushes an image to a registry; layers that the registry already has are not sent again. Progress goes to the log.
   * Leaves no name of the registry on the engine. Fails with IMAGE_MISSING, REGISTRY_ACCESS_DENIED,
   * REGISTRY_UNREACHABLE, IMAGE_NOT_PUSHED, ENGINE_UNREACHABLE.
   */
  push(request: PushRequest, context: CallContext): Promise<PushedImage>;
}

/** The image operations of a container engine. */
export interface EngineImages extends ImageBuilder, ImageCarrier {}

import { AppError, Sensitive } from '@davit/base';
import type { EnvironmentEntry, Ownership, Probe, Workload, WorkloadFile } from '@davit/drivers';
import type { KnownKinds } from '../kinds/traits.ts';
import type { ReleaseCommit, ReleaseConfig, ValuePart } from '../model.ts';

export interface WorkloadInput {
  readonly owner: Ownership;
  readonly release: string;
  readonly rollout: string;
  readonly image: string;
  readonly config: ReleaseConfig;
  readonly commit: ReleaseCommit | null;
  /**
   * Values of the secret versions that the release names; null if the workload is only observed or probed, never
   * created.
   */
  readonly secrets: ReadonlyMap<string, string> | null;
  readonly builtInPrefix: string;
  readonly readyTimeoutSeconds: number;
  readonly terminationGraceSeconds: number;
  readonly kinds: KnownKinds;
}

/** Returns the workload for a driver, from a release. */
export function toWorkload(input: WorkloadInput): Workload {
  const { config, secrets } = input;
  return {
    owner: input.owner,
    name: config.name,
    release: input.release,
    rollout: input.rollout,
    image: input.image,
    entrypoint: config.entrypoint,
    arguments: config.arguments,
    environment: secrets === null ? [] : [...values(config, secrets), ...commitVariables(input)],
    files: secrets === null ? [] : files(config, secrets),
    ports: config.ports.map((port) => ({
      id: port.id,
      internalPort: port.internalPort,
      protocol: port.protocol,
      ...(port.protocol === 'UDP' && port.public && port.externalPort !== null ? { hostPort: port.externalPort } : {}),
    })),
    volumes: config.volumes,
    cpuMillicores: config.cpuMillicores,
    memoryMiB: config.memoryMiB,
    instances: config.instances,
    hostnames: config.hostnames,
    ...(input.kinds.of(config).hasLastingInstances && { hasAddress: true as const }),
    readiness: config.readiness,
    liveness: config.liveness,
    readyTimeoutSeconds: readyTimeout(config.readiness, input.readyTimeoutSeconds),
    terminationGraceSeconds: terminationGrace(config, input),
    ...(config.metadata !== undefined && { metadata: config.metadata }),
    ...(config.options?.readOnlyRootFilesystem === true && { readOnlyRootFilesystem: true }),
  };
}

/**
 * Returns how long the instances of a release may take to exit, in seconds. A null config means that the release is not
 * known.
 */
export function terminationGrace(
  config: ReleaseConfig | null,
  { terminationGraceSeconds }: { readonly terminationGraceSeconds: number },
): number {
  return config?.options?.terminationGraceSeconds ?? terminationGraceSeconds;
}

/** Returns the readiness timeout in seconds. With a readiness probe, the timing of the probe determines it. */
export function readyTimeout(readiness: Probe | null, byDefault: number): number {
  if (readiness === null) return byDefault;
  return readiness.initialDelaySeconds + readiness.periodSeconds * (readiness.failureThreshold + readiness.successThreshold);
}

function values(config: ReleaseConfig, secrets: ReadonlyMap<string, string>): EnvironmentEntry[] {
  return config.environment.map((entry) => ({
    name: entry.name,
    value: new Sensitive(joined(entry.parts, secrets, entry.name)),
  }));
}

function files(config: ReleaseConfig, secrets: ReadonlyMap<string, string>): WorkloadFile[] {
  return config.files.map((file) => ({ path: file.path, content: new Sensitive(joined(file.parts, secrets, file.path)) }));
}

// The commit is not part of the configuration, as its hash would change with every push.
function commitVariables(input: WorkloadInput): EnvironmentEntry[] {
  if (input.commit === null) return [];
  const type = input.kinds.of(input.config).variableWord;
  const short = input.owner.service.slice(0, 8).toUpperCase();
  return [
    { name: `${input.builtInPrefix}${type}_Z${short}_GIT_COMMIT_ID`, value: new Sensitive(input.commit.id) },
    { name: `${input.builtInPrefix}GIT_COMMIT_ID`, value: new Sensitive(input.commit.id) },
  ];
}

/** Returns the text of a value, with its secrets inserted. */
export function joined(parts: readonly ValuePart[], secrets: ReadonlyMap<string, string>, name: string): string {
  return parts
    .map((part) => {
      if (typeof part === 'string') return part;
      const value = secrets.get(part.secret);
      if (value === undefined) {
        throw new AppError({
          code: 'RELEASE_NOT_USABLE',
          message: `a secret that ${name} of this release uses no longer exists. Deploy the current configuration instead.`,
        });
      }
      return value;
    })
    .join('');
}

/** Returns the ids of all secret versions that a release needs. */
export function secretIds(kinds: KnownKinds, config: ReleaseConfig): string[] {
  const parts = [...config.environment, ...config.files, ...kinds.of(config).values(config)].flatMap((entry) => entry.parts);
  return [...new Set(parts.flatMap((part) => (typeof part === 'string' ? [] : [part.secret])))];
}

/** Returns the variables without secrets, which a build may see. */
export function plainValues(config: ReleaseConfig): Record<string, string> {
  return Object.fromEntries(
    config.environment.flatMap((entry) =>
      entry.parts.every((part) => typeof part === 'string') ? [[entry.name, entry.parts.join('')]] : [],
    ),
  );
}

export function secretNames(config: ReleaseConfig): string[] {
  return config.environment.filter((entry) => entry.parts.some((part) => typeof part !== 'string')).map((entry) => entry.name);
}

import type { ServiceType } from '@davit/contract';
import { derivedId } from './derived-id.ts';
import type { Level } from './row.ts';

export interface ProjectFacts {
  readonly organizationId: string;
  readonly projectId: string;
  readonly projectCreatedAt: string;
}

export interface EnvironmentFacts extends ProjectFacts {
  readonly environmentId: string;
  readonly environmentName: string;
  readonly environmentMode: string;
  readonly environmentCreatedAt: string;
  readonly clusterId: string;
  readonly cloudProvider: string;
  readonly region: string;
  readonly domain: string;
}

/** What the built-in variables of a service are computed from. Addresses are the service room's to know. */
export interface BuiltInFacts extends EnvironmentFacts {
  readonly serviceId: string;
  readonly serviceType: ServiceType;
  readonly serviceName: string;
  readonly serviceCreatedAt: string;
  /** Whether its image is built from a repository: only then it has a commit. */
  readonly isBuilt: boolean;
  /** null: the repository's default branch, or no repository. */
  readonly branch: string | null;
  readonly deployedCommitId: string | null;
  readonly internalHost: string;
  /** With the gateway's port unless that is 80; null without a public port. */
  readonly externalHost: string | null;
}

/** A service as records of its variables name it. */
export interface BuiltInOwner {
  readonly id: string;
  readonly name: string;
  readonly type: ServiceType;
}

export interface BuiltIn {
  /** The same as long as what it belongs to lives, at whatever scope it is seen. */
  readonly id: string;
  /** Key without the prefix: what aliases remember, as the prefix can be configured. */
  readonly name: string;
  readonly key: string;
  readonly value: string;
  /** The widest scope that sees it. */
  readonly level: Level;
  /** The service that it tells of; null: it tells of the surroundings. */
  readonly owner: BuiltInOwner | null;
  readonly createdAt: string;
  /**
   * Known only when the deployment has found its commit: the engine adds it to the process. It is no part of the
   * configuration, as that would be another one after every commit.
   */
  readonly isSetAtStart: boolean;
}

/** Built-in variables that a project sees (semantics 4.6). */
export function projectBuiltIns(facts: ProjectFacts, prefix: string): readonly BuiltIn[] {
  const place = { ownerId: facts.projectId, level: 0, createdAt: facts.projectCreatedAt, prefix } as const;
  return [builtIn(place, 'ORGANIZATION_ID', facts.organizationId), builtIn(place, 'PROJECT_ID', facts.projectId)];
}

/** Those that an environment sees: its project's and its own. */
export function environmentBuiltIns(facts: EnvironmentFacts, prefix: string): readonly BuiltIn[] {
  const place = { ownerId: facts.environmentId, level: 1, createdAt: facts.environmentCreatedAt, prefix } as const;
  const own: readonly (readonly [string, string])[] = [
    ['ENVIRONMENT_ID', facts.environmentId],
    ['ENVIRONMENT_NAME', facts.environmentName],
    ['ENVIRONMENT_TYPE', facts.environmentMode],
    ['CLOUD_PROVIDER', facts.cloudProvider],
    ['CLOUD_PROVIDER_REGION', facts.region],
    ['KUBERNETES_CLUSTER_NAME', `${prefix.toLowerCase()}-z${shortId(facts.clusterId)}`],
    ['KUBERNETES_NAMESPACE_NAME', `z${shortId(facts.environmentId)}-${facts.environmentName}`],
    ['KUBERNETES_CLUSTER_DOMAIN', facts.domain],
  ];
  return [...projectBuiltIns(facts, prefix), ...own.map(([name, value]) => builtIn(place, name, value))];
}

type Suffix = 'NAME' | 'ENVIRONMENT_NAME' | 'GIT_BRANCH' | 'GIT_COMMIT_ID' | 'HOST_INTERNAL' | 'HOST_EXTERNAL';

// What each kind of service tells of itself.
const suffixes: Readonly<Record<ServiceType, readonly Suffix[]>> = {
  APPLICATION: ['NAME', 'ENVIRONMENT_NAME', 'GIT_BRANCH', 'GIT_COMMIT_ID', 'HOST_INTERNAL', 'HOST_EXTERNAL'],
  CONTAINER: ['HOST_INTERNAL', 'HOST_EXTERNAL'],
  DATABASE: [],
  HELM: ['HOST_INTERNAL', 'HOST_EXTERNAL'],
  JOB: ['ENVIRONMENT_NAME', 'GIT_BRANCH', 'GIT_COMMIT_ID'],
  TERRAFORM: [],
};

/** All built-in variables that a service sees, the general ones first. */
export function builtIns(facts: BuiltInFacts, prefix: string): readonly BuiltIn[] {
  const { serviceId: id, serviceName: name, serviceType: type } = facts;
  const place = { ownerId: id, level: 2, createdAt: facts.serviceCreatedAt, prefix, owner: { id, name, type } } as const;
  const values: Readonly<Record<Suffix, string | null>> = {
    NAME: name,
    ENVIRONMENT_NAME: facts.environmentName,
    GIT_BRANCH: facts.branch,
    GIT_COMMIT_ID: facts.isBuilt ? (facts.deployedCommitId ?? '') : null,
    HOST_INTERNAL: facts.internalHost,
    HOST_EXTERNAL: facts.externalHost,
  };
  const own = suffixes[type].flatMap((suffix) => {
    const value = values[suffix];
    if (value === null) return [];
    const made = builtIn(place, `${type}_Z${shortId(id).toUpperCase()}_${suffix}`, value);
    return [suffix === 'GIT_COMMIT_ID' ? { ...made, isSetAtStart: true } : made];
  });
  return [...environmentBuiltIns(facts, prefix), builtIn(place, `${type}_ID`, id), builtIn(place, `${type}_NAME`, name), ...own];
}

interface BuiltInPlace {
  readonly ownerId: string;
  readonly level: Level;
  readonly createdAt: string;
  readonly prefix: string;
  readonly owner?: BuiltInOwner;
}

function builtIn({ ownerId, level, createdAt, prefix, owner }: BuiltInPlace, name: string, value: string): BuiltIn {
  const id = derivedId('built-in', ownerId, name);
  return { id, name, key: `${prefix}_${name}`, value, level, owner: owner ?? null, createdAt, isSetAtStart: false };
}

function shortId(id: string): string {
  return id.slice(0, 8);
}

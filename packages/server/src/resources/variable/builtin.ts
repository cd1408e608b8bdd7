import type { DatabaseType, ServiceType } from '@davit/contract';
import type { ValuePart } from '@davit/engine/port';
import { derivedId } from '../shared/derived-id.ts';
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

/**
 * The facts from which the built-in variables of a service are computed. The `service` folder computes the addresses.
 */
export interface BuiltInFacts extends EnvironmentFacts {
  readonly serviceId: string;
  readonly serviceType: ServiceType;
  readonly serviceName: string;
  readonly serviceCreatedAt: string;
  /** True if the service's image is built from a repository; only such services have a commit. */
  readonly isBuilt: boolean;
  /** null: the repository's default branch, or no repository. */
  readonly branch: string | null;
  readonly deployedCommitId: string | null;
  readonly internalHost: string;
  /** Host with the gateway's port unless that is 80; null without a public port. */
  readonly externalHost: string | null;
}

/** A service as named by the records of its variables. */
export interface BuiltInOwner {
  readonly id: string;
  readonly name: string;
  readonly type: ServiceType;
}

export interface BuiltIn {
  /** Id that stays the same while the variable's owner exists, at whatever scope the variable is listed. */
  readonly id: string;
  /** Key without the prefix. Aliases store this name, as the prefix can be configured. */
  readonly name: string;
  readonly key: string;
  /** Empty if the variable is secret. */
  readonly value: string;
  /** Parts of a secret value; null: the variable is not secret. */
  readonly secret: readonly ValuePart[] | null;
  /** The widest scope that sees the variable. */
  readonly level: Level;
  /** The service that the variable describes; null: the variable describes the project or environment. */
  readonly owner: BuiltInOwner | null;
  readonly createdAt: string;
  /**
   * True if the value is known only after the deployment has found the commit: the engine then adds the variable to the
   * process. Such a variable is not part of the configuration, which would otherwise change with every commit.
   */
  readonly isSetAtStart: boolean;
}

/** Returns the built-in variables that a project sees (semantics 4.6). */
export function projectBuiltIns(facts: ProjectFacts, prefix: string): readonly BuiltIn[] {
  const ids = { ownerId: facts.projectId, level: 0, createdAt: facts.projectCreatedAt, prefix } as const;
  return [builtIn(ids, 'ORGANIZATION_ID', facts.organizationId), builtIn(ids, 'PROJECT_ID', facts.projectId)];
}

/** Returns the built-in variables that an environment sees: its project's and its own. */
export function environmentBuiltIns(facts: EnvironmentFacts, prefix: string): readonly BuiltIn[] {
  const ids = { ownerId: facts.environmentId, level: 1, createdAt: facts.environmentCreatedAt, prefix } as const;
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
  return [...projectBuiltIns(facts, prefix), ...own.map(([name, value]) => builtIn(ids, name, value))];
}

type Suffix = 'NAME' | 'ENVIRONMENT_NAME' | 'GIT_BRANCH' | 'GIT_COMMIT_ID' | 'HOST_INTERNAL' | 'HOST_EXTERNAL';

// Suffixes of the built-in variables that describe each type of service.
const suffixes: Readonly<Record<ServiceType, readonly Suffix[]>> = {
  APPLICATION: ['NAME', 'ENVIRONMENT_NAME', 'GIT_BRANCH', 'GIT_COMMIT_ID', 'HOST_INTERNAL', 'HOST_EXTERNAL'],
  CONTAINER: ['HOST_INTERNAL', 'HOST_EXTERNAL'],
  DATABASE: [],
  HELM: ['HOST_INTERNAL', 'HOST_EXTERNAL'],
  JOB: ['ENVIRONMENT_NAME', 'GIT_BRANCH', 'GIT_COMMIT_ID'],
  TERRAFORM: [],
};

/** Returns all built-in variables that a service sees, the general ones first. */
export function builtIns(facts: BuiltInFacts, prefix: string): readonly BuiltIn[] {
  const { serviceId: id, serviceName: name, serviceType: type } = facts;
  const ids = { ownerId: id, level: 2, createdAt: facts.serviceCreatedAt, prefix, owner: { id, name, type } } as const;
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
    const made = builtIn(ids, `${type}_Z${shortId(id).toUpperCase()}_${suffix}`, value);
    return [suffix === 'GIT_COMMIT_ID' ? { ...made, isSetAtStart: true } : made];
  });
  return [...environmentBuiltIns(facts, prefix), builtIn(ids, `${type}_ID`, id), builtIn(ids, `${type}_NAME`, name), ...own];
}

/** A database as seen by the services of its environment. The SQL function `databases_of` returns this form. */
export interface DatabaseFacts {
  readonly id: string;
  readonly name: string;
  readonly created_at: string;
  readonly spec: {
    readonly type: DatabaseType;
    readonly password_secret_id: string;
    readonly recipe: { readonly port: number; readonly login: string; readonly database: string; readonly url: string };
  };
}

/**
 * Returns the host name of a database inside its environment, which never changes: `z1a2b3c4d-postgresql` (semantics
 * 4.6).
 */
export function databaseHost(id: string, type: DatabaseType): string {
  return `z${shortId(id)}-${type.toLowerCase()}`;
}

/** Returns the connection URL of a database, in parts, for one address. */
export function databaseUrl(url: string, known: Readonly<Record<string, string | ValuePart>>): readonly ValuePart[] {
  return url.split(/(\{[a-z]+\})/).flatMap((piece) => {
    const value = /^\{[a-z]+\}$/.test(piece) ? known[piece.slice(1, -1)] : undefined;
    const part = value ?? piece;
    return part === '' ? [] : [part];
  });
}

/**
 * Returns the variables that databases provide to all services of their environment, from their creation on. The
 * address is always the internal one: only processes inside the environment receive these variables, and there the
 * address works for public and private databases.
 */
export function databaseBuiltIns(databases: readonly DatabaseFacts[], prefix: string): readonly BuiltIn[] {
  return databases.flatMap(({ id, name, created_at: createdAt, spec }) => {
    const { login, database, port, url } = spec.recipe;
    const host = databaseHost(id, spec.type);
    const password = { secret: spec.password_secret_id };
    const address = databaseUrl(url, { login, password, host, port: String(port), database });
    const ids = { ownerId: id, level: 1, createdAt, prefix, owner: { id, name, type: 'DATABASE' } } as const;
    const values: readonly (readonly [string, string | readonly ValuePart[]])[] = [
      ['HOST', host],
      ['HOST_INTERNAL', host],
      ['PORT', String(port)],
      ['LOGIN', login],
      ['PASSWORD', [password]],
      ['DEFAULT_DATABASE_NAME', database],
      ['DATABASE_URL', address],
      ['DATABASE_URL_INTERNAL', address],
    ];
    return values.map(([suffix, value]) => {
      const key = `${spec.type}_Z${shortId(id).toUpperCase()}_${suffix}`;
      return typeof value === 'string' ? builtIn(ids, key, value) : { ...builtIn(ids, key, ''), secret: value };
    });
  });
}

interface BuiltInTarget {
  readonly ownerId: string;
  readonly level: Level;
  readonly createdAt: string;
  readonly prefix: string;
  readonly owner?: BuiltInOwner;
}

function builtIn({ ownerId, level, createdAt, prefix, owner }: BuiltInTarget, name: string, value: string): BuiltIn {
  const id = derivedId('built-in', ownerId, name);
  return { id, name, key: `${prefix}_${name}`, value, secret: null, level, owner: owner ?? null, createdAt, isSetAtStart: false };
}

function shortId(id: string): string {
  return id.slice(0, 8);
}

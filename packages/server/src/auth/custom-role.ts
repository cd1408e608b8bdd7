import { AppError, never } from '@davit/base';
import {
  clusterPermissions,
  environmentModes,
  customNeed,
  narrowedLists,
  projectPermissions,
  type ClusterPermission,
  type EnvironmentMode,
  type Operation,
  type ProjectPermission,
} from '@davit/contract';
import type { Caller, CustomRights } from './caller.ts';

/** The location of a resource, as far as it matters to custom roles. */
export interface ResourceLocation {
  readonly projectId: string | null;
  readonly mode: EnvironmentMode | null;
  readonly clusterId: string | null;
}

/** The result of a check. `hidden`: the role may see nothing there, so the response must be NOT_FOUND. */
export type Verdict = { readonly kind: 'allowed' | 'hidden' } | { readonly kind: 'forbidden'; readonly why: string };

const allowed: Verdict = { kind: 'allowed' };
const hidden: Verdict = { kind: 'hidden' };
const forbidden = (why: string): Verdict => ({ kind: 'forbidden', why });

/**
 * Decides whether a custom role permits an operation. This is the only such decision, beside `checkEnvironment` for
 * environments that a body names.
 */
export function judge(rights: CustomRights, operation: Operation, location: ResourceLocation): Verdict {
  const need = customNeed(operation);
  switch (need) {
    case 'ANY':
    case 'CLUSTER_VIEWER':
      return allowed;
    case 'NEVER':
      return location.projectId !== null && !seesLocation(rights, location)
        ? hidden
        : forbidden('this is for built-in roles only');
    case 'CLUSTER_ADMIN':
      return onCluster(rights, location.clusterId, 'ADMIN');
    case 'PROJECT_VIEWER':
    case 'ENVIRONMENT_CREATOR':
      return seesLocation(rights, location) ? allowed : hidden;
    case 'PROJECT_ADMIN':
      if (isAdminOf(rights, location)) return allowed;
      return seesLocation(rights, location) ? forbidden('this needs is_admin of the project') : hidden;
    case 'VIEWER':
    case 'DEPLOYER':
    case 'MANAGER':
      return inEnvironment(rights, location, need);
    default:
      return never(need);
  }
}

function inEnvironment(rights: CustomRights, location: ResourceLocation, need: ProjectPermission): Verdict {
  const has = permissionIn(rights, location);
  if (has === 'NO_ACCESS') return hidden;
  if (projectPermissions.indexOf(has) >= projectPermissions.indexOf(need)) return allowed;
  return forbidden(`this needs ${need} on ${location.mode ?? 'such'} environments of the project, where it has ${has}`);
}

function onCluster(rights: CustomRights, clusterId: string | null, need: ClusterPermission): Verdict {
  const has = (clusterId === null ? undefined : rights.clusters[clusterId]) ?? 'VIEWER';
  if (clusterPermissions.indexOf(has) >= clusterPermissions.indexOf(need)) return allowed;
  return forbidden(`this needs ${need} on the cluster, where it has ${has}`);
}

function isAdminOf(rights: CustomRights, { projectId }: ResourceLocation): boolean {
  return projectId !== null && rights.projects[projectId]?.isAdmin === true;
}

function permissionIn(rights: CustomRights, location: ResourceLocation): ProjectPermission {
  if (isAdminOf(rights, location)) return 'MANAGER';
  const project = location.projectId === null ? undefined : rights.projects[location.projectId];
  return (location.mode === null ? undefined : project?.permissions[location.mode]) ?? 'NO_ACCESS';
}

/**
 * Returns whether the caller may read events of an environment with this mode; null: the environment was deleted, and
 * its mode is unknown.
 */
export function mayReadIn(caller: Caller, projectId: string, mode: EnvironmentMode | null): boolean {
  if (caller.access.kind !== 'custom') return true;
  return permissionIn(caller.access.rights, { projectId, mode, clusterId: null }) !== 'NO_ACCESS';
}

/**
 * Returns whether a custom role can see a location. The mode of the environment decides if there is one, otherwise
 * access to any mode of the project is enough.
 */
function seesLocation(rights: CustomRights, location: ResourceLocation): boolean {
  if (location.mode !== null) return permissionIn(rights, location) !== 'NO_ACCESS';
  const project = location.projectId === null ? undefined : rights.projects[location.projectId];
  return project !== undefined && (project.isAdmin || Object.values(project.permissions).some((one) => one !== 'NO_ACCESS'));
}

/**
 * Checks an environment that a body creates or changes. Throws FORBIDDEN if the caller has a custom role without
 * MANAGER for that mode. `onNewCluster`: the cluster for a new environment.
 */
export function checkEnvironment(
  caller: Caller,
  ids: { readonly projectId: string; readonly mode: EnvironmentMode; readonly onNewCluster?: string },
): void {
  if (caller.access.kind !== 'custom') return;
  const { rights } = caller.access;
  const inMode = inEnvironment(rights, { projectId: ids.projectId, mode: ids.mode, clusterId: null }, 'MANAGER');
  if (inMode.kind === 'hidden') throw refused(rights, `it has no access to ${ids.mode} environments of the project`);
  if (inMode.kind === 'forbidden') throw refused(rights, inMode.why);
  const onNew = ids.onNewCluster === undefined ? allowed : onCluster(rights, ids.onNewCluster, 'ENV_CREATOR');
  if (onNew.kind === 'forbidden') throw refused(rights, onNew.why);
}

/** Returns FORBIDDEN with the name of the custom role. */
export function refused(rights: CustomRights, why: string): AppError {
  return new AppError({
    code: 'FORBIDDEN',
    message: `The role ${JSON.stringify(rights.name)} does not allow this: ${why}.`,
  });
}

type Entry = Readonly<Record<string, unknown>>;

/**
 * Filters a list of an organization or project to the entries that the caller's custom role may see. Other callers get
 * the full list.
 */
export function narrowed(operation: Operation, caller: Caller, answer: Promise<unknown>): Promise<unknown> {
  if (caller.access.kind !== 'custom') return answer;
  const { rights } = caller.access;
  const kind = Object.entries(narrowedLists).find(([id]) => id === operation.id)?.[1];
  if (kind === undefined) return answer;
  return answer.then((list) => {
    if (!isList(list)) throw new Error(`${operation.id} is to be narrowed, but is no list`);
    return { ...list, results: list.results.filter((entry) => seesLocation(rights, locationOfEntry[kind](entry))) };
  });
}

function isList(value: unknown): value is { readonly results: readonly Entry[] } {
  return typeof value === 'object' && value !== null && 'results' in value && Array.isArray(value.results);
}

// A location without an id is not visible to any custom role.
const locationOfEntry: Readonly<Record<'project' | 'environment', (entry: Entry) => ResourceLocation>> = {
  project: ({ id }) => ({ projectId: textOf(id), mode: null, clusterId: null }),
  environment: ({ project, mode }) => {
    const known = environmentModes.find((one) => one === mode);
    if (known === undefined) throw new Error('an environment has no mode');
    return { projectId: textOf(isEntry(project) ? project['id'] : null), mode: known, clusterId: null };
  },
};

const textOf = (value: unknown): string | null => (typeof value === 'string' ? value : null);
const isEntry = (value: unknown): value is Entry => typeof value === 'object' && value !== null;

import type { Operation } from './operation.ts';
import type { MemberRole } from './shared/words.ts';

/*
 * Permissions of roles, in addition to the scopes of API tokens: the rights of the built-in roles, and the rights that
 * a custom role needs. They are derived from the declaration of each operation, so that no operation can be forgotten.
 * Custom roles are denied every operation that no rule in this file allows. `generated/permissions.txt` lists the
 * result for review.
 */

export const builtInRoles = ['OWNER', 'ADMIN', 'DEVOPS', 'BILLING_MANAGER', 'VIEWER'] as const;
export type BuiltInRole = (typeof builtInRoles)[number];

interface RoleDescription {
  /** The id of the role. It is the same in every organization. */
  readonly id: string;
  readonly name: string;
  /** The older role name that comes closest. */
  readonly word: MemberRole;
}

export const roleDescriptions: Readonly<Record<BuiltInRole, RoleDescription>> = {
  OWNER: { id: '0d0a0000-0000-4000-8000-000000000001', name: 'Owner', word: 'OWNER' },
  ADMIN: { id: '0d0a0000-0000-4000-8000-000000000002', name: 'Admin', word: 'ADMIN' },
  DEVOPS: { id: '0d0a0000-0000-4000-8000-000000000003', name: 'DevOps', word: 'DEVELOPER' },
  BILLING_MANAGER: { id: '0d0a0000-0000-4000-8000-000000000004', name: 'Billing manager', word: 'VIEWER' },
  VIEWER: { id: '0d0a0000-0000-4000-8000-000000000005', name: 'Viewer', word: 'VIEWER' },
};

const ownersOnly: ReadonlySet<string> = new Set(['deleteOrganization', 'postOrganizationTransferOwnership']);
const administrative: ReadonlySet<string> = new Set(['member', 'inviteMember', 'customRole']);

/** Returns the segment after the organization's id: `project` in `/organization/{organizationId}/project`. */
function kindOf({ path }: Operation): string | undefined {
  return /^\/organization\/\{organizationId\}\/([^/]+)/.exec(path)?.[1];
}

function isAdministration(operation: Operation): boolean {
  return operation.id === 'editOrganization' || (administrative.has(kindOf(operation) ?? '') && operation.method !== 'GET');
}

function isAboutCluster(operation: Operation): boolean {
  return operation.target === 'cluster' || kindOf(operation) === 'cluster';
}

/** Returns whether a built-in role may use an operation in its organization. */
export function roleMay(role: BuiltInRole, operation: Operation): boolean {
  return mayByRole[role](operation);
}

const mayByRole: Readonly<Record<BuiltInRole, (operation: Operation) => boolean>> = {
  OWNER: () => true,
  ADMIN: ({ id }) => !ownersOnly.has(id),
  DEVOPS: (operation) => !ownersOnly.has(operation.id) && !isAdministration(operation),
  BILLING_MANAGER: (operation) => operation.scope === 'READ' && (isAboutCluster(operation) || seesOrganization.has(operation.id)),
  VIEWER: ({ scope }) => scope === 'READ',
};

const seesOrganization: ReadonlySet<string> = new Set([
  'listOrganization',
  'getOrganization',
  'getOrganizationMembers',
  'listOrganizationAvailableRoles',
]);

/**
 * The right that a custom role needs for an operation:
 * - `ANY`: no further right.
 * - `NEVER`: no custom role suffices.
 * - `CLUSTER_VIEWER`, `CLUSTER_ADMIN`: this right on the cluster that the path names.
 * - `PROJECT_VIEWER`: any right in the project.
 * - `PROJECT_ADMIN`: `is_admin` for the project.
 * - `VIEWER`, `DEPLOYER`, `MANAGER`: this right in environments of the same mode as the environment of the path.
 * - `ENVIRONMENT_CREATOR`: MANAGER for the mode, and ENV_CREATOR on the cluster that the body names. The rule checks
 *   both.
 */
export const customNeeds = [
  'ANY',
  'NEVER',
  'CLUSTER_VIEWER',
  'CLUSTER_ADMIN',
  'PROJECT_VIEWER',
  'PROJECT_ADMIN',
  'VIEWER',
  'DEPLOYER',
  'MANAGER',
  'ENVIRONMENT_CREATOR',
] as const;
export type CustomNeed = (typeof customNeeds)[number];

/**
 * Kinds of records of an organization that services, environments and people refer to. Members who work in a single
 * project need the names of these records.
 */
const sharedKinds: ReadonlySet<string> = new Set([
  'annotationsGroups',
  'availableRole',
  'containerRegistry',
  'gitToken',
  'helmRepository',
  'labelsGroups',
  'lock',
  'member',
]);

/** Lists of an organization or project that a custom role sees filtered: only the entries that the role may read. */
export const narrowedLists = {
  listProject: 'project',
  listEnvironment: 'environment',
  getOrganizationOverview: 'environment',
} as const;

function isNarrowed(id: string): id is keyof typeof narrowedLists {
  return Object.hasOwn(narrowedLists, id);
}

export function customNeed(operation: Operation): CustomNeed {
  // Clone and move operations need rights in both environments. The rule that copies a service checks both; deployment
  // stages stay in their environment.
  const looksAtOne = operation.target !== 'deploymentStage' && operation.target !== 'service';
  if (/^(clone|move)/.test(operation.id) && looksAtOne) return 'NEVER';
  switch (operation.target) {
    case 'instance':
      return operation.scope === 'READ' ? 'ANY' : 'NEVER';
    case 'invitation':
      return 'NEVER';
    case 'organization':
      return isAboutCluster(operation) ? clusterNeed(operation) : organizationNeed(operation);
    case 'cluster':
      return clusterNeed(operation);
    case 'project':
      return projectNeed(operation);
    case 'environment':
      return operation.id === 'deleteEnvironment' ? 'PROJECT_ADMIN' : environmentNeed(operation);
    // Services and all other records of an environment.
    default:
      return environmentNeed(operation);
  }
}

function organizationNeed(operation: Operation): CustomNeed {
  if (operation.scope !== 'READ') return 'NEVER';
  if (operation.id === 'getOrganization' || isNarrowed(operation.id)) return 'ANY';
  // The stream checks the right for each event, as each event belongs to an environment.
  if (operation.id === 'streamOrganization') return 'ANY';
  // Only lists and records are open: the paths below them may reveal services of other projects.
  const isRecord = /^\/organization\/\{organizationId\}\/[^/]+(\/\{[^}]+\})?$/.test(operation.path);
  return isRecord && sharedKinds.has(kindOf(operation) ?? '') ? 'ANY' : 'NEVER';
}

function clusterNeed(operation: Operation): CustomNeed {
  if (/\/(environments|services)$/.test(operation.path)) return 'NEVER';
  const named = operation.path.includes('{clusterId}');
  if (operation.scope === 'READ') return named ? 'CLUSTER_VIEWER' : 'ANY';
  return named ? 'CLUSTER_ADMIN' : 'NEVER';
}

function projectNeed(operation: Operation): CustomNeed {
  if (operation.id === 'createEnvironment') return 'ENVIRONMENT_CREATOR';
  const isRead = operation.scope === 'READ';
  const isOpen = /^\/project\/\{projectId\}(\/(environmentVariable|secret))?$/.test(operation.path) || isNarrowed(operation.id);
  return isRead && isOpen ? 'PROJECT_VIEWER' : 'PROJECT_ADMIN';
}

function environmentNeed({ scope }: Operation): CustomNeed {
  const needs = { READ: 'VIEWER', DEPLOY: 'DEPLOYER', WRITE: 'MANAGER', ADMIN: 'PROJECT_ADMIN' } as const;
  return needs[scope];
}

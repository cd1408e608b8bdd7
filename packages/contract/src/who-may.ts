import type { Operation } from './operation.ts';
import { builtInRoles, customNeed, roleDescriptions, roleMay, type CustomNeed } from './permissions.ts';

/** Rights that a custom role must give; null: no custom role suffices. */
const customRoles: Readonly<Record<CustomNeed, string | null>> = {
  ANY: 'custom roles',
  NEVER: null,
  CLUSTER_VIEWER: 'custom roles',
  CLUSTER_ADMIN: 'custom roles with ADMIN on the cluster',
  PROJECT_VIEWER: 'custom roles with any right in the project',
  PROJECT_ADMIN: 'custom roles with `is_admin`',
  VIEWER: 'custom roles with VIEWER',
  DEPLOYER: 'custom roles with DEPLOYER',
  MANAGER: 'custom roles with MANAGER',
  ENVIRONMENT_CREATOR: 'custom roles with MANAGER, and with ENV_CREATOR on the cluster',
};

/**
 * Returns who may use an operation, as a line of its description: `Who may: scope DEPLOY; Owner, Admin, DevOps; custom
 * roles with DEPLOYER.` The forms are few, as a repeated line takes no room in the compressed document.
 */
export function whoMay(operation: Operation): string {
  return `Who may: ${callersOf(operation)}.`;
}

function callersOf(operation: Operation): string {
  const { audience, target, scope } = operation;
  if (audience === 'anybody') return 'everybody, without a token';
  if (audience === 'people') return 'signed-in people, no API tokens';
  const members = membersOf(operation).join('; ');
  if (target === 'invitation') return `the invited person; ${members}`;
  if (target !== 'instance') return members;
  switch (scope) {
    case 'READ':
      return `signed-in people; ${members}`;
    // Only the token of the instance belongs to no organization: the other tokens could not see the new one.
    case 'ADMIN':
      return 'signed-in people; the token of the instance’s administrator';
    // The body names what the caller must be allowed to change, see `target`.
    default:
      return `${members}; ${customRoles.MANAGER}`;
  }
}

function membersOf(operation: Operation): readonly string[] {
  const roles = builtInRoles.filter((role) => roleMay(role, operation)).map((role) => roleDescriptions[role].name);
  return [`scope ${operation.scope}`, roles.join(', '), customRoles[customNeed(operation)]].filter((part) => part !== null);
}

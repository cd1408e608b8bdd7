import {
  builtInRoles,
  customNeed,
  operationList,
  roleDescriptions,
  roleMay,
  scopes,
  type BuiltInRole,
  type Operation,
} from '@davit/contract';

const legend = `Who may what. Written by \`npm run generate\` from packages/contract, checked to be fresh; the server decides by the same
functions (packages/contract/src/permissions.ts).

An API token with a scope may do what stands under that scope and under those above it.
Roles of members, and of API tokens that have a role: ${builtInRoles.map((role) => `${letterOf(role)} ${roleDescriptions[role].name}`).join(', ')}.
The last column says what a custom role must allow:
  ANY                  nothing more: every custom role may
  NEVER                no custom role suffices
  CLUSTER_VIEWER       every custom role has it on every cluster
  CLUSTER_ADMIN        ADMIN on the cluster
  PROJECT_VIEWER       more than NO_ACCESS in some mode of the project
  PROJECT_ADMIN        is_admin of the project
  VIEWER, DEPLOYER, MANAGER   that, or more, for the mode of the environment
  ENVIRONMENT_CREATOR  MANAGER for the mode, and ENV_CREATOR on the cluster, of the new environment
Without what is needed: 403 where the role sees the project and mode, otherwise 404, as for everybody else's organizations.
listProject and listEnvironment answer a custom role only what it sees. Editing an environment's mode needs MANAGER for both modes.
`;

/** One letter for each role, so that the table is readable at a glance. */
function letterOf(role: BuiltInRole): string {
  return role.charAt(0);
}

/** Returns the table of permissions for review. */
export function permissionsText(): string {
  const own = operationList.filter(({ audience }) => audience === 'people');
  const open = operationList.filter(({ audience }) => audience === 'anybody');
  const others = operationList.filter(({ audience }) => audience === undefined);
  const groups = scopes.map((scope) =>
    group(
      scope,
      others.filter((operation) => operation.scope === scope),
      lineOf,
    ),
  );
  const people = 'PEOPLE: whoever signed in, on the own account and the own invitations; no API token';
  const anybody = 'ANYBODY: no token is needed; what the caller may do follows from the body';
  return [legend, ...groups, group(people, own, nameOf), group(anybody, open, nameOf)].join('\n');
}

function group(title: string, operations: readonly Operation[], line: (operation: Operation) => string): string {
  return `${title}\n${operations
    .toSorted(byPath)
    .map((operation) => `  ${line(operation)}\n`)
    .join('')}`;
}

function lineOf(operation: Operation): string {
  const roles = builtInRoles.map((role) => (mayInPractice(role, operation) ? letterOf(role) : '-')).join('');
  return `${roles}  ${customNeed(operation).padEnd(19)}  ${nameOf(operation)}`;
}

// Creating an organization is the only operation outside of organizations, so no role of an organization applies to it.
function mayInPractice(role: BuiltInRole, operation: Operation): boolean {
  return operation.id !== 'createOrganization' && roleMay(role, operation);
}

function nameOf({ method, path, id }: Operation): string {
  const people = id === 'createOrganization' ? ', also by whoever signed in' : '';
  return `${method.padEnd(6)} ${path}  (${id}${people})`;
}

/** Compares operations by path, then by method. */
export function byPath(a: Operation, b: Operation): number {
  const [one, other] = [`${a.path} ${a.method}`, `${b.path} ${b.method}`];
  return one < other ? -1 : one > other ? 1 : 0;
}

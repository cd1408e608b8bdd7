import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { customNeed, operationList, roleMay, type Operation } from '@davit/contract';
import { missingOperations, publicDescription, routeOf } from '@davit/testkit/public-description';
import { expect, test } from 'vitest';
import { generated, generatedFolder } from './generated.ts';

test('the generated files are those of the contract as it is now', async () => {
  for (const [name, text] of await generated()) {
    const committed = await readFile(path.join(generatedFolder, name), 'utf8');
    expect(committed === text, `${name} is stale: run npm run generate`).toBe(true);
  }
});

test('each operation stands in the list with its file', async () => {
  const text = (await generated()).get('operations.txt') ?? '';
  const lines = text.trim().split('\n');
  expect(lines).toHaveLength(operationList.length);
  expect(lines.filter((line) => line.endsWith(' ?'))).toEqual([]);
});

/** Operations whose responses may contain credentials. */
const credentialNames = /ApiToken|Kubeconfig|MasterCredentials|ClusterToken|InstallationHelmValues/;

test('a secret or a credential is readable with no scope below what wrote it', () => {
  const credentials = operationList.filter(({ id }) => credentialNames.test(id));
  expect(credentials.length).toBeGreaterThan(3);
  // Responses with credentials are never compressed.
  const answered = credentials.filter(({ method, id }) => method === 'GET' && id !== 'listOrganizationApiTokens');
  expect(answered.filter((one) => one.showsCredentials !== true)).toEqual([]);
  // Callers that may create a database may read its credentials: they belong to the caller's own service.
  const wanted = ({ id }: Operation): string => (id === 'getDatabaseMasterCredentials' ? 'WRITE' : 'ADMIN');
  expect(credentials.map(({ scope }) => scope)).toEqual(credentials.map(wanted));
});

test('reading needs no more than READ and changing no less than DEPLOY', () => {
  const reads = operationList.filter(({ method, id }) => method === 'GET' && !credentialNames.test(id));
  // Operations on a person's own account and invitations need no right in an organization; API tokens never may use
  // them.
  const isOwn = ({ audience }: Operation): boolean => audience !== undefined;
  expect(reads.filter(({ scope }) => scope !== 'READ').map(({ id }) => id)).toEqual([]);
  const changes = operationList.filter((operation) => operation.method !== 'GET' && !isOwn(operation));
  expect(changes.filter(({ scope }) => scope === 'READ').map(({ id }) => id)).toEqual([]);
});

test('each operation stands in the table of permissions once', async () => {
  const text = (await generated()).get('permissions.txt') ?? '';
  for (const { id } of operationList)
    expect({ id, times: text.match(new RegExp(`\\(${id}[,)]`, 'g'))?.length }).toEqual({ id, times: 1 });
});

const namesWhere = (condition: (operation: Operation) => boolean): string[] =>
  operationList
    .filter((operation) => operation.audience === undefined && condition(operation))
    .map(({ id }) => id)
    .toSorted();

test('what a role lacks is what its description says', () => {
  expect(namesWhere((operation) => !roleMay('ADMIN', operation))).toEqual([
    'deleteOrganization',
    'postOrganizationTransferOwnership',
  ]);
  expect(namesWhere((operation) => roleMay('ADMIN', operation) && !roleMay('DEVOPS', operation))).toEqual([
    'createOrganizationCustomRole',
    'createPasswordLink',
    'deleteInviteMember',
    'deleteMember',
    'deleteOrganizationCustomRole',
    'editOrganization',
    'editOrganizationCustomRole',
    'editOrganizationMemberRole',
    'postInviteMember',
  ]);
  for (const role of ['VIEWER', 'BILLING_MANAGER'] as const) {
    expect(namesWhere((operation) => roleMay(role, operation) && operation.scope !== 'READ')).toEqual([]);
  }
});

test('what needs no token is known', () => {
  const open = operationList.filter(({ audience }) => audience === 'anybody').map(({ id }) => id);
  expect(open.toSorted()).toEqual([
    'acceptInvitationLink',
    'completeIssuerSignIn',
    'createDeviceSignIn',
    'createFirstAccount',
    'createIssuerSignIn',
    'getDeviceToken',
    'getSignInOptions',
    'readInvitationLink',
    'resetPassword',
    'revokeDeviceToken',
    'signIn',
  ]);
});

test('no custom role changes what belongs to the organization, but for clusters that it administers', () => {
  const changes = namesWhere(
    (operation) =>
      operation.scope !== 'READ' &&
      operation.target === 'organization' &&
      customNeed(operation) !== 'NEVER' &&
      !(customNeed(operation) === 'CLUSTER_ADMIN' && operation.path.includes('{clusterId}')),
  );
  expect(changes).toEqual([]);
});

test('a custom role needs more than to see for whatever changes something', () => {
  const seeing = ['ANY', 'CLUSTER_VIEWER', 'PROJECT_VIEWER', 'VIEWER'];
  expect(namesWhere((operation) => operation.method !== 'GET' && seeing.includes(customNeed(operation)))).toEqual([]);
});

test('each operation of the public description is served, or stands in the list of those that are missing', async () => {
  const listed = (await readFile(path.join(generatedFolder, 'missing.txt'), 'utf8')).split('\n').filter((line) => line !== '');
  // If the list is longer, an operation is no longer served. If it is shorter, run npm run generate.
  expect(listed).toEqual(missingOperations(operationList));
});

test('what is served has the name, the success code and the parameters of the public description', () => {
  const served = new Map(operationList.map((operation) => [routeOf(operation), operation]));
  for (const described of publicDescription.operations) {
    const operation = served.get(routeOf(described));
    if (operation === undefined) continue;
    // A segment that is a vendor's name in the public description is a parameter here, as operators choose the name.
    const parameters = parametersOf(operation.path.replace('{managedK8sSegment}', ''));
    expect({ id: operation.id, parameters }).toEqual({ id: described.name, parameters: parametersOf(described.path) });
    expect(Object.keys(described.responses)).toContain(String(operation.status));
  }
});

test('what is served beside the public description is known', () => {
  const described = new Set(publicDescription.operations.map(routeOf));
  const own = operationList.filter((operation) => !described.has(routeOf(operation))).map(({ id }) => id);
  expect(own.toSorted()).toEqual([
    'acceptInvitationLink',
    'changePassword',
    'checkGitRepository',
    'compareServiceReleases',
    'completeIssuerSignIn',
    'confirmDeviceSignIn',
    'confirmSecondFactor',
    'createDeviceSignIn',
    'createFirstAccount',
    'createIssuerSignIn',
    'createPasswordLink',
    'createSecondFactor',
    'createServiceGitWebhook',
    'createSession',
    'deleteSecondFactor',
    'deleteSession',
    'denyDeviceSignIn',
    'endOtherSessions',
    'endSession',
    'getAccountSecurity',
    'getApplicationMetrics',
    'getCertificateAuthority',
    'getContainerMetrics',
    'getDatabaseMetrics',
    'getDeviceToken',
    'getJobMetrics',
    'getOrganizationOverview',
    'getServiceRelease',
    'getSignInOptions',
    'joinByInvitationLink',
    'listDatabaseRestore',
    'listEnvironmentDatabaseBackup',
    'listHelmLog',
    'listJobLog',
    'listOrganizationGitEvents',
    'listServiceGitEvents',
    'listSessions',
    'readDeviceSignIn',
    'readInvitationLink',
    'redeliverWebhookEvent',
    'resetPassword',
    'restoreDatabase',
    'revokeDeviceToken',
    'searchServiceLog',
    'signIn',
    'streamDeployment',
    'streamOrganization',
    'streamServiceLog',
  ]);
});

function parametersOf(text: string): readonly string[] {
  return [...text.matchAll(/\{([^}]+)\}/g)].map(([, name]) => name ?? '');
}

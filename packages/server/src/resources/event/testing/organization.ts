import { randomUUID } from 'node:crypto';
import { roleDescriptions } from '@davit/contract';
import { statement } from '@davit/db';
import { here, making, named, type Ids, type Recipe, type Recipes, type EventFixture } from './fixture.ts';

/* Calls that change an organization, its people and what its projects share. */

/** Returns recipes that create, edit and delete an item of a list of the organization. */
function recipesOfList(
  [create, edit, remove]: readonly [string, string | null, string],
  { segment, parameter, body, of }: { segment: string; parameter: string; body: () => object; of: string },
): Recipes {
  const one = making(parameter, () => segment, body);
  return {
    [create]: { ids: here, body, event: `CREATE ${of}` },
    ...(edit === null ? {} : { [edit]: { ids: one, body, event: `UPDATE ${of}` } }),
    [remove]: { ids: one, event: `DELETE ${of}` },
  };
}

const registry = (): object => ({ ...named(), kind: 'GENERIC_CR', url: 'https://registry.example.org', config: {} });
const repository = (): object => ({
  ...named(),
  kind: 'HTTPS',
  url: 'https://charts.example.org',
  skip_tls_verification: false,
  config: {},
});
const webhook = (): object => ({
  kind: 'STANDARD',
  target_url: `https://hooks.example.org/${randomUUID()}`,
  events: ['DEPLOYMENT_STARTED'],
});

/** Inserts a delivery attempt, which otherwise only deliveries do. */
const attemptAdd = statement<{ id: string }>(
  'test_webhook_attempt_add',
  `with delivery as (
     insert into webhook_delivery (webhook_id, event, payload, due_at) values ($1, 'DEPLOYMENT_STARTED', '{}', null) returning id)
   insert into webhook_attempt (webhook_id, delivery_id, kind, event, target_url, request, status_code)
   select $1, id, 'STANDARD', 'DEPLOYMENT_STARTED', 'https://hooks.example.org', '{}', 200 from delivery returning id`,
);

export const sharedRecipes: Recipes = {
  redeliverWebhookEvent: {
    ids: async (fixture) => {
      const webhookId = await fixture.make('webhook', webhook());
      const { id } = await fixture.server.database.database.one(attemptAdd, [webhookId]);
      return { ...fixture.here, webhookId, webhookEventId: id };
    },
    event: '',
  },
  createOrganization: { ids: here, body: named, event: 'CREATE ORGANIZATION' },
  editOrganization: { ids: here, body: named, event: 'UPDATE ORGANIZATION' },
  deleteOrganization: {
    ids: async ({ server }) => ({ organizationId: (await server.organization()).id }),
    event: 'DELETE ORGANIZATION',
  },
  ...recipesOfList(['createOrganizationApiToken', null, 'deleteOrganizationApiToken'], {
    segment: 'apiToken',
    parameter: 'apiTokenId',
    body: named,
    of: 'ORGANIZATION API_TOKEN',
  }),
  ...recipesOfList(['createGitToken', 'editGitToken', 'deleteGitToken'], {
    segment: 'gitToken',
    parameter: 'gitTokenId',
    body: () => ({ ...named(), type: 'HOSTA', token: 'sesame' }),
    of: 'ORGANIZATION GIT_TOKEN',
  }),
  ...recipesOfList(['createOrganizationWebhook', 'editOrganizationWebhook', 'deleteOrganizationWebhook'], {
    segment: 'webhook',
    parameter: 'webhookId',
    body: webhook,
    of: 'WEBHOOK',
  }),
  ...recipesOfList(['createContainerRegistry', 'editContainerRegistry', 'deleteContainerRegistry'], {
    segment: 'containerRegistry',
    parameter: 'containerRegistryId',
    body: registry,
    of: 'CONTAINER_REGISTRY',
  }),
  ...recipesOfList(['createHelmRepository', 'editHelmRepository', 'deleteHelmRepository'], {
    segment: 'helmRepository',
    parameter: 'helmRepositoryId',
    body: repository,
    of: 'HELM_REPOSITORY',
  }),
  ...recipesOfList(
    ['createOrganizationAnnotationsGroup', 'editOrganizationAnnotationsGroup', 'deleteOrganizationAnnotationsGroup'],
    {
      segment: 'annotationsGroups',
      parameter: 'annotationsGroupId',
      body: () => ({ ...named(), annotations: [], scopes: [] }),
      of: 'ORGANIZATION ANNOTATIONS_GROUP',
    },
  ),
  ...recipesOfList(['createOrganizationLabelsGroup', 'editOrganizationLabelsGroup', 'deleteOrganizationLabelsGroup'], {
    segment: 'labelsGroups',
    parameter: 'labelsGroupId',
    body: () => ({ ...named(), labels: [] }),
    of: 'ORGANIZATION LABELS_GROUP',
  }),
};

const invitation = making(
  'inviteId',
  () => 'inviteMember',
  () => ({ email: `${randomUUID()}@example.org` }),
);
const member = async (fixture: EventFixture): Promise<Ids> => ({ ...fixture.here, userId: await fixture.member(randomUUID()) });
const user = ({ userId }: Ids): object => ({ user_id: userId });
const roleOf = 'MEMBERS_AND_ROLES MEMBER_ROLE';
/** A recipe for a person's own data, which belongs to no organization and so is in no log. */
const own: Recipe = { ids: here, person: 'alone', event: '' };

export const peopleRecipes: Recipes = {
  postInviteMember: {
    ids: here,
    body: () => ({ email: `${randomUUID()}@example.org` }),
    event: 'CREATE MEMBERS_AND_ROLES INVITATION',
  },
  deleteInviteMember: { ids: invitation, event: 'DELETE MEMBERS_AND_ROLES INVITATION' },
  postAcceptInviteMember: {
    ids: making(
      'inviteId',
      () => 'inviteMember',
      () => ({ email: 'guest@example.org' }),
    ),
    person: 'guest',
    event: `ACCEPT ${roleOf}`,
  },
  editOrganizationMemberRole: {
    ids: member,
    body: (ids) => ({ ...user(ids), role_id: roleDescriptions.DEVOPS.id }),
    event: `UPDATE ${roleOf}`,
  },
  deleteMember: { ids: member, body: user, event: `DELETE ${roleOf}` },
  postOrganizationTransferOwnership: { ids: member, body: user, event: 'UPDATE ORGANIZATION' },
  createOrganizationCustomRole: { ids: here, body: named, event: 'CREATE MEMBERS_AND_ROLES CUSTOM_ROLE' },
  editOrganizationCustomRole: {
    ids: making('customRoleId', () => 'customRole', named),
    body: () => ({ ...named(), cluster_permissions: [], project_permissions: [] }),
    event: 'UPDATE MEMBERS_AND_ROLES CUSTOM_ROLE',
  },
  deleteOrganizationCustomRole: {
    ids: making('customRoleId', () => 'customRole', named),
    event: 'DELETE MEMBERS_AND_ROLES CUSTOM_ROLE',
  },
  editAccountInformation: { ...own, body: () => ({ communication_email: 'other@example.org' }) },
  deleteSession: own,
  endSession: { ...own, ids: (fixture) => ({ ...fixture.here, sessionId: randomUUID() }) },
  endOtherSessions: own,
  getDeviceToken: {
    ids: async (fixture) => ({ ...fixture.here, deviceCode: await fixture.confirmedDevice() }),
    body: ({ deviceCode }) => ({ device_code: deviceCode }),
    event: 'CREATE ORGANIZATION API_TOKEN',
  },
  revokeDeviceToken: {
    ids: async (fixture) => ({ ...fixture.here, accessToken: await fixture.deviceToken() }),
    body: ({ accessToken }) => ({ access_token: accessToken }),
    event: 'DELETE ORGANIZATION API_TOKEN',
  },
  deleteSecondFactor: { ...own, body: () => ({ password: 'x' }) },
  joinByInvitationLink: {
    ids: async (fixture) => ({ ...fixture.here, token: await fixture.invitationToken() }),
    person: 'joiner',
    body: ({ token }) => ({ token }),
    event: `ACCEPT ${roleOf}`,
  },
  acceptInvitationLink: {
    ids: async (fixture) => ({ ...fixture.here, token: await fixture.invitationToken() }),
    body: ({ token }) => ({ token, password: 'correct horse battery' }),
    event: `ACCEPT ${roleOf}`,
  },
  createPasswordLink: {
    ids: async (fixture) => ({ ...fixture.here, userId: await fixture.localMember() }),
    event: 'CREATE MEMBERS_AND_ROLES',
  },
  changePassword: { ...own, body: () => ({ current_password: 'x', new_password: 'correct horse battery' }) },
};

const managed = (): object => ({ ...named(), region: 'eu-west-3', cloud_provider: 'AWS' });
const cluster = making('clusterId', () => 'cluster', managed);
const kubeconfig = 'kind: Config\nclusters: []\ncontexts: []\nusers: []\n';

const clusterRecipes: Recipes = {
  createCluster: { ids: here, body: managed, event: 'CREATE CLUSTER' },
  editCluster: { ids: cluster, body: managed, event: 'UPDATE CLUSTER' },
  deleteCluster: { ids: cluster, event: 'DELETE CLUSTER' },
  specifyClusterCloudProviderInfo: {
    ids: async (fixture) => ({
      ...fixture.here,
      clusterId: await fixture.make('cluster', managed()),
      credentialsId: await fixture.make('aws/credentials', { ...named(), ...credentials.aws.body }),
    }),
    body: ({ credentialsId }) => ({ cloud_provider: 'AWS', credentials: { id: credentialsId }, region: 'eu-west-3' }),
    event: 'UPDATE CLUSTER',
  },
  editRoutingTable: {
    ids: cluster,
    body: () => ({ routes: [{ destination: '10.1.0.0/16', target: 'gateway', description: '' }] }),
    event: 'UPDATE CLUSTER',
  },
  editClusterKubeconfig: {
    ids: making(
      'clusterId',
      () => 'cluster',
      () => ({ ...named(), region: 'here', cloud_provider: 'ON_PREMISE', kubernetes: 'SELF_MANAGED' }),
    ),
    body: () => kubeconfig,
    event: 'UPDATE CLUSTER',
  },
  editClusterAdvancedSettings: { ids: cluster, body: () => ({}), event: '' },
  deployCluster: { ids: here, event: 'UPDATE CLUSTER' },
  lockCluster: { ids: cluster, body: () => ({ reason: 'audit' }), event: 'LOCK CLUSTER' },
  unlockCluster: {
    ids: async (fixture) => {
      const clusterId = await fixture.make('cluster', managed());
      await fixture.make(`/cluster/${clusterId}/lock`, { reason: 'audit' });
      return { clusterId };
    },
    event: 'UNLOCK CLUSTER',
  },
};

const credentials = {
  aws: { Noun: 'AWS', body: { type: 'AWS_STATIC', access_key_id: 'key', secret_access_key: 'sesame' } },
  vendora: {
    Noun: 'Vendora',
    body: { vendora_access_key: 'k', vendora_secret_key: 's', vendora_project_id: 'p', vendora_organization_id: 'o' },
  },
  vendorb: { Noun: 'Vendorb', body: { vendorb_subscription_id: 's', vendorb_tenant_id: 't' } },
  cloudc: { Noun: 'Cloudc', body: { cloudc_credentials: '{}' } },
  onPremise: { Noun: 'OnPremise', body: {} },
} as const;

const credentialsRecipes = Object.entries(credentials).map(([segment, { Noun, body }]) =>
  recipesOfList([`create${Noun}Credentials`, `edit${Noun}Credentials`, `delete${Noun}Credentials`], {
    segment: `${segment}/credentials`,
    parameter: 'credentialsId',
    body: () => ({ ...named(), ...body }),
    of: 'ORGANIZATION CLOUD_PROVIDER_CREDENTIALS',
  }),
);

export const cloudRecipes: Recipes = Object.assign({}, clusterRecipes, ...credentialsRecipes);

import type { Caller } from '../recorder.ts';
import type { ShopServer } from '../shop.ts';

/** A record of a list of the organization: the operations on it, and what is sent. */
interface Entry {
  readonly create: string;
  readonly read?: string;
  readonly list: string;
  readonly edit: string;
  readonly remove: string;
  /** The path parameter with its id. */
  readonly parameter: string;
  readonly body: object;
  /** Fields that the edit changes. */
  readonly change: object;
  /** Reads with the id of the record, such as the services that use it. */
  readonly more?: readonly string[];
}

/** Records an entry of which another one stays for the services of the shop. Returns the id of the one that stays. */
async function entry({ recorder }: ShopServer, api: Caller, one: Entry): Promise<string> {
  const { id } = await recorder.call(api, one.create, { body: one.body });
  const params = { [one.parameter]: id };
  if (one.read !== undefined) await recorder.call(api, one.read, { params });
  await recorder.call(api, one.list);
  await recorder.call(api, one.edit, { params, body: { ...one.body, ...one.change } });
  for (const more of one.more ?? []) await recorder.call(api, more, { params });
  const former = await recorder.prepare(api, one.create, { body: { ...one.body, name: 'former' } });
  await recorder.call(api, one.remove, { params: { [one.parameter]: former.id } });
  recorder.ids = { ...recorder.ids, ...params };
  return id;
}

/** The organization, and what its projects share. */
export async function organization(shop: ShopServer, api: Caller): Promise<void> {
  const { recorder, operator } = shop;
  await recorder.call(api, 'getOrganization');
  await recorder.call(api, 'listOrganization');
  await recorder.call(api, 'editOrganization', {
    body: { name: 'Acme', description: 'Sells everything', website_url: 'https://acme.example' },
  });
  const playground = await recorder.call(operator, 'createOrganization', { body: { name: 'Playground', plan: 'FREE' } });
  await recorder.call(operator, 'deleteOrganization', { params: { organizationId: playground.id } });
  await shared(shop, api);
  await credentials(shop, api);
}

async function shared(shop: ShopServer, api: Caller): Promise<void> {
  const { recorder, hosts } = shop;
  await recorder.call(api, 'listAvailableContainerRegistry');
  await entry(shop, api, {
    create: 'createContainerRegistry',
    read: 'getContainerRegistry',
    list: 'listContainerRegistry',
    edit: 'editContainerRegistry',
    remove: 'deleteContainerRegistry',
    parameter: 'containerRegistryId',
    body: {
      name: 'registry',
      kind: 'GENERIC_CR',
      url: hosts.registry,
      config: { username: 'shop', password: '<password of the registry>' },
    },
    change: { description: 'Images that the shop does not build itself' },
  });
  await recorder.call(api, 'getContainerVersions', { query: { imageName: 'shop/mail' } });
  await recorder.call(api, 'listAvailableHelmRepository');
  await entry(shop, api, {
    create: 'createHelmRepository',
    read: 'getHelmRepository',
    list: 'listHelmRepository',
    edit: 'editHelmRepository',
    remove: 'deleteHelmRepository',
    parameter: 'helmRepositoryId',
    body: { name: 'charts', kind: 'HTTPS', url: hosts.charts, skip_tls_verification: false, config: {} },
    change: { description: 'Charts of other vendors' },
    more: ['getHelmCharts'],
  });
  await entry(shop, api, {
    create: 'createGitToken',
    read: 'getOrganizationGitToken',
    list: 'listOrganizationGitTokens',
    edit: 'editGitToken',
    remove: 'deleteGitToken',
    parameter: 'gitTokenId',
    body: { name: 'deploy token', type: 'HOSTA', token: '<token of the git host>' },
    change: { description: 'Reads the repositories of the shop' },
  });
  await entry(shop, api, {
    create: 'createOrganizationAnnotationsGroup',
    read: 'getOrganizationAnnotationsGroup',
    list: 'listOrganizationAnnotationsGroup',
    edit: 'editOrganizationAnnotationsGroup',
    remove: 'deleteOrganizationAnnotationsGroup',
    parameter: 'annotationsGroupId',
    body: { name: 'on call', annotations: [{ key: 'acme.example/team', value: 'shop' }], scopes: ['DEPLOYMENTS', 'PODS'] },
    change: { annotations: [{ key: 'acme.example/team', value: 'web shop' }] },
  });
  await entry(shop, api, {
    create: 'createOrganizationLabelsGroup',
    read: 'getOrganizationLabelssGroup',
    list: 'listOrganizationLabelsGroup',
    edit: 'editOrganizationLabelsGroup',
    remove: 'deleteOrganizationLabelsGroup',
    parameter: 'labelsGroupId',
    body: { name: 'team', labels: [{ key: 'team', value: 'shop', propagate_to_cloud_provider: true }] },
    change: { labels: [{ key: 'team', value: 'web-shop', propagate_to_cloud_provider: true }] },
  });
  await entry(shop, api, {
    create: 'createOrganizationWebhook',
    read: 'getOrganizationWebhook',
    list: 'listOrganizationWebHooks',
    edit: 'editOrganizationWebhook',
    remove: 'deleteOrganizationWebhook',
    parameter: 'webhookId',
    body: {
      target_url: `${hosts.hooks}/deployments`,
      kind: 'STANDARD',
      events: ['DEPLOYMENT_SUCCESSFUL', 'DEPLOYMENT_FAILURE'],
      target_secret: '<secret-that-signs-messages>',
      description: 'Tells the team about deployments',
    },
    change: { environment_types_filter: ['PRODUCTION'] },
  });
}

const vendors = [
  {
    Noun: 'AWS',
    body: { type: 'AWS_STATIC', access_key_id: '<access key id>', secret_access_key: '<secret access key>' },
  },
  {
    Noun: 'Vendora',
    body: {
      vendora_access_key: '<access key>',
      vendora_secret_key: '<secret key>',
      vendora_project_id: '<id of the project>',
      vendora_organization_id: '<id of the organization>',
    },
  },
  { Noun: 'Vendorb', body: { vendorb_subscription_id: '<id of the subscription>', vendorb_tenant_id: '<id of the tenant>' } },
  { Noun: 'Cloudc', body: { cloudc_credentials: '{"type": "service_account"}' } },
  { Noun: 'OnPremise', body: {} },
] as const;

/** Credentials of cloud vendors. Those of AWS stay. */
async function credentials(shop: ShopServer, api: Caller): Promise<void> {
  for (const { Noun, body } of vendors.toReversed()) {
    await entry(shop, api, {
      create: `create${Noun}Credentials`,
      read: `get${Noun}Credentials`,
      list: `list${Noun}Credentials`,
      edit: `edit${Noun}Credentials`,
      remove: `delete${Noun}Credentials`,
      parameter: 'credentialsId',
      body: { name: 'cloud account', ...body },
      change: { name: 'account of the shop' },
    });
  }
  await shop.recorder.call(api, 'listOrganizationCredentials');
}

/** Reads the catalogues of vendors and the defaults of settings. */
export async function catalogues({ recorder }: ShopServer, api: Caller): Promise<void> {
  const plain = [
    'listCloudProvider',
    'listAWSFeatures',
    'listAWSInstanceType',
    'listAWSManagedDatabaseType',
    'listAWSRegions',
    'listCloudcFeatures',
    'listCloudcRegions',
    'listVendoraFeatures',
    'listVendoraInstanceType',
    'listVENDORAManagedDatabaseType',
    'listVendoraRegions',
    'listVendorbFeatures',
    'listVendorbRegions',
    'listTerraformVersions',
    'getDefaultApplicationAdvancedSettings',
    'getDefaultClusterAdvancedSettings',
    'getDefaultContainerAdvancedSettings',
    'getDefaultHelmAdvancedSettings',
    'getDefaultJobAdvancedSettings',
    'getDefaultTerraformAdvancedSettings',
  ];
  for (const id of plain) await recorder.call(api, id);
  const authority = await recorder.prepare(api, 'getCertificateAuthority');
  recorder.replace(
    authority['certificate'],
    '-----BEGIN CERTIFICATE-----\n<the certificate in base64>\n-----END CERTIFICATE-----\n',
  );
  recorder.replace(authority['sha256_fingerprint'], Array.from({ length: 32 }, () => 'AB').join(':'));
  recorder.replace(authority['name'], 'Davit authority of 1a2b3c4d');
  await recorder.call(api, 'getCertificateAuthority');
  const aws = { region: 'eu-west-3', databaseType: 'POSTGRESQL' };
  await recorder.call(api, 'listAWSEKSInstanceType', { params: aws });
  await recorder.call(api, 'listAWSManagedDatabaseInstanceType', { params: aws });
  await recorder.call(api, 'listCloudcManagedK8sInstanceType', { params: { region: 'europe-west9' } });
  await recorder.call(api, 'listVendoraManagedK8sInstanceType', { params: { zone: 'fr-par-1' } });
  const vendorb = { region: 'francecentral', managedK8sSegment: 'managed_k8s' };
  await recorder.call(api, 'listVendorbManagedK8sInstanceType', { params: vendorb });
}

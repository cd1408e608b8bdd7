import type { Caller } from '../recorder.ts';
import type { ShopServer } from '../shop.ts';

export const nouns = ['Application', 'Container', 'Database', 'Job', 'Helm', 'Terraform'] as const;
export type Noun = (typeof nouns)[number];

/** Returns the path parameters of the environment that has the services of a kind. */
export function placeOf({ recorder }: ShopServer, noun: Noun): { readonly params?: Readonly<Record<string, string>> } {
  return noun === 'Helm' ? { params: { environmentId: recorder.ids['stagingId'] ?? '' } } : {};
}

export const repository = (name: string) => ({ url: `https://git.example.org/acme/${name}.git`, branch: 'main' });
const probe = {
  readiness_probe: {
    type: { http: { path: '/health', scheme: 'HTTP', port: 8080 } },
    initial_delay_seconds: 5,
    period_seconds: 10,
    timeout_seconds: 2,
    success_threshold: 1,
    failure_threshold: 3,
  },
};

/**
 * The services of production: an application with a database and a job, a container, and a bucket. The chart is in
 * staging, which is on the Kubernetes cluster.
 */
export async function services(shop: ShopServer, api: Caller): Promise<void> {
  const { recorder } = shop;
  const { gitTokenId, containerRegistryId, helmRepositoryId, annotationsGroupId, labelsGroupId } = recorder.ids;
  const groups = { annotations_groups: [{ id: annotationsGroupId }], labels_groups: [{ id: labelsGroupId }] };
  const git = (name: string) => ({ ...repository(name), git_token_id: gitTokenId });
  const bodies: Readonly<Record<Noun, object>> = {
    Database: { name: 'orders', type: 'POSTGRESQL', version: '17', mode: 'CONTAINER', accessibility: 'PRIVATE', storage: 10 },
    Application: {
      name: 'web',
      git_repository: git('web'),
      dockerfile_path: 'Dockerfile',
      ports: [
        { name: 'http', internal_port: 8080, external_port: 443, publicly_accessible: true, protocol: 'HTTP', is_default: true },
      ],
      cpu: 500,
      memory: 512,
      min_running_instances: 2,
      max_running_instances: 4,
      healthchecks: probe,
      auto_deploy: true,
      ...groups,
    },
    Container: {
      name: 'mail',
      registry_id: containerRegistryId,
      image_name: 'shop/mail',
      tag: '1.4.0',
      ports: [{ internal_port: 2525, publicly_accessible: false, protocol: 'TCP' }],
      storage: [{ type: 'FAST_SSD', size: 5, mount_point: '/var/spool/mail' }],
      healthchecks: {},
      auto_deploy: true,
      auto_preview: true,
    },
    Job: {
      name: 'migrate',
      description: 'Brings the tables of the orders up to date',
      source: { image: { registry_id: containerRegistryId, image_name: 'shop/migrate', tag: '1.4.0' } },
      schedule: { on_start: { arguments: ['migrate', 'up'] } },
      healthchecks: {},
      max_duration_seconds: 600,
      auto_deploy: true,
    },
    Helm: {
      name: 'redis',
      source: { helm_repository: { repository: helmRepositoryId, chart_name: 'redis', chart_version: '20.6.1' } },
      values_override: {
        set: [['architecture', 'standalone']],
        file: { raw: { values: [{ name: 'shop.yaml', content: 'auth:\n  enabled: false\n' }] } },
      },
      ports: [{ internal_port: 8080, service_name: 'redis-exporter', protocol: 'HTTP' }],
    },
    Terraform: {
      name: 'bucket',
      description: 'The bucket of the pictures',
      terraform_files_source: { git_repository: { ...git('infrastructure'), root_path: '/bucket' } },
      terraform_variables_source: { tf_vars: [{ key: 'text', value: 'shop-pictures' }] },
    },
  };
  const edits: Readonly<Record<Noun, object>> = {
    Application: { memory: 768 },
    Container: { description: 'Sends the mails of the shop' },
    Database: { description: 'The orders of the customers' },
    Job: { max_nb_restart: 1 },
    Helm: { description: 'The sessions of the customers' },
    Terraform: { timeout_sec: 900 },
  };
  for (const noun of nouns.toSorted()) {
    const { id } = await recorder.call(api, `create${noun}`, { ...placeOf(shop, noun), body: bodies[noun] });
    recorder.ids = { ...recorder.ids, [`${noun.toLowerCase()}Id`]: id };
    await recorder.call(api, `get${noun}`);
    await recorder.call(api, `edit${noun}`, { body: edits[noun] });
  }
  recorder.ids = { ...recorder.ids, serviceId: recorder.ids['applicationId'] ?? '', serviceType: 'APPLICATION' };
  for (const id of ['listApplication', 'listContainer', 'listDatabase', 'listJobs', 'listTerraforms'])
    await recorder.call(api, id);
  await recorder.call(api, 'listHelms', placeOf(shop, 'Helm'));
  await settings(shop, api);
  await domains(shop, api);
  await restrictions(shop, api);
  await checks(shop, api);
}

/** Commits of a job and of a chart that come from git. Both services are deleted again. */
async function commits(shop: ShopServer, api: Caller): Promise<void> {
  const { recorder } = shop;
  const { gitTokenId: git_token_id } = recorder.ids;
  const job = await recorder.prepare(api, 'createJob', {
    body: {
      name: 'report',
      source: { docker: { git_repository: { ...repository('report'), git_token_id } } },
      schedule: { cronjob: { scheduled_at: '0 6 * * 1' } },
      healthchecks: {},
      auto_deploy: false,
    },
  });
  await recorder.call(api, 'listJobCommit', { params: { jobId: job.id } });
  await recorder.prepare(api, 'deleteJob', { params: { jobId: job.id } });
  const chart = await recorder.prepare(api, 'createHelm', {
    ...placeOf(shop, 'Helm'),
    body: {
      name: 'sessions',
      source: { git_repository: { ...repository('charts'), git_token_id } },
      values_override: {},
      ports: [],
    },
  });
  const params = { helmId: chart.id };
  await recorder.call(api, 'listHelmCommit', { params, query: { of: 'chart' } });
  await recorder.prepare(api, 'deleteHelm', { params });
}

const network = {
  'network.ingress.proxy_body_size_mb': 50,
};
const grace = { 'deployment.termination_grace_period_seconds': 30 };

/** Settings of the services beyond their records. */
async function settings({ recorder }: ShopServer, api: Caller): Promise<void> {
  await recorder.call(api, 'getAdvancedSettings');
  await recorder.call(api, 'editAdvancedSettings', { body: { ...grace, ...network } });
  await recorder.call(api, 'getContainerAdvancedSettings');
  await recorder.call(api, 'editContainerAdvancedSettings', { body: grace });
  await recorder.call(api, 'getJobAdvancedSettings');
  await recorder.call(api, 'editJobAdvancedSettings', { body: grace });
  await recorder.call(api, 'getHelmAdvancedSettings');
  await recorder.call(api, 'editHelmAdvancedSettings', { body: {} });
  await recorder.call(api, 'getTerraformAdvancedSettings');
  await recorder.call(api, 'editTerraformAdvancedSettings', { body: grace });
  for (const noun of ['Application', 'Container']) {
    await recorder.call(api, `get${noun}Network`);
    await recorder.call(api, `edit${noun}Network`, { body: { sticky_session: true } });
  }
  await recorder.call(api, 'listDatabaseVersion');
  await recorder.call(api, 'listEnvironmentDatabaseConfig');
  const templates = await recorder.call(api, 'listEnvironmentLifecycleTemplates');
  await recorder.call(api, 'getEnvironmentLifecycleTemplate', {
    params: { lifecycleTemplateId: templates.results[0]?.id ?? '' },
  });
}

/** Custom domains of the services that have ports. */
async function domains({ recorder }: ShopServer, api: Caller): Promise<void> {
  for (const [noun, Word, domain] of [
    ['Application', '', 'shop.example.org'],
    ['Container', 'Container', 'mail.example.org'],
    ['Helm', 'Helm', 'sessions.example.org'],
  ] as const) {
    const body = { domain, generate_certificate: true };
    const { id } = await recorder.call(api, `create${noun}CustomDomain`, { body });
    const params = { customDomainId: id };
    await recorder.call(api, `list${noun}CustomDomain`);
    await recorder.call(api, `edit${Word}CustomDomain`, { params, body: { ...body, generate_certificate: false } });
    await recorder.call(api, noun === 'Helm' ? 'getHelmCustomDomain' : `get${Word}CustomDomainStatus`, { params });
    await recorder.call(api, `check${noun}CustomDomain`);
    await recorder.call(api, `delete${Word}CustomDomain`, { params });
  }
}

/** Which pushes deploy a service. */
async function restrictions({ recorder }: ShopServer, api: Caller): Promise<void> {
  for (const noun of ['Application', 'Job', 'Helm', 'Terraform']) {
    const body = { mode: 'EXCLUDE', type: 'PATH', value: 'docs/' };
    const { id } = await recorder.call(api, `create${noun}DeploymentRestriction`, { body });
    const params = { deploymentRestrictionId: id };
    await recorder.call(api, `get${noun}DeploymentRestrictions`);
    await recorder.call(api, `edit${noun}DeploymentRestriction`, { params, body: { ...body, value: 'pictures/' } });
    await recorder.call(api, `delete${noun}DeploymentRestriction`, { params });
  }
}

/** Checks of sources before a service is created from them. */
async function checks(shop: ShopServer, api: Caller): Promise<void> {
  const { recorder } = shop;
  const { containerRegistryId } = recorder.ids;
  const git_repository = repository('web');
  await recorder.call(api, 'checkContainerImage', {
    body: { registry_id: containerRegistryId, image_name: 'shop/mail', tag: '1.5.0' },
  });
  await recorder.call(api, 'checkGitRepository', { body: { git_repository } });
  await recorder.call(api, 'checkDockerfile', { body: { git_repository, dockerfile_path: 'Dockerfile' } });
  await recorder.call(api, 'checkGitFile', { body: { git_repository, files: ['Dockerfile'] } });
  await recorder.call(api, 'checkHelmRepository', { body: { git_repository: repository('charts') } });
  await recorder.call(api, 'createHelmDefaultValues', { body: { source: { git_repository: repository('charts') } } });
  for (const noun of ['Application', 'Terraform']) await recorder.call(api, `list${noun}Commit`);
  await commits(shop, api);
  await recorder.call(api, 'listApplicationContributor');
  for (const id of [
    'getGitTokenAssociatedServices',
    'getContainerRegistryAssociatedServices',
    'getHelmRepositoryAssociatedServices',
    'getOrganizationAnnotationsGroupAssociatedItems',
    'getOrganizationLabelsGroupAssociatedItems',
  ])
    await recorder.call(api, id);
}

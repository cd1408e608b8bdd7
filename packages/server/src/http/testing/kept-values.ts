import { randomUUID } from 'node:crypto';
import { roleDescriptions } from '@davit/contract';
import { expect } from 'vitest';
import { keyed, type Ids } from '../../resources/event/testing/fixture.ts';

/*
 * Values for fields whose valid values no schema defines, the places where responses return them, and the exceptions.
 */

/** The value for some places; the first matching entry counts. */
type Own = readonly [operations: RegExp, places: RegExp, value: (ids: Ids) => unknown];

const git = { url: 'https://git.example.org/shop/kept.git', branch: 'kept', root_path: '/kept' };
const gitOf = ({ gitTokenId }: Ids): object => ({ ...git, git_token_id: gitTokenId });
const timing = {
  initial_delay_seconds: 2,
  period_seconds: 3,
  timeout_seconds: 4,
  success_threshold: 1,
  failure_threshold: 6,
};
const healthchecks = {
  readiness_probe: { type: { tcp: { port: 80, host: null } }, ...timing },
  liveness_probe: { type: { http: { path: '/kept', scheme: 'HTTP', port: 80 } }, ...timing },
};
const port = {
  name: 'kept',
  internal_port: 8080,
  external_port: 443,
  publicly_accessible: true,
  is_default: true,
  protocol: 'GRPC',
  public_path: '/kept',
  public_path_rewrite: '/',
};
const event = { entrypoint: 'run', arguments: ['kept'] };
const chart = { chart_name: 'redis', chart_version: '1.2.3' };
const staticIp = '0b7f1f0e-6a55-4f0a-9d0e-6f1f3c1b0a02';
/** Number of files so far: each file variable needs its own path. */
let files = 0;

const recordValues: readonly Own[] = [
  [/AWSCredentials$/, /^type$/, () => 'AWS_STATIC'],
  [/./, /^(name|value)$/, () => `kept ${randomUUID()}`],
  [/./, /^(icon_uri|logo_url|icon_url|website_url)$/, () => 'https://kept.example.org/icon.png'],
  [/Organization$/, /^admin_emails$/, () => ['ada@example.org']],
  [/ApiToken$/, /^role_id$/, ({ customRoleId }) => customRoleId],
  [/./, /^role_id$/, () => roleDescriptions.DEVOPS.id],
  [/./, /^expires_at$/, () => '2091-01-31T12:00:00.000Z'],
  [/GitToken$/, /^git_api_url$/, () => 'https://git.example.org/api'],
  [/ContainerRegistry$/, /^kind$/, () => 'GENERIC_CR'],
  [/HelmRepository$/, /^kind$/, () => 'HTTPS'],
  [/ContainerRegistry$|HelmRepository$/, /^url$/, () => 'https://kept.example.org'],
  [/ContainerRegistry$|HelmRepository$/, /^config$/, () => ({ username: 'kept', password: 'sesame' })],
  [/./, /^email$/, () => `${randomUUID()}@example.org`],
  [/./, /^communication_email$/, () => 'kept@example.org'],
  [/MemberRole$/, /^user_id$/, ({ userId }) => userId],
  [/CustomRole$/, /cluster_id$/, ({ clusterId }) => clusterId],
  [/CustomRole$/, /project_id$/, ({ projectId }) => projectId],
  [/CustomRole$/, /is_admin$/, () => false],
  [/CustomRole$/, /permissions\.0\.permissions$/, () => permissions],
  [/Cluster$|ProviderInfo$/, /(^|\.)region$/, () => 'eu-west-3'],
  [/Cluster$/, /^instance_type$/, () => 't3.medium'],
  [/Cluster$/, /^kubernetes$/, () => 'MANAGED'],
  [/Cluster$|ProviderInfo$/, /cloud_provider$/, () => 'AWS'],
  [/Cluster$|ProviderInfo$/, /credentials$/, ({ credentialsId }) => ({ id: credentialsId })],
  [/Cluster$/, /^features$/, () => [{ id: staticIp, value: true }]],
  [/Cluster$/, /git_token_id$/, ({ gitTokenId }) => gitTokenId],
  [/Cluster$/, /git_repository\.url$/, () => git.url],
  [/RoutingTable$/, /^routes$/, () => [{ destination: '10.2.0.0/16', target: 'kept', description: 'kept' }]],
  [/Environment$/, /^cluster(_id)?$/, ({ clusterId }) => clusterId],
  [/Rule$/, /^timezone$/, () => 'Asia/Tokyo'],
  [/Rule$/, /^cluster_id$/, ({ clusterId }) => clusterId],
  [/Variable|Secret/, /^key$/, () => keyed().key],
  [/^createVariable/, /_parent_id$/, ({ applicationId }) => applicationId],
  [/^createVariable/, /_scope$/, () => 'APPLICATION'],
  [/./, /^mount_path$/, () => `/run/kept-${(files += 1)}`],
  [/Webhook$/, /^target_url$/, () => 'https://kept.example.org'],
  [/CustomDomain$/, /^domain$/, () => `k${randomUUID()}.example.org`],
];

const permissions = [
  { environment_type: 'DEVELOPMENT', permission: 'MANAGER' },
  { environment_type: 'PREVIEW', permission: 'DEPLOYER' },
  { environment_type: 'PRODUCTION', permission: 'NO_ACCESS' },
  { environment_type: 'STAGING', permission: 'VIEWER' },
];

const serviceValues: readonly Own[] = [
  [/./, /^labels_groups\.0\.id$/, ({ labelsGroupId }) => labelsGroupId],
  [/./, /^annotations_groups\.0\.id$/, ({ annotationsGroupId }) => annotationsGroupId],
  [/./, /^healthchecks$/, () => healthchecks],
  [/Database$/, /^type$/, () => 'POSTGRESQL'],
  [/^createDatabase$/, /^version$/, () => '16.4'],
  [/^editDatabase$/, /^version$/, () => '16'],
  [/Application$|Container$/, /^storage$/, () => [{ type: 'FAST_SSD', size: 3, mount_point: '/kept' }]],
  [/Application$|Container$/, /^ports$/, () => [port]],
  [/Container$/, /^registry_id$/, ({ containerRegistryId }) => containerRegistryId],
  [/^edit(Application|Container)$/, /^min_running_instances$/, () => 0],
  [/Application$/, /^git_repository$/, gitOf],
  [/Job$/, /^source$/, (ids) => ({ docker: { git_repository: gitOf(ids), dockerfile_path: 'Kept' } })],
  [
    /Job$/,
    /^schedule$/,
    () => ({ on_start: event, on_stop: { arguments: ['s'] }, on_delete: { entrypoint: 'd' }, lifecycle_type: 'TERRAFORM' }),
  ],
  [/Helm$/, /^source$/, ({ helmRepositoryId }) => ({ helm_repository: { repository: helmRepositoryId, ...chart } })],
  [
    /Helm$/,
    /^ports$/,
    () => [
      {
        name: 'kept',
        internal_port: 80,
        external_port: 443,
        namespace: 'kept',
        protocol: 'HTTP',
        is_default: true,
        service_name: 'kept',
      },
    ],
  ],
  [
    /Helm$/,
    /^values_override$/,
    (ids) => ({
      set: [['a', 'b']],
      set_string: [['c', 'd']],
      set_json: [['e', '{}']],
      file: { git: { git_repository: gitOf(ids), paths: ['kept.yaml'] } },
    }),
  ],
  [/Terraform$/, /^terraform_files_source$/, (ids) => ({ git_repository: gitOf(ids) })],
  [
    /Terraform$/,
    /^terraform_variables_source$/,
    () => ({ tf_var_file_paths: ['kept.tfvars'], tf_vars: [{ key: 'kept', value: 'v', secret: false }] }),
  ],
  [/Terraform$/, /^backend$/, () => ({ blueprint: { type: 's3', config: { bucket: 'kept' } } })],
  [/Terraform$/, /^provider_version$/, () => ({ read_from_terraform_block: false, explicit_version: '1.9.1' })],
  [/Terraform$/, /^job_resources$/, () => ({ cpu_milli: 600, ram_mib: 700, gpu: 0, storage_gib: 3 })],
  [/Terraform$/, /^dockerfile_fragment$/, () => ({ type: 'inline', content: 'RUN kept' })],
  [/AdvancedSettings$/, /^build\.cpu_max_in_milli$/, () => 900],
  [/AdvancedSettings$/, /^build\.ram_max_in_gib$/, () => 1],
  [/AdvancedSettings$/, /cors_allow_origin$/, () => 'https://kept.example.org'],
  [/AdvancedSettings$/, /source_range$/, () => '10.3.0.0/16'],
  [/AdvancedSettings$/, /extra_headers$/, () => '{"X-Kept":"kept"}'],
];

/** Returns the value for a place of a request; undefined: any value that the schema allows. */
export function ownValue(operationId: string, location: string, ids: Ids): unknown {
  return [...recordValues, ...serviceValues].find(
    ([operations, locations]) => operations.test(operationId) && locations.test(location),
  )?.[2](ids);
}

function among(values: readonly object[]): unknown {
  return expect.arrayContaining(values.map((value): unknown => expect.objectContaining(value)));
}

/** Fields that are returned under another name than they were sent, as a part of the response. */
const elsewhere: readonly (readonly [operations: RegExp, field: string, answer: (value: never) => object])[] = [
  [/^createVariable/, 'variable_scope', (scope: string) => ({ scope })],
  [/^createVariable/, 'alias_scope', (scope: string) => ({ scope })],
  [/^createVariable/, 'override_scope', (scope: string) => ({ scope })],
  [/^createVariable/, 'variable_parent_id', (service_id: string) => ({ service_id })],
  [/^createVariable/, 'alias_parent_id', (service_id: string) => ({ service_id })],
  [/^createVariable/, 'override_parent_id', (service_id: string) => ({ service_id })],
  [/^createEnvironment$/, 'cluster', (cluster_id: string) => ({ cluster_id })],
  // The response contains the entries of all other clusters and projects too.
  [/CustomRole$/, 'cluster_permissions', (value: readonly object[]) => ({ cluster_permissions: among(value) })],
  [/CustomRole$/, 'project_permissions', (value: readonly object[]) => ({ project_permissions: among(value) })],
  [/AWSCredentials$/, 'type', () => ({ object_type: 'AWS' })],
  [/RoutingTable$/, 'routes', (results: unknown) => ({ results })],
  [/^edit.*Secret$|^create.*Secret(Override)?$/, 'mount_path', (mount_path: string) => ({ mount_path })],
  [/ContainerRegistry$|HelmRepository$/, 'config', ({ username }: { username: string }) => ({ config: { username } })],
  [
    /Cluster$/,
    'features',
    (features: readonly { id: string; value: boolean }[]) => ({
      features: features.map(({ id, value }) => ({ id, value_object: { type: 'BOOLEAN', value } })),
    }),
  ],
  [
    /Helm$/,
    'source',
    ({ helm_repository: { repository, ...named } }: { helm_repository: { repository: string } }) => ({
      source: { repository: { ...named, repository: { id: repository } } },
    }),
  ],
  [/Terraform$/, 'terraform_files_source', (value: object) => ({ terraform_files_source: { git: value } })],
];

/** Returns the part of a response that is expected after this value was sent for a field. */
export function expectedAnswer(operationId: string, field: string, value: unknown): object {
  const found = elsewhere.find(([operations, name]) => operations.test(operationId) && name === field);
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- what the tables above make for that field
  return found === undefined ? { [field]: value } : found[2](value as never);
}

type Exception = readonly [operations: RegExp, fields: RegExp, because: string];

const secret = 'a secret is never shown';
/** Fields that are accepted and never returned, with the reason. */
export const unanswered: readonly Exception[] = [
  [/GitToken$/, /^token$/, secret],
  [/Credentials$/, /^(secret_access_key|vendora_secret_key|cloudc_credentials|vsphere_password)$/, secret],
  [/Secret(Override)?$/, /^value$/, secret],
  [/Webhook$/, /^target_secret$/, secret],
  [/AWSCredentials$/, /^(role_arn|vsphere_user)$/, 'of another `type`, which the answer shows as object_type'],
  [/CloudcCredentials$/, /^credential_type$/, 'there is one only'],
  [
    /Cluster$/,
    /^cloud_provider_credentials$/,
    'the description has it in cloudProviderInfo; cloud-credentials.db.test.ts reads it there',
  ],
  [/^createServiceGitWebhook$/, /^rotate$/, 'it asks for another secret, which is answered'],
  [/^editOrganizationMemberRole$/, /./, 'it answers nothing'],
];

const notOffered = 'a setting that would do nothing is refused by its name';
/** Fields that are refused whatever their value, with the reason. */
export const refusedFields: readonly Exception[] = [
  [/./, /^gpu$/, 'the container engine has no GPU'],
  [/./, /^(cpu_architecture|ephemeral_storage_in_gib|secret_manager_accesses)$/, 'of later clients, and nothing holds it'],
  [/./, /^autoscaling$/, 'scaling by events needs a Kubernetes cluster, and these services are on this machine'],
  [/^editClusterAdvancedSettings$/, /./, notOffered],
  [/^editHelmAdvancedSettings$/, /./, notOffered],
  [
    /AdvancedSettings$/,
    /^deployment\.(affinity|antiaffinity|topology_spread|lifecycle|update_strategy\.rolling_update)\.|^network\.gateway_api\.|^security\.(service|automount)/,
    notOffered,
  ],
  [
    /AdvancedSettings$/,
    /^network\.ingress\.(proxy_buffer|proxy_request_buffering|keepalive_time|send_timeout|proxy_send|basic_auth|grpc_send)|^job\.|^cronjob\./,
    notOffered,
  ],
  [/^editTerraformAdvancedSettings$/, /^(build|security)\./, notOffered],
];

export function exceptionFor(list: readonly Exception[], operationId: string, field: string): Exception | undefined {
  return list.find(([operations, fields]) => operations.test(operationId) && fields.test(field));
}

import os from 'node:os';
import path from 'node:path';
import { logLevels, roles, type Configuration } from '../configuration.ts';
import { prefixOf } from '../vocabulary/file.ts';
import { ConfigurationReader, type Environment } from './configuration-reader.ts';

/** Reads the configuration from environment variables. Throws one CONFIGURATION_INVALID that lists all errors. */
export function readConfiguration(environment: Environment = process.env): Configuration {
  const reader = new ConfigurationReader(environment);
  const signIn = signInSettings(reader);
  const databaseUrl = reader.databaseUrl('DATABASE_URL');
  const vocabulary = reader.vocabulary('DAVIT_VOCABULARY');
  const allowLocalRepositories = reader.truth('DAVIT_ALLOW_LOCAL_REPOSITORIES', false);
  const configuration: Omit<Configuration, 'unknownVariables'> = {
    stateFolder: path.resolve(reader.text('DAVIT_HOME', '.davit')),
    host: reader.text('DAVIT_HOST', '127.0.0.1'),
    port: reader.integer('DAVIT_PORT', 4440, 0, 65_535),
    databaseUrl,
    // An external server is shared with other replicas and programs; the embedded one is not.
    databaseConnections: reader.integer('DAVIT_DATABASE_CONNECTIONS', databaseUrl === null ? 32 : 20, 2, 1000),
    bootstrapToken: reader.token('DAVIT_BOOTSTRAP_TOKEN'),
    secretKey: reader.secret('DAVIT_SECRET_KEY'),
    exportPassphrase: reader.secret('DAVIT_EXPORT_PASSPHRASE'),
    rateLimit: reader.integer('DAVIT_RATE_LIMIT', 6000, 0, 1_000_000_000),
    bodyLimitBytes: reader.integer('DAVIT_BODY_LIMIT_BYTES', 1_048_576, 1024, 1_073_741_824),
    trustProxy: reader.truth('DAVIT_TRUST_PROXY', false),
    allowedOrigins: reader.origins('DAVIT_ALLOWED_ORIGINS'),
    vocabulary,
    ...signIn,
    ...gatewaySettings(reader),
    dnsServers: reader.addresses('DAVIT_DNS_SERVERS'),
    // If anybody can sign in and create an organization, the organizations do not trust each other.
    proveDomains: reader.truth('DAVIT_PROVE_DOMAINS', signIn.oidcIssuers.length > 0),
    role: reader.word('DAVIT_ROLE', roles, 'all'),
    allowPrivateTargets: reader.truth('DAVIT_ALLOW_PRIVATE_TARGETS', false),
    allowLocalRepositories,
    // An operator who allows access to the folders of this machine allows access to its network by default.
    privateRepositories: reader.hostsOrNetworks('DAVIT_ALLOW_PRIVATE_REPOSITORIES', allowLocalRepositories),
    allowHttpRegistries: reader.truth('DAVIT_ALLOW_HTTP_REGISTRIES', false),
    vendorRegistries: reader.vendorRegistries('DAVIT_VENDOR_REGISTRIES'),
    variablePrefix: reader.prefix('DAVIT_VARIABLE_PREFIX', prefixOf(vocabulary) ?? 'DAVIT'),
    localEngine: reader.truth('DAVIT_LOCAL_ENGINE', true),
    dockerHost: reader.optional('DOCKER_HOST'),
    buildMemoryMiB: reader.integer('DAVIT_BUILD_MEMORY_MIB', halfOfMemoryMiB(), 64, 1_048_576),
    buildCpuMillicores: reader.integer('DAVIT_BUILD_CPU_MILLICORES', halfOfCpuMillicores(), 100, 1_024_000),
    readyTimeoutSeconds: reader.integer('DAVIT_READY_TIMEOUT_SECONDS', 120, 1, 86_400),
    maximumBuilds: reader.integer('DAVIT_MAXIMUM_BUILDS', 2, 1, 64),
    maximumDeployments: reader.integer('DAVIT_MAXIMUM_DEPLOYMENTS', 20, 1, 1000),
    terminationGraceSeconds: reader.integer('DAVIT_TERMINATION_GRACE_SECONDS', 30, 1, 3600),
    clusterWaitSeconds: reader.integer('DAVIT_CLUSTER_WAIT_SECONDS', 1800, 0, 86_400),
    clusterSettings: reader.clusterSettings('DAVIT_CLUSTER_SETTINGS', ['DAVIT_GATEWAY_DOMAIN', 'localhost']),
    drainSeconds: reader.integer('DAVIT_DRAIN_SECONDS', 30, 0, 3600),
    keepsServiceAddresses: reader.truth('DAVIT_SERVICE_ADDRESSES', false),
    keptReleases: reader.integer('DAVIT_KEPT_RELEASES', 10, 1, 1000),
    minFreeDiskMiB: reader.integer('DAVIT_LEAST_FREE_DISK_MIB', 2048, 0, 1_073_741_824),
    buildCacheMiB: reader.integer('DAVIT_BUILD_CACHE_MIB', 20_480, 0, 1_073_741_824),
    keptSourcesMiB: reader.integer('DAVIT_KEPT_SOURCES_MIB', 5120, 0, 1_073_741_824),
    steadySeconds: reader.integer('DAVIT_STEADY_SECONDS', 60, 5, 3600),
    instanceDiskMiB: reader.integer('DAVIT_INSTANCE_DISK_MIB', 10_240, 0, 1_073_741_824),
    volumeLimitPercent: reader.integer('DAVIT_VOLUME_LIMIT_PERCENT', 150, 0, 10_000),
    logRetentionDays: reader.integer('DAVIT_LOG_RETENTION_DAYS', 14, 1, 3650),
    logMiBPerService: reader.integer('DAVIT_LOG_MIB_PER_SERVICE', 200, 1, 1_000_000),
    logLinesPerSecond: reader.integer('DAVIT_LOG_LINES_PER_SECOND', 1000, 0, 1_000_000),
    metricsSeconds: reader.integer('DAVIT_METRICS_SECONDS', 15, 1, 60),
    scaleDownSeconds: reader.integer('DAVIT_SCALE_DOWN_SECONDS', 300, 1, 86_400),
    ...backupSettings(reader),
    stopWithinSeconds: reader.integer('DAVIT_STOP_WITHIN_SECONDS', 15, 1, 3600),
    stopDelaySeconds: reader.integer('DAVIT_STOP_DELAY_SECONDS', 0, 0, 600),
    ...streamSettings(reader),
    catalogueFile: reader.optional('DAVIT_CATALOGUE'),
    terraformProgram: reader.optional('DAVIT_TERRAFORM_PROGRAM'),
    helmProgram: reader.optional('DAVIT_HELM'),
    tofuProgram: reader.optional('DAVIT_TOFU_PROGRAM'),
    databaseCatalogueFile: reader.optional('DAVIT_DATABASE_CATALOGUE'),
    lifecycleTemplatesFile: reader.optional('DAVIT_LIFECYCLE_TEMPLATES'),
    ...gitSettings(reader),
    logLevel: reader.word('DAVIT_LOG_LEVEL', logLevels, 'info'),
    logRequests: reader.truth('DAVIT_LOG_REQUESTS', false),
  };
  reader.finish();
  return { ...configuration, unknownVariables: reader.unknown() };
}

function gitSettings(
  reader: ConfigurationReader,
): Pick<
  Configuration,
  | 'gitPollSeconds'
  | 'gitDeployForcePushes'
  | 'gitFolder'
  | 'gitPushMiB'
  | 'gitPushObjects'
  | 'gitReferences'
  | 'gitRepositoryMiB'
  | 'previewForks'
  | 'previewHours'
  | 'previewsPerEnvironment'
> {
  return {
    gitFolder: reader.optional('DAVIT_GIT_FOLDER'),
    gitPushMiB: reader.integer('DAVIT_GIT_PUSH_MIB', 512, 1, 1_048_576),
    gitPushObjects: reader.integer('DAVIT_GIT_PUSH_OBJECTS', 1_000_000, 1, 100_000_000),
    gitReferences: reader.integer('DAVIT_GIT_REFERENCES', 1000, 1, 100_000),
    gitRepositoryMiB: reader.integer('DAVIT_GIT_REPOSITORY_MIB', 2048, 1, 1_048_576),
    gitPollSeconds: reader.integer('DAVIT_GIT_POLL_SECONDS', 60, 0, 86_400),
    gitDeployForcePushes: reader.truth('DAVIT_GIT_DEPLOY_FORCE_PUSHES', false),
    previewForks: reader.truth('DAVIT_PREVIEW_FORKS', false),
    previewHours: reader.integer('DAVIT_PREVIEW_HOURS', 168, 0, 87_600),
    previewsPerEnvironment: reader.integer('DAVIT_PREVIEWS_PER_ENVIRONMENT', 20, 0, 10_000),
  };
}

function signInSettings(
  reader: ConfigurationReader,
): Pick<Configuration, 'oidcIssuers' | 'oidcAudiences' | 'oidcClients' | 'passwords' | 'publicUrl' | 'mail'> {
  const publicUrl = reader.address('DAVIT_PUBLIC_URL');
  return {
    publicUrl,
    mail: reader.mail('DAVIT_SMTP_URL', 'DAVIT_MAIL_FROM', publicUrl),
    ...reader.openIdConnect('DAVIT_OIDC_ISSUER', 'DAVIT_OIDC_AUDIENCE', 'DAVIT_OIDC_CLIENT_ID', 'DAVIT_OIDC_CLIENT_SECRET'),
    passwords: reader.word('DAVIT_PASSWORDS', ['on', 'off'], 'on') === 'on',
  };
}

type GatewayKeys =
  | `gateway${'Host' | 'Port' | 'HttpsPort' | 'Domain' | 'Api'}`
  | 'acme'
  | 'hstsSeconds'
  | 'dnsChallenge'
  | 'addressCertificates'
  | 'addressCertificatesPerWeek';

function gatewaySettings(reader: ConfigurationReader): Pick<Configuration, GatewayKeys> {
  const dnsUpdate = reader.dnsUpdate('DAVIT_DNS_UPDATE_SERVER', 'DAVIT_DNS_UPDATE_ZONE', 'DAVIT_DNS_UPDATE_KEY');
  const names = {
    acme: reader.acme('DAVIT_ACME_DIRECTORY', 'DAVIT_ACME_EMAIL', 'DAVIT_ACME_ROOTS', 'DAVIT_ACME_KEY_ID', 'DAVIT_ACME_HMAC_KEY'),
    gatewayDomain: reader.domain('DAVIT_GATEWAY_DOMAIN', 'localhost'),
    dnsChallenge: reader.dnsChallenge('DAVIT_DNS_PROGRAM', 'DAVIT_DNS_WAIT_SECONDS', dnsUpdate),
  };
  return {
    ...names,
    gatewayHost: reader.text('DAVIT_GATEWAY_HOST', '127.0.0.1'),
    gatewayPort: reader.integer('DAVIT_GATEWAY_PORT', 4480, 1, 65_535),
    gatewayHttpsPort: reader.otherPort('DAVIT_GATEWAY_HTTPS_PORT', ['DAVIT_GATEWAY_PORT', 4480]),
    gatewayApi: reader.hostPorts('DAVIT_GATEWAY_API'),
    hstsSeconds: reader.integer('DAVIT_HSTS_SECONDS', 0, 0, 315_360_000),
    addressCertificates: reader.addressCertificates('DAVIT_ADDRESS_CERTIFICATES', names),
    addressCertificatesPerWeek: reader.integer('DAVIT_ADDRESS_CERTIFICATES_PER_WEEK', 40, 0, 1_000_000),
  };
}

function backupSettings(
  reader: ConfigurationReader,
): Pick<
  Configuration,
  'backupSchedule' | 'backupFolder' | 'keptBackups' | 'backupsAtOnce' | 'backupTimeoutSeconds' | 'orphanBackupDays'
> {
  return {
    backupSchedule: reader.schedule('DAVIT_BACKUP_SCHEDULE', '0 3 * * *'),
    backupFolder: reader.optional('DAVIT_BACKUP_FOLDER'),
    keptBackups: reader.integer('DAVIT_KEPT_BACKUPS', 7, 1, 1000),
    backupsAtOnce: reader.integer('DAVIT_BACKUPS_AT_ONCE', 2, 1, 64),
    backupTimeoutSeconds: reader.integer('DAVIT_BACKUP_TIMEOUT_SECONDS', 14_400, 10, 604_800),
    orphanBackupDays: reader.integer('DAVIT_ORPHAN_BACKUP_DAYS', 7, 0, 3650),
  };
}

function streamSettings(
  reader: ConfigurationReader,
): Pick<Configuration, 'streamsPerToken' | 'streamRetentionMinutes' | 'streamHeartbeatSeconds' | 'streamPatienceSeconds'> {
  return {
    streamsPerToken: reader.integer('DAVIT_STREAMS_PER_TOKEN', 20, 1, 10_000),
    streamRetentionMinutes: reader.integer('DAVIT_STREAM_RETENTION_MINUTES', 60, 1, 10_080),
    streamHeartbeatSeconds: reader.integer('DAVIT_STREAM_HEARTBEAT_SECONDS', 15, 1, 300),
    streamPatienceSeconds: reader.integer('DAVIT_STREAM_PATIENCE_SECONDS', 30, 1, 3600),
  };
}

// Builds share the machine with services: half is left to the running services and to Davit itself.
function halfOfMemoryMiB(): number {
  return Math.max(256, Math.floor(os.totalmem() / 1024 / 1024 / 2));
}

function halfOfCpuMillicores(): number {
  return Math.max(500, os.availableParallelism() * 500);
}

import { enumeration } from '../shape.ts';

/* Word lists of the contract, in its order. */

/** Clients know plans by name. Here, all are the same. */
const planWords = 'It has no effect.';
export const plans = enumeration('Plan', {
  FREE: planWords,
  TEAM: planWords,
  TEAM_YEARLY: planWords,
  ENTERPRISE: planWords,
  ENTERPRISE_YEARLY: planWords,
  PROFESSIONAL: planWords,
  BUSINESS: planWords,
  USER_2025: planWords,
  TEAM_2025: 'The default; it has no effect.',
  BUSINESS_2025: planWords,
  ENTERPRISE_2025: planWords,
});
export type Plan = (typeof plans)[number];

export const environmentModes = enumeration('EnvironmentMode', {
  DEVELOPMENT: 'For development and tests; the default.',
  PREVIEW: 'A temporary copy for a pull request.',
  PRODUCTION: 'For the users of the product.',
  STAGING: 'For the last check before production.',
});
export type EnvironmentMode = (typeof environmentModes)[number];

/**
 * Rights of a custom role on a cluster, and in environments of one mode of a project. Each value contains the ones
 * before it.
 */
export const clusterPermissions = enumeration('ClusterPermission', {
  VIEWER: 'Read the cluster.',
  ENV_CREATOR: 'Also create environments on it.',
  ADMIN: 'Also edit, deploy and delete it.',
});
export type ClusterPermission = (typeof clusterPermissions)[number];
export const projectPermissions = enumeration('ProjectPermission', {
  NO_ACCESS: 'See nothing.',
  VIEWER: 'Read environments and services.',
  DEPLOYER: 'Also deploy, restart, stop and cancel.',
  MANAGER: 'Also create, edit and delete services.',
});
export type ProjectPermission = (typeof projectPermissions)[number];

/** Older names of the members' roles. */
export const memberRoles = enumeration('MemberRole', {
  ADMIN: 'The role Admin.',
  DEVELOPER: 'DevOps, or a custom role.',
  OWNER: 'The owner of the organization.',
  VIEWER: 'Viewer, or Billing manager.',
});
export type MemberRole = (typeof memberRoles)[number];
export const invitationStatuses = enumeration('InvitationStatus', {
  EXPIRED: 'Its seven days are over.',
  PENDING: `It waits for the person's answer.`,
});

export const databaseTypes = enumeration('DatabaseType', {
  MONGODB: 'A document database.',
  MYSQL: 'MySQL, a relational database.',
  POSTGRESQL: 'PostgreSQL, a relational database.',
  REDIS: 'An in-memory key-value store.',
});
export type DatabaseType = (typeof databaseTypes)[number];
/** CONTAINER: an instance on the cluster with a volume. MANAGED: like CONTAINER, with backups. */
export const databaseModes = enumeration('DatabaseMode', {
  CONTAINER: 'One instance with a volume; backups on request.',
  MANAGED: 'Like CONTAINER, with automatic backups too.',
});
export const databaseAccessibilities = enumeration('DatabaseAccessibility', {
  PRIVATE: 'From services of its environment only.',
  PUBLIC: 'Also from outside, at a port of its own; with TLS if that is set up.',
});

/**
 * The role of a scaler. PRIMARY is the regular scaler of a service; SAFETY prevents the service from having too few
 * instances. The scaler that requests the most instances takes effect.
 */
export const scalerRoles = enumeration(
  'ScalerRole',
  { PRIMARY: 'The regular scaler of the service.', SAFETY: 'Guards against too few instances.' },
  'The purpose of a scaler; it only orders the triggers.',
);

export const serviceTypes = enumeration('ServiceType', {
  APPLICATION: 'Built from a Dockerfile in a git repository.',
  DATABASE: 'A database with its volume and credentials.',
  CONTAINER: 'Runs an image of a container registry.',
  JOB: 'Runs to completion, at events or at times.',
  HELM: 'A Helm chart on a Kubernetes cluster.',
  TERRAFORM: 'A Terraform or OpenTofu configuration.',
});
export type ServiceType = (typeof serviceTypes)[number];

export const jobTypes = enumeration(
  'JobType',
  { LIFECYCLE: 'At events of its environment.', CRON: 'At the times of a cron expression.' },
  'When a job runs.',
);

/** Levels that lines of logs name, the least severe first. */
export const logLevels = enumeration(
  'LogLevel',
  {
    DEBUG: 'For developers; TRACE counts as it.',
    INFO: 'Ordinary; NOTICE counts as it.',
    WARNING: 'Needs attention.',
    ERROR: 'Something failed; FATAL and the like count as it.',
  },
  'How severe a line is, by its own words.',
);
export type LogLevel = (typeof logLevels)[number];

export const gitProviders = enumeration('GitProvider', {
  HOSTA: 'By default github.com.',
  HOSTB: 'By default gitlab.com.',
  HOSTC: 'By default bitbucket.org.',
  GENERIC: 'Any other git server.',
});
export type GitProvider = (typeof gitProviders)[number];

export const variableScopes = enumeration(
  'VariableScope',
  {
    APPLICATION: 'At one application.',
    BUILT_IN: 'By Davit itself.',
    ENVIRONMENT: 'At an environment.',
    PROJECT: 'At a project.',
    CONTAINER: 'At one container.',
    JOB: 'At one job.',
    HELM: 'At one Helm chart.',
    TERRAFORM: 'At one Terraform configuration.',
  },
  'Where a variable is defined.',
);
export type VariableScope = (typeof variableScopes)[number];
/** Service types that have variables of their own. */
export const serviceScopes = enumeration('ServiceScope', {
  APPLICATION: 'An application of an environment.',
  CONTAINER: 'A container of an environment.',
  JOB: 'A job of an environment.',
  HELM: 'A Helm chart.',
  TERRAFORM: 'A Terraform configuration.',
});
export type ServiceScope = (typeof serviceScopes)[number];
export const variableTypes = enumeration(
  'VariableType',
  {
    VALUE: 'An ordinary value.',
    ALIAS: 'That of another variable, under a second key.',
    OVERRIDE: 'Another value for an inherited key.',
    BUILT_IN: 'Set by Davit; it cannot be edited.',
    FILE: 'The content of a file at `mount_path`.',
  },
  'What the value of a variable is.',
);
export const portProtocols = enumeration('PortProtocol', {
  HTTP: 'HTTP, with or without WebSocket.',
  GRPC: 'gRPC over HTTP/2.',
  TCP: 'Any protocol over TCP, passed through unread.',
  UDP: 'UDP, passed through unread.',
});

export const containerRegistryKinds = enumeration('ContainerRegistryKind', {
  ECR: 'A private registry at AWS. Davit cannot sign in there yet.',
  VENDORA_CR: 'The registry of vendor A.',
  HUBA_CR: 'By default Docker Hub.',
  HOSTA_CR: 'By default ghcr.io.',
  HOSTA_ENTERPRISE_CR: 'Host A on servers of your own.',
  HOSTB_CR: 'By default registry.gitlab.com.',
  PUBLIC_ECR: 'The public registry of AWS.',
  DOCR: 'No longer supported; use GENERIC_CR.',
  GENERIC_CR: 'Any other registry.',
  CLOUDC_ARTIFACT_REGISTRY: 'The registry of vendor C.',
  VENDORB_CR: 'The registry of vendor B.',
});
export type ContainerRegistryKind = (typeof containerRegistryKinds)[number];

export const helmRepositoryKinds = enumeration('HelmRepositoryKind', {
  HTTPS: 'A server with an `index.yaml`.',
  OCI_ECR: 'A private registry at AWS. Davit cannot sign in there yet.',
  OCI_VENDORA_CR: 'The registry of vendor A.',
  OCI_HUBA_CR: 'By default Docker Hub.',
  OCI_PUBLIC_ECR: 'The public registry of AWS.',
  OCI_GENERIC_CR: 'Any other OCI registry.',
  OCI_HOSTA_CR: 'By default ghcr.io.',
  OCI_HOSTB_CR: 'By default registry.gitlab.com.',
});
export type HelmRepositoryKind = (typeof helmRepositoryKinds)[number];

export const terraformEngines = enumeration('TerraformEngine', {
  TERRAFORM: 'Terraform of HashiCorp.',
  OPEN_TOFU: 'OpenTofu, its open fork.',
});
/** Actions that a Terraform deployment can run instead of an apply. */
export const terraformActions = enumeration('TerraformAction', {
  PLAN: 'Only plan; the log shows the result.',
  FORCE_UNLOCK: 'Remove a lock that a killed run left.',
  MIGRATE_STATE: 'Move the state to the current backend.',
});
/** Terraform commands for which users may set extra arguments. */
export const terraformCommands = enumeration('TerraformCommand', {
  init: 'Prepares providers and modules.',
  plan: 'Computes the changes.',
  apply: 'Makes the changes.',
  destroy: 'Destroys the resources.',
});

export const annotationScopes = enumeration('AnnotationScope', {
  DEPLOYMENTS: 'Its Deployments.',
  STATEFUL_SETS: 'Its StatefulSets.',
  SERVICES: 'Its Services.',
  INGRESS: 'The Ingress objects.',
  GATEWAY_API_ROUTES: 'Routes of the Gateway API.',
  HPA: 'The HorizontalPodAutoscaler or ScaledObject.',
  PODS: 'All of its pods.',
  SECRETS: 'Its Secrets.',
  JOBS: 'All of its Jobs.',
  CRON_JOBS: 'Its CronJobs.',
});
export type AnnotationScope = (typeof annotationScopes)[number];

/** Targets to which a group of annotations or labels may be attached. */
export const groupItemTypes = enumeration('GroupItemType', {
  APPLICATION: 'An application of the organization.',
  DATABASE: 'A database of the organization.',
  CONTAINER: 'A container of the organization.',
  LIFECYCLE: 'A lifecycle job.',
  ENVIRONMENT: 'An environment of the organization.',
  CLUSTER: 'A cluster of the organization.',
  CRON: 'A cron job.',
});
export type GroupItemType = (typeof groupItemTypes)[number];
export const weekdays = enumeration('Weekday', {
  MONDAY: 'Every Monday.',
  TUESDAY: 'Every Tuesday.',
  WEDNESDAY: 'Every Wednesday.',
  THURSDAY: 'Every Thursday.',
  FRIDAY: 'Every Friday.',
  SATURDAY: 'Every Saturday.',
  SUNDAY: 'Every Sunday.',
});
export type Weekday = (typeof weekdays)[number];

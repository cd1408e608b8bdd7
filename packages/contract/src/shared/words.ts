/** Word lists of the contract, in its order. */
export const plans = [
  'FREE',
  'TEAM',
  'TEAM_YEARLY',
  'ENTERPRISE',
  'ENTERPRISE_YEARLY',
  'PROFESSIONAL',
  'BUSINESS',
  'USER_2025',
  'TEAM_2025',
  'BUSINESS_2025',
  'ENTERPRISE_2025',
] as const;
export type Plan = (typeof plans)[number];

export const environmentModes = ['DEVELOPMENT', 'PREVIEW', 'PRODUCTION', 'STAGING'] as const;
export type EnvironmentMode = (typeof environmentModes)[number];

/**
 * Rights of a custom role on a cluster, and in environments of one mode of a project. Each value contains the ones
 * before it.
 */
export const clusterPermissions = ['VIEWER', 'ENV_CREATOR', 'ADMIN'] as const;
export type ClusterPermission = (typeof clusterPermissions)[number];
export const projectPermissions = ['NO_ACCESS', 'VIEWER', 'DEPLOYER', 'MANAGER'] as const;
export type ProjectPermission = (typeof projectPermissions)[number];

/** Older names of the members' roles. */
export const memberRoles = ['ADMIN', 'DEVELOPER', 'OWNER', 'VIEWER'] as const;
export type MemberRole = (typeof memberRoles)[number];
export const invitationStatuses = ['EXPIRED', 'PENDING'] as const;

export const databaseTypes = ['MONGODB', 'MYSQL', 'POSTGRESQL', 'REDIS'] as const;
export type DatabaseType = (typeof databaseTypes)[number];
/** CONTAINER: an instance on the cluster with a volume. MANAGED: like CONTAINER, with backups. */
export const databaseModes = ['CONTAINER', 'MANAGED'] as const;
export const databaseAccessibilities = ['PRIVATE', 'PUBLIC'] as const;

/**
 * The role of a scaler. PRIMARY is the regular scaler of a service; SAFETY prevents the service from having too few
 * instances. The scaler that requests the most instances takes effect.
 */
export const scalerRoles = ['PRIMARY', 'SAFETY'] as const;

export const serviceTypes = ['APPLICATION', 'DATABASE', 'CONTAINER', 'JOB', 'HELM', 'TERRAFORM'] as const;
export type ServiceType = (typeof serviceTypes)[number];

export const serviceStates = [
  'BUILDING',
  'BUILD_ERROR',
  'CANCELED',
  'CANCELING',
  'DELETED',
  'DELETE_ERROR',
  'DELETE_QUEUED',
  'DELETING',
  'DEPLOYED',
  'DEPLOYING',
  'DEPLOYMENT_ERROR',
  'DEPLOYMENT_QUEUED',
  'EXECUTING',
  'QUEUED',
  'READY',
  'RECAP',
  'RESTARTED',
  'RESTARTING',
  'RESTART_ERROR',
  'RESTART_QUEUED',
  'STOPPED',
  'STOPPING',
  'STOP_ERROR',
  'STOP_QUEUED',
  'UNAVAILABLE',
  'WAITING_DELETING',
  'WAITING_RESTARTING',
  'WAITING_RUNNING',
  'WAITING_STOPPING',
] as const;
export type ServiceState = (typeof serviceStates)[number];

export const clusterStates = [
  'BUILDING',
  'BUILD_ERROR',
  'CANCELED',
  'CANCELING',
  'DELETED',
  'DELETE_ERROR',
  'DELETE_QUEUED',
  'DELETING',
  'DEPLOYED',
  'DEPLOYING',
  'DEPLOYMENT_ERROR',
  'DEPLOYMENT_QUEUED',
  'DRY_RUN',
  'QUEUED',
  'READY',
  'STOPPED',
  'STOPPING',
  'STOP_ERROR',
  'STOP_QUEUED',
  'RESTART_QUEUED',
  'RESTARTING',
  'RESTARTED',
  'RESTART_ERROR',
  'INVALID_CREDENTIALS',
] as const;

export const deploymentStatuses = ['NEVER_DEPLOYED', 'OUT_OF_DATE', 'UP_TO_DATE'] as const;
/** Kinds of observations that report a condition of a deployed service; `docs/operate.md` explains them. */
export const conditionKinds = ['INSTANCE_END', 'MEMORY', 'LIVENESS', 'READINESS', 'PROCESSES', 'DISK'] as const;
export const conditionSeverities = ['WARNING', 'ERROR'] as const;
export const runningStatuses = ['STARTING', 'RUNNING', 'WARNING', 'ERROR', 'STOPPING', 'STOPPED', 'COMPLETED'] as const;

export const actions = ['DEPLOY', 'DELETE', 'RESTART', 'STOP', 'UNKNOWN'] as const;
export const actionStatuses = ['QUEUED', 'ONGOING', 'SUCCESS', 'ERROR', 'EXECUTING', 'CANCELED', 'CANCELING', 'NEVER'] as const;
export const subActions = [
  'NONE',
  'TERRAFORM_PLAN_ONLY',
  'TERRAFORM_PLAN_AND_APPLY',
  'TERRAFORM_DESTROY',
  'TERRAFORM_FORCE_UNLOCK_STATE',
  'TERRAFORM_MIGRATE_STATE',
] as const;
export const triggerActions = [
  'DEPLOY',
  'DELETE',
  'RESTART',
  'STOP',
  'DEPLOY_DRY_RUN',
  'TERRAFORM_FORCE_UNLOCK',
  'TERRAFORM_MIGRATE_STATE',
  'DELETE_RESOURCES_ONLY',
  'UNKNOWN',
  'UNINSTALL',
] as const;
export const stageStatuses = ['QUEUED', 'ONGOING', 'DONE', 'ERROR', 'SKIPPED', 'CANCELED'] as const;
export const stepNames = [
  'REGISTRY_CREATE_REPOSITORY',
  'GIT_CLONE',
  'BUILD_QUEUEING',
  'BUILD',
  'DEPLOYMENT_QUEUEING',
  'DEPLOYMENT',
  'ROUTER_DEPLOYMENT',
  'MIRROR_IMAGE',
  'EXECUTING',
] as const;
export const stepStatuses = ['SUCCESS', 'ERROR', 'CANCEL', 'SKIP'] as const;
export const origins = ['API', 'CLI', 'CONSOLE', 'GIT', 'SERVICE_INTERNAL', 'TERRAFORM_PROVIDER'] as const;
export type Origin = (typeof origins)[number];

export const gitProviders = ['HOSTA', 'HOSTB', 'HOSTC', 'GENERIC'] as const;
export type GitProvider = (typeof gitProviders)[number];

export const variableScopes = [
  'APPLICATION',
  'BUILT_IN',
  'ENVIRONMENT',
  'PROJECT',
  'CONTAINER',
  'JOB',
  'HELM',
  'TERRAFORM',
] as const;
export type VariableScope = (typeof variableScopes)[number];
/** Service types that have variables of their own. */
export const serviceScopes = ['APPLICATION', 'CONTAINER', 'JOB', 'HELM', 'TERRAFORM'] as const;
export type ServiceScope = (typeof serviceScopes)[number];
export const variableTypes = ['VALUE', 'ALIAS', 'OVERRIDE', 'BUILT_IN', 'FILE'] as const;
export const portProtocols = ['HTTP', 'GRPC', 'TCP', 'UDP'] as const;

export const containerRegistryKinds = [
  'ECR',
  'VENDORA_CR',
  'HUBA_CR',
  'HOSTA_CR',
  'HOSTA_ENTERPRISE_CR',
  'HOSTB_CR',
  'PUBLIC_ECR',
  'DOCR',
  'GENERIC_CR',
  'CLOUDC_ARTIFACT_REGISTRY',
  'VENDORB_CR',
] as const;
export type ContainerRegistryKind = (typeof containerRegistryKinds)[number];

export const helmRepositoryKinds = [
  'HTTPS',
  'OCI_ECR',
  'OCI_VENDORA_CR',
  'OCI_HUBA_CR',
  'OCI_PUBLIC_ECR',
  'OCI_GENERIC_CR',
  'OCI_HOSTA_CR',
  'OCI_HOSTB_CR',
] as const;
export type HelmRepositoryKind = (typeof helmRepositoryKinds)[number];

export const terraformEngines = ['TERRAFORM', 'OPEN_TOFU'] as const;
/** Actions that a Terraform deployment can run instead of an apply. */
export const terraformActions = ['PLAN', 'FORCE_UNLOCK', 'MIGRATE_STATE'] as const;
/** Terraform commands for which users may set extra arguments. */
export const terraformCommands = ['init', 'plan', 'apply', 'destroy'] as const;

export const annotationScopes = [
  'DEPLOYMENTS',
  'STATEFUL_SETS',
  'SERVICES',
  'INGRESS',
  'GATEWAY_API_ROUTES',
  'HPA',
  'PODS',
  'SECRETS',
  'JOBS',
  'CRON_JOBS',
] as const;
export type AnnotationScope = (typeof annotationScopes)[number];

/** Targets to which a group of annotations or labels may be attached. */
export const groupItemTypes = ['APPLICATION', 'DATABASE', 'CONTAINER', 'LIFECYCLE', 'ENVIRONMENT', 'CLUSTER', 'CRON'] as const;
export type GroupItemType = (typeof groupItemTypes)[number];
export const weekdays = ['MONDAY', 'TUESDAY', 'WEDNESDAY', 'THURSDAY', 'FRIDAY', 'SATURDAY', 'SUNDAY'] as const;
export type Weekday = (typeof weekdays)[number];

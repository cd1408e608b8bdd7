import { enumeration } from '../shape.ts';

/** Word lists of the contract, in its order. */
export const plans = enumeration('Plan', [
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
]);
export type Plan = (typeof plans)[number];

export const environmentModes = enumeration('EnvironmentMode', ['DEVELOPMENT', 'PREVIEW', 'PRODUCTION', 'STAGING']);
export type EnvironmentMode = (typeof environmentModes)[number];

/**
 * Rights of a custom role on a cluster, and in environments of one mode of a project. Each value contains the ones
 * before it.
 */
export const clusterPermissions = enumeration('ClusterPermission', ['VIEWER', 'ENV_CREATOR', 'ADMIN']);
export type ClusterPermission = (typeof clusterPermissions)[number];
export const projectPermissions = enumeration('ProjectPermission', ['NO_ACCESS', 'VIEWER', 'DEPLOYER', 'MANAGER']);
export type ProjectPermission = (typeof projectPermissions)[number];

/** Older names of the members' roles. */
export const memberRoles = enumeration('MemberRole', ['ADMIN', 'DEVELOPER', 'OWNER', 'VIEWER']);
export type MemberRole = (typeof memberRoles)[number];
export const invitationStatuses = enumeration('InvitationStatus', ['EXPIRED', 'PENDING']);

export const databaseTypes = enumeration('DatabaseType', ['MONGODB', 'MYSQL', 'POSTGRESQL', 'REDIS']);
export type DatabaseType = (typeof databaseTypes)[number];
/** CONTAINER: an instance on the cluster with a volume. MANAGED: like CONTAINER, with backups. */
export const databaseModes = enumeration('DatabaseMode', ['CONTAINER', 'MANAGED']);
export const databaseAccessibilities = enumeration('DatabaseAccessibility', ['PRIVATE', 'PUBLIC']);

/**
 * The role of a scaler. PRIMARY is the regular scaler of a service; SAFETY prevents the service from having too few
 * instances. The scaler that requests the most instances takes effect.
 */
export const scalerRoles = enumeration('ScalerRole', ['PRIMARY', 'SAFETY']);

export const serviceTypes = enumeration('ServiceType', ['APPLICATION', 'DATABASE', 'CONTAINER', 'JOB', 'HELM', 'TERRAFORM']);
export type ServiceType = (typeof serviceTypes)[number];

export const serviceStates = enumeration('ServiceState', [
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
]);
export type ServiceState = (typeof serviceStates)[number];

export const clusterStates = enumeration('ClusterState', [
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
]);

/** Levels that lines of logs name, the least severe first. */
export const logLevels = ['DEBUG', 'INFO', 'WARNING', 'ERROR'] as const;
export type LogLevel = (typeof logLevels)[number];

export const deploymentStatuses = enumeration('DeploymentStatus', ['NEVER_DEPLOYED', 'OUT_OF_DATE', 'UP_TO_DATE']);
/** Kinds of observations that report a condition of a deployed service; `docs/operate.md` explains them. */
export const conditionKinds = enumeration('ConditionKind', [
  'INSTANCE_END',
  'MEMORY',
  'LIVENESS',
  'READINESS',
  'PROCESSES',
  'DISK',
]);
export const conditionSeverities = enumeration('ConditionSeverity', ['WARNING', 'ERROR']);
export const runningStatuses = enumeration('RunningStatus', [
  'STARTING',
  'RUNNING',
  'WARNING',
  'ERROR',
  'STOPPING',
  'STOPPED',
  'COMPLETED',
]);

export const actions = enumeration('ServiceAction', ['DEPLOY', 'DELETE', 'RESTART', 'STOP', 'UNKNOWN']);
export const actionStatuses = enumeration('ActionStatus', [
  'QUEUED',
  'ONGOING',
  'SUCCESS',
  'ERROR',
  'EXECUTING',
  'CANCELED',
  'CANCELING',
  'NEVER',
]);
export const subActions = enumeration('SubAction', [
  'NONE',
  'TERRAFORM_PLAN_ONLY',
  'TERRAFORM_PLAN_AND_APPLY',
  'TERRAFORM_DESTROY',
  'TERRAFORM_FORCE_UNLOCK_STATE',
  'TERRAFORM_MIGRATE_STATE',
]);
export const triggerActions = enumeration('TriggerAction', [
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
]);
export const stageStatuses = enumeration('StageStatusWord', ['QUEUED', 'ONGOING', 'DONE', 'ERROR', 'SKIPPED', 'CANCELED']);
export const stepNames = enumeration('StepName', [
  'REGISTRY_CREATE_REPOSITORY',
  'GIT_CLONE',
  'BUILD_QUEUEING',
  'BUILD',
  'DEPLOYMENT_QUEUEING',
  'DEPLOYMENT',
  'ROUTER_DEPLOYMENT',
  'MIRROR_IMAGE',
  'EXECUTING',
]);
export const stepStatuses = enumeration('StepStatus', ['SUCCESS', 'ERROR', 'CANCEL', 'SKIP']);
export const origins = enumeration('Origin', ['API', 'CLI', 'CONSOLE', 'GIT', 'SERVICE_INTERNAL', 'TERRAFORM_PROVIDER']);
export type Origin = (typeof origins)[number];

export const gitProviders = enumeration('GitProvider', ['HOSTA', 'HOSTB', 'HOSTC', 'GENERIC']);
export type GitProvider = (typeof gitProviders)[number];

export const variableScopes = enumeration('VariableScope', [
  'APPLICATION',
  'BUILT_IN',
  'ENVIRONMENT',
  'PROJECT',
  'CONTAINER',
  'JOB',
  'HELM',
  'TERRAFORM',
]);
export type VariableScope = (typeof variableScopes)[number];
/** Service types that have variables of their own. */
export const serviceScopes = enumeration('ServiceScope', ['APPLICATION', 'CONTAINER', 'JOB', 'HELM', 'TERRAFORM']);
export type ServiceScope = (typeof serviceScopes)[number];
export const variableTypes = enumeration('VariableType', ['VALUE', 'ALIAS', 'OVERRIDE', 'BUILT_IN', 'FILE']);
export const portProtocols = enumeration('PortProtocol', ['HTTP', 'GRPC', 'TCP', 'UDP']);

export const containerRegistryKinds = enumeration('ContainerRegistryKind', [
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
]);
export type ContainerRegistryKind = (typeof containerRegistryKinds)[number];

export const helmRepositoryKinds = enumeration('HelmRepositoryKind', [
  'HTTPS',
  'OCI_ECR',
  'OCI_VENDORA_CR',
  'OCI_HUBA_CR',
  'OCI_PUBLIC_ECR',
  'OCI_GENERIC_CR',
  'OCI_HOSTA_CR',
  'OCI_HOSTB_CR',
]);
export type HelmRepositoryKind = (typeof helmRepositoryKinds)[number];

export const terraformEngines = enumeration('TerraformEngine', ['TERRAFORM', 'OPEN_TOFU']);
/** Actions that a Terraform deployment can run instead of an apply. */
export const terraformActions = enumeration('TerraformAction', ['PLAN', 'FORCE_UNLOCK', 'MIGRATE_STATE']);
/** Terraform commands for which users may set extra arguments. */
export const terraformCommands = enumeration('TerraformCommand', ['init', 'plan', 'apply', 'destroy']);

export const annotationScopes = enumeration('AnnotationScope', [
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
]);
export type AnnotationScope = (typeof annotationScopes)[number];

/** Targets to which a group of annotations or labels may be attached. */
export const groupItemTypes = enumeration('GroupItemType', [
  'APPLICATION',
  'DATABASE',
  'CONTAINER',
  'LIFECYCLE',
  'ENVIRONMENT',
  'CLUSTER',
  'CRON',
]);
export type GroupItemType = (typeof groupItemTypes)[number];
export const weekdays = enumeration('Weekday', ['MONDAY', 'TUESDAY', 'WEDNESDAY', 'THURSDAY', 'FRIDAY', 'SATURDAY', 'SUNDAY']);
export type Weekday = (typeof weekdays)[number];

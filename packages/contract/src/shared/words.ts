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
export const variableTypes = ['VALUE', 'ALIAS', 'OVERRIDE', 'BUILT_IN', 'FILE'] as const;
export const portProtocols = ['HTTP', 'GRPC', 'TCP', 'UDP'] as const;

export const weekdays = ['MONDAY', 'TUESDAY', 'WEDNESDAY', 'THURSDAY', 'FRIDAY', 'SATURDAY', 'SUNDAY'] as const;
export type Weekday = (typeof weekdays)[number];

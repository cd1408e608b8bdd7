import { enumeration } from '../shape.ts';

/** Word lists of the contract, in its order. */
export const plans = enumeration('Plan', {
  FREE: 'A plan without charge.',
  TEAM: 'A plan for a team.',
  TEAM_YEARLY: 'A plan for a team, by the year.',
  ENTERPRISE: 'A plan for an enterprise.',
  ENTERPRISE_YEARLY: 'A plan for an enterprise, by the year.',
  PROFESSIONAL: 'A plan for professionals.',
  BUSINESS: 'A plan for a business.',
  USER_2025: 'A plan of 2025 for one user.',
  TEAM_2025: 'A plan of 2025 for a team; the default.',
  BUSINESS_2025: 'A plan of 2025 for a business.',
  ENTERPRISE_2025: 'A plan of 2025 for an enterprise.',
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
  PUBLIC: 'Also from outside, at a port of its own, without TLS.',
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

export const serviceStates = enumeration('ServiceState', {
  BUILDING: 'Its source is fetched and its image is built.',
  BUILD_ERROR: 'The build failed.',
  CANCELED: 'The action was canceled.',
  CANCELING: 'The action is being canceled.',
  DELETED: 'It was deleted from the cluster.',
  DELETE_ERROR: 'The deletion failed.',
  DELETE_QUEUED: 'The deletion waits in the queue.',
  DELETING: 'It is being deleted.',
  DEPLOYED: 'The deployment succeeded.',
  DEPLOYING: 'The new release is starting.',
  DEPLOYMENT_ERROR: 'The deployment failed.',
  DEPLOYMENT_QUEUED: 'The deployment waits in the queue.',
  EXECUTING: 'A command runs, for example of Terraform.',
  QUEUED: 'A request waits in the queue.',
  READY: 'Nothing is deployed.',
  RECAP: 'Only in logs: the summary of errors.',
  RESTARTED: 'The restart succeeded.',
  RESTARTING: 'Its instances are being replaced.',
  RESTART_ERROR: 'The restart failed.',
  RESTART_QUEUED: 'The restart waits in the queue.',
  STOPPED: 'It was stopped; its data stays.',
  STOPPING: 'It is being stopped.',
  STOP_ERROR: 'The stop failed.',
  STOP_QUEUED: 'The stop waits in the queue.',
  UNAVAILABLE: 'It failed, or its state is unknown.',
  WAITING_DELETING: 'The deletion waits for its stage.',
  WAITING_RESTARTING: 'The restart waits for its stage.',
  WAITING_RUNNING: 'The deployment waits for its stage.',
  WAITING_STOPPING: 'The stop waits for its stage.',
});
export type ServiceState = (typeof serviceStates)[number];

export const clusterStates = enumeration('ClusterState', {
  BUILDING: 'Never sent by this version.',
  BUILD_ERROR: 'Never sent by this version.',
  CANCELED: 'Never sent by this version.',
  CANCELING: 'Never sent by this version.',
  DELETED: 'Never sent by this version.',
  DELETE_ERROR: 'Never sent by this version.',
  DELETE_QUEUED: 'Never sent by this version.',
  DELETING: 'Never sent by this version.',
  DEPLOYED: 'The cluster answers; services can be deployed.',
  DEPLOYING: 'The cluster is being upgraded; services can be deployed.',
  DEPLOYMENT_ERROR: 'The cluster does not answer, lacks permissions, or its upgrade is stuck.',
  DEPLOYMENT_QUEUED: 'Never sent by this version.',
  DRY_RUN: 'Never sent by this version.',
  QUEUED: 'Never sent by this version.',
  READY: 'The cluster is only recorded.',
  STOPPED: 'Never sent by this version.',
  STOPPING: 'Never sent by this version.',
  STOP_ERROR: 'Never sent by this version.',
  STOP_QUEUED: 'Never sent by this version.',
  RESTART_QUEUED: 'Never sent by this version.',
  RESTARTING: 'Never sent by this version.',
  RESTARTED: 'Never sent by this version.',
  RESTART_ERROR: 'Never sent by this version.',
  INVALID_CREDENTIALS: 'The cluster refuses the kubeconfig.',
});

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

export const deploymentStatuses = enumeration('DeploymentStatus', {
  NEVER_DEPLOYED: 'Nothing is deployed, and nothing was tried.',
  OUT_OF_DATE: 'It was edited after the deployment, or the deployment failed.',
  UP_TO_DATE: 'The current configuration is deployed.',
});
/** Kinds of observations that report a condition of a deployed service; `docs/operate.md` explains them. */
export const conditionKinds = enumeration('ConditionKind', {
  INSTANCE_END: 'An instance exited unexpectedly.',
  MEMORY: 'A process was killed for memory; the instance continues.',
  LIVENESS: 'The liveness probe failed; the instance was restarted.',
  READINESS: 'The readiness probe fails; the instance gets no requests.',
  PROCESSES: 'The limit of processes and threads is near or reached.',
  DISK: 'A file system that it writes to is nearly full.',
});
export const conditionSeverities = enumeration('ConditionSeverity', {
  WARNING: 'The service still works.',
  ERROR: 'The service does not work.',
});
export const runningStatuses = enumeration('RunningStatus', {
  STARTING: 'Not all instances are ready yet.',
  RUNNING: 'All wanted instances are ready.',
  WARNING: 'It serves, but a condition is open.',
  ERROR: 'No instance serves, or the last run failed.',
  STOPPING: 'Instances are ending.',
  STOPPED: 'No instance is wanted.',
  COMPLETED: 'The last run of a job succeeded.',
});

export const actions = enumeration('ServiceAction', {
  DEPLOY: 'Deploy or redeploy.',
  DELETE: 'Delete or uninstall.',
  RESTART: 'Replace the instances.',
  STOP: 'Stop, and keep the data.',
  UNKNOWN: 'There was no action yet.',
});
export const actionStatuses = enumeration('ActionStatus', {
  QUEUED: 'It waits in the queue.',
  ONGOING: 'It is running.',
  SUCCESS: 'It succeeded.',
  ERROR: 'It failed.',
  EXECUTING: 'A command runs.',
  CANCELED: 'It was canceled.',
  CANCELING: 'It is being canceled.',
  NEVER: 'There was no action yet, or it was a dry run.',
});
export const subActions = enumeration('SubAction', {
  NONE: 'Nothing special; every other type of service.',
  TERRAFORM_PLAN_ONLY: 'Only plans.',
  TERRAFORM_PLAN_AND_APPLY: 'Plans and applies.',
  TERRAFORM_DESTROY: 'Destroys the resources.',
  TERRAFORM_FORCE_UNLOCK_STATE: 'Unlocks the state.',
  TERRAFORM_MIGRATE_STATE: 'Moves the state to the current backend.',
});
export const triggerActions = enumeration('TriggerAction', {
  DEPLOY: 'Deploy or redeploy.',
  DELETE: 'Delete with everything on the cluster.',
  RESTART: 'Replace the instances.',
  STOP: 'Stop, and keep the data.',
  DEPLOY_DRY_RUN: 'Only report what would change.',
  TERRAFORM_FORCE_UNLOCK: 'Unlock the Terraform state.',
  TERRAFORM_MIGRATE_STATE: 'Move the Terraform state.',
  DELETE_RESOURCES_ONLY: 'Destroy resources, keep the record.',
  UNKNOWN: 'Another action.',
  UNINSTALL: 'Remove from the cluster, keep the record.',
});
export const stageStatuses = enumeration('StageStatusWord', {
  QUEUED: 'It waits for its turn.',
  ONGOING: 'It is running.',
  DONE: 'It succeeded.',
  ERROR: 'A service of it failed.',
  SKIPPED: 'It had nothing to do.',
  CANCELED: 'It was canceled, or an earlier stage failed.',
});
export const stepNames = enumeration('StepName', {
  REGISTRY_CREATE_REPOSITORY: 'Prepare where the image is stored.',
  GIT_CLONE: 'Fetch the source.',
  BUILD_QUEUEING: 'Wait for a place to build.',
  BUILD: 'Build the image.',
  DEPLOYMENT_QUEUEING: 'Wait for a place to deploy.',
  DEPLOYMENT: 'Start the new release.',
  ROUTER_DEPLOYMENT: 'Switch the public routes.',
  MIRROR_IMAGE: 'Pull the image.',
  EXECUTING: 'Run a command, for example of Terraform.',
});
export const stepStatuses = enumeration('StepStatus', {
  SUCCESS: 'It succeeded.',
  ERROR: 'It failed.',
  CANCEL: 'It was canceled.',
  SKIP: 'It was not needed.',
});
export const origins = enumeration('Origin', {
  API: 'An API token.',
  CLI: 'The command line.',
  CONSOLE: 'A signed-in person.',
  GIT: 'A push or a pull request.',
  SERVICE_INTERNAL: 'Davit itself, for example a rule.',
  TERRAFORM_PROVIDER: 'A Terraform provider for Davit.',
});
export type Origin = (typeof origins)[number];

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

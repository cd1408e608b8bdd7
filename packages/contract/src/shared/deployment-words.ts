import { enumeration, neverSent } from '../shape.ts';

/* Words of deployments: states, actions, stages, steps, and what is observed of a deployed service. */

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
  RECAP: neverSent,
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

export const deploymentStatuses = enumeration('DeploymentStatus', {
  NEVER_DEPLOYED: 'Nothing is deployed, and nothing was tried.',
  OUT_OF_DATE: 'It was edited or rolled back, or the deployment failed.',
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
  NEVER: 'There was no action yet; or a dry run of an environment.',
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
  DEPLOY_DRY_RUN: neverSent,
  TERRAFORM_FORCE_UNLOCK: neverSent,
  TERRAFORM_MIGRATE_STATE: neverSent,
  DELETE_RESOURCES_ONLY: neverSent,
  UNKNOWN: neverSent,
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
  REGISTRY_CREATE_REPOSITORY: neverSent,
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

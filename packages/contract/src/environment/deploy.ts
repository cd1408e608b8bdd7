import Type from 'typebox';
import { operation } from '../operation.ts';
import { about, Named } from '../shape.ts';
import { DeployedEnvironmentAsService, EnvironmentStatus } from '../shared/status.ts';
import { DeploymentPlan, DryRun } from '../shared/deployment-plan.ts';

const tag = 'Environment';
const at = '/environment/{environmentId}' as const;

const planOrStatus = Named(
  'EnvironmentStatusOrPlan',
  Type.Intersect([EnvironmentStatus, Type.Partial(Type.Object({ plan: DeploymentPlan }))]),
  'The status; for a dry run also the plan.',
);

// In the public description `deploy` of an environment returns the status shape of a service, and all other operations
// return that of an environment. This shape has the fields of both, so it suits clients of either.
const deployAnswer = Named(
  'DeployedEnvironment',
  Type.Intersect([planOrStatus, DeployedEnvironmentAsService]),
  `The status of the environment, with the fields of a service's status for older clients.`,
);

export const deployEnvironment = operation({
  id: 'deployEnvironment',
  method: 'POST',
  path: `${at}/deploy`,
  tag,
  summary: 'Deploy an environment',
  description: `
    Deploys all services that are not skipped, stage by stage, each at the newest commit of its branch or its
    configured version. Those that are unchanged stay as they are. If one fails, later stages are not deployed. Helm
    charts have to be skipped on the cluster \`Local\`.

    The request waits for its turn; a waiting one of the same caller and action is merged with it. \`dry_run\` only
    returns the plan.

    | Code | Cause | Remedy |
    |---|---|---|
    | \`BILLING_RESTRICTION\` (403) | The organization may not deploy on this cluster. | Settle its billing. |
    | \`CLUSTER_NOT_DEPLOYED\` (409) | The cluster is only recorded. | Use another cluster. |
  `,
  scope: 'DEPLOY',
  target: 'environment',
  query: DryRun,
  status: 202,
  response: deployAnswer,
  errors: [400, 409],
});

export const redeployEnvironment = operation({
  id: 'redeployEnvironment',
  event: 'TRIGGER_REDEPLOY',
  method: 'POST',
  path: `${at}/redeploy`,
  tag,
  summary: 'Redeploy an environment',
  description: `
    Deploys again all services that are not skipped, at the deployed commits or configured versions, with the current
    configuration and variables. Those that are unchanged stay as they are; lifecycle jobs run \`on_start\` again. The
    request waits for its turn. \`dry_run\` only returns the plan.
  `,
  scope: 'DEPLOY',
  target: 'environment',
  query: DryRun,
  status: 202,
  response: planOrStatus,
  errors: [400, 409],
});

export const stopEnvironment = operation({
  id: 'stopEnvironment',
  method: 'POST',
  path: `${at}/stop`,
  tag,
  summary: 'Stop an environment',
  description: `
    Stops all services that are not skipped, in the reverse order of the stages; volumes and configuration stay.
    Lifecycle jobs run \`on_stop\`. Deploy to start again. The request waits for its turn. \`dry_run\` only returns the
    plan.
  `,
  scope: 'DEPLOY',
  target: 'environment',
  query: DryRun,
  status: 202,
  response: planOrStatus,
  errors: [400, 409],
});

export const cancelEnvironmentDeployment = operation({
  id: 'cancelEnvironmentDeployment',
  method: 'POST',
  path: `${at}/cancelDeployment`,
  tag,
  summary: 'Cancel the deployment of an environment',
  description: `
    Cancels the deployment that runs: services in progress return to their former release, those that are done or have
    not begun stay as they are. Waiting requests stay in the queue. The answer comes at once, with CANCELING. A running
    job is awaited unless \`force_cancel\` kills it, also in a second request.

    | Code | Cause | Remedy |
    |---|---|---|
    | \`NOTHING_TO_CANCEL\` (409) | Nothing runs, or it is being canceled. | Withdraw waiting requests instead. |
  `,
  scope: 'DEPLOY',
  target: 'environment',
  body: Named(
    'CancelEnvironmentDeploymentRequest',
    Type.Object({
      force_cancel: Type.Optional(about('Kill what runs, instead of waiting for it to end.', Type.Boolean({ default: false }))),
    }),
    'How to cancel a deployment.',
  ),
  bodyRequired: false,
  status: 202,
  response: EnvironmentStatus,
  errors: [400, 409],
});

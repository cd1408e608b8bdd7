import Type from 'typebox';
import { operation } from '../operation.ts';
import { Uuid, Words, Named } from '../shape.ts';
import { ServiceStatus } from '../shared/deployment.ts';
import { gitVerdicts } from './event.ts';

const organization = '/organization/{organizationId}' as const;

const body = Named(
  'AutoDeployRequest',
  Type.Object({
    /** The image name as stored in services, optionally prefixed with the host of the container registry. */
    image_name: Type.String({ minLength: 1, maxLength: 500 }),
    tag: Type.String({ pattern: '^(\\w[\\w.-]{0,127}|sha256:[0-9a-f]{64})$' }),
  }),
);

/** The status of the first service that is deployed, plus the outcome for each service. */
const response = Named(
  'AutoDeployOutcome',
  Type.Intersect([
    ServiceStatus,
    Type.Object({
      verdicts: Type.Array(
        Named(
          'AutoDeployVerdict',
          Type.Object({
            service_id: Uuid,
            service_name: Type.String(),
            environment_id: Uuid,
            environment_name: Type.String(),
            verdict: Words(gitVerdicts),
            reason: Type.String(),
          }),
        ),
      ),
    }),
  ]),
);

const shared = { method: 'POST', target: 'organization', body, status: 202, response, errors: [400, 409] } as const;

export const autoDeployContainerEnvironments = operation({
  ...shared,
  id: 'autoDeployContainerEnvironments',
  path: `${organization}/container/deploy`,
  tag: 'Container',
  summary: 'Deploy all containers of an image that have auto_deploy, at a new tag; 404 if there is none',
  scope: 'DEPLOY',
});

export const previewContainerEnvironments = operation({
  ...shared,
  id: 'previewContainerEnvironments',
  path: `${organization}/container/preview`,
  tag: 'Container',
  summary:
    'Create previews of the environments with containers of an image that have auto_preview, at a tag; 404 if there is none',
  scope: 'WRITE',
  event: 'CLONE',
});

export const autoDeployJobEnvironments = operation({
  ...shared,
  id: 'autoDeployJobEnvironments',
  path: `${organization}/job/deploy`,
  tag: 'Job',
  summary: 'Deploy all jobs of an image that have auto_deploy, at a new tag; 404 if there is none',
  scope: 'DEPLOY',
});

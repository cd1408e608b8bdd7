import Type from 'typebox';
import { operation } from '../operation.ts';
import { about, Named, Uuid, Words } from '../shape.ts';
import { ServiceStatus } from '../shared/status.ts';
import { gitVerdicts } from './event.ts';

const organization = '/organization/{organizationId}' as const;

const body = Named(
  'AutoDeployRequest',
  Type.Object({
    /** The image name as stored in services, optionally prefixed with the host of the container registry. */
    image_name: about(
      'The image, as services have it, or with the host of the registry before it.',
      Type.String({ minLength: 1, maxLength: 500 }),
    ),
    tag: about('The new tag, or a digest.', Type.String({ pattern: '^(\\w[\\w.-]{0,127}|sha256:[0-9a-f]{64})$' })),
  }),
  'A tag of an image that was pushed.',
);

/** The status of the first service that is deployed, plus the outcome for each service. */
const response = Named(
  'AutoDeployOutcome',
  Type.Intersect([
    ServiceStatus,
    Type.Object({
      verdicts: about(
        'What was done for each service of the image.',
        Type.Array(
          Named(
            'AutoDeployVerdict',
            Type.Object({
              service_id: about('The `id` of the service.', Uuid),
              service_name: about('The name of the service.', Type.String()),
              environment_id: about('The environment of the service.', Uuid),
              environment_name: about('The name of the environment.', Type.String()),
              verdict: Words(gitVerdicts),
              reason: about('Why, as a sentence.', Type.String()),
            }),
            'What was done for one service, and why.',
          ),
        ),
      ),
    }),
  ]),
  'The status of the first service, and what was done for each.',
);

const shared = { method: 'POST', target: 'organization', body, status: 202, response, errors: [400, 409] } as const;

export const autoDeployContainerEnvironments = operation({
  ...shared,
  id: 'autoDeployContainerEnvironments',
  path: `${organization}/container/deploy`,
  tag: 'Container',
  summary: 'Deploy a new tag of an image',
  description: `
    Deploys the containers of the image that have \`auto_deploy\` at the tag, which becomes their configured one: one
    deployment for each environment. Stopped, skipped and never deployed ones stay as they are. A build server calls
    this after a push. If there is nothing to deploy, the answer is 404, with reasons.
  `,
  scope: 'DEPLOY',
});

export const previewContainerEnvironments = operation({
  ...shared,
  id: 'previewContainerEnvironments',
  path: `${organization}/container/preview`,
  tag: 'Container',
  summary: 'Create previews for a tag of an image',
  description: `
    Copies each environment with containers of the image that have \`auto_preview\`, and deploys the copies at the
    tag. An existing preview of the tag is deployed again. Previews are deleted a week after their last deployment, by
    default. If there is no such container, the answer is 404, with reasons.
  `,
  scope: 'WRITE',
  event: 'CLONE',
});

export const autoDeployJobEnvironments = operation({
  ...shared,
  id: 'autoDeployJobEnvironments',
  path: `${organization}/job/deploy`,
  tag: 'Job',
  summary: 'Deploy a new tag of an image of jobs',
  description: `
    Deploys the jobs of the image that have \`auto_deploy\` at the tag, which becomes their configured one: one
    deployment for each environment. Stopped, skipped and never deployed ones stay as they are. If there is nothing
    to deploy, the answer is 404, with reasons.
  `,
  scope: 'DEPLOY',
});

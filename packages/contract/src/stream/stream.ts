import Type, { type TSchema } from 'typebox';
import { operation } from '../operation.ts';
import { about, Optionals, Uuid } from '../shape.ts';
import { streamControls, streamEvents, streamKinds, type StreamKind } from './events.ts';

const pattern = `^(${streamKinds.join('|')})(,(${streamKinds.join('|')}))*$`;
const maxIds = 100;
/** The rule checks that each id is a uuid: its error message is clearer than that of a pattern. */
const uuids = { pattern: '^[0-9a-fA-F,-]+$', maxLength: maxIds * 37 } as const;

/** Returns the shapes of the events that a stream of these kinds may send. */
function only(...kinds: readonly StreamKind[]): Record<string, TSchema> {
  return { ...streamControls, ...Object.fromEntries(kinds.map((kind) => [kind, streamEvents[kind]])) };
}

export const streamOrganization = operation({
  id: 'streamOrganization',
  method: 'GET',
  path: '/organization/{organizationId}/stream',
  tag: 'Stream',
  summary: 'Follow what happens in an organization',
  description: `
    Sends the events of all environments that you may read, live, until you disconnect. Without \`kinds\` all but the
    logs are sent. Read what you display after \`OPEN\`, so that nothing is missed. Send the last id as
    \`Last-Event-ID\` to resume: each later event comes once.

    | Code | Cause | Remedy |
    |---|---|---|
    | \`TOO_MANY_STREAMS\` (429) | The token has too many streams open. | Close one, or use one for all. |
  `,
  scope: 'READ',
  target: 'organization',
  query: Optionals({
    kinds: Type.String({
      pattern,
      maxLength: 200,
      description: `Which events, separated by commas: ${streamKinds.join(', ')}. Default: all but the two logs`,
    }),
    projectId: about('Only events of this project.', Uuid),
    environmentId: Type.String({
      ...uuids,
      description: `Only events of these environments, separated by commas; at most ${maxIds}`,
    }),
    serviceId: Type.String({
      ...uuids,
      description: `Only events of these services, separated by commas; at most ${maxIds}. Events of whole environments and deployments are omitted`,
    }),
  }),
  status: 200,
  response: null,
  events: only(...streamKinds),
  errors: [400],
});

export const streamDeployment = operation({
  id: 'streamDeployment',
  method: 'GET',
  path: '/deploymentQueue/{deploymentRequestId}/stream',
  tag: 'Stream',
  summary: 'Follow a deployment',
  description: `
    Sends the state of a deployment request, the log so far, then everything live from the queue to the end of the
    deployment, and ends with \`END\`. \`Last-Event-ID\` resumes.
  `,
  scope: 'READ',
  target: 'deploymentRequest',
  status: 200,
  response: null,
  events: only('QUEUE', 'DEPLOYMENT', 'SERVICE_STATE', 'STEP', 'DEPLOYMENT_LOG'),
  errors: [],
});

export const streamServiceLog = operation({
  id: 'streamServiceLog',
  method: 'GET',
  path: '/service/{serviceId}/log/stream',
  tag: 'Stream',
  summary: 'Follow the log of a service',
  description: `
    Sends the newest lines that the service printed, then each new one, until you disconnect. \`Last-Event-ID\`
    resumes after a line.
  `,
  scope: 'READ',
  target: 'service',
  query: Optionals({
    tail: Type.Integer({ minimum: 0, maximum: 1000, default: 100, description: 'Number of earlier lines' }),
  }),
  status: 200,
  response: null,
  events: only('SERVICE_LOG'),
  errors: [400],
});

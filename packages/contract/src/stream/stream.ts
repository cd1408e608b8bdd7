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
    Sends the events of all environments that you may read, live, until you disconnect. Read what you display after
    \`OPEN\`, so that nothing is missed.

    To resume, reconnect with the last id as \`Last-Event-ID\`: each later event comes once. After \`RESET\`, read everything
    again. If your rights end, the stream ends with \`END\`.

    | Code | Cause | Remedy |
    |---|---|---|
    | \`TOO_MANY_STREAMS\` (429) | The token has too many streams open. | Close one, or follow the organization with one. |
    

  `,
  scope: 'READ',
  target: 'organization',
  query: Optionals({
    kinds: Type.String({
      pattern,
      maxLength: 200,
      description: `Which events, separated by commas: ${streamKinds.join(', ')}. Default: all but the two logs.`,
    }),
    projectId: about('Only events of this project.', Uuid),
    environmentId: Type.String({
      ...uuids,
      description: `Only events of these environments, separated by commas; at most ${maxIds}.`,
    }),
    serviceId: Type.String({
      ...uuids,
      description: `Only events of these services, separated by commas; at most ${maxIds}. Events of whole environments and deployments are omitted.`,
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
    Sends the state of a deployment request, the log so far, then everything live from the queue to the end of the deployment,
    and ends with \`END\`.

    To resume, reconnect with the last id as \`Last-Event-ID\`.

    | Code | Cause | Remedy |
    |---|---|---|
    | \`TOO_MANY_STREAMS\` (429) | The token has too many streams open. | Close one, or follow the organization with one. |
    

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
    Sends the newest \`tail\` lines that the instances of the service printed, then each new line, until you disconnect.

    To resume after a line, reconnect with its id as \`Last-Event-ID\`.

    | Code | Cause | Remedy |
    |---|---|---|
    | \`TOO_MANY_STREAMS\` (429) | The token has too many streams open. | Close one, or follow the organization with one. |
    

  `,
  scope: 'READ',
  target: 'service',
  query: Optionals({
    tail: Type.Integer({ minimum: 0, maximum: 1000, default: 100, description: 'How many earlier lines to send first.' }),
  }),
  status: 200,
  response: null,
  events: only('SERVICE_LOG'),
  errors: [400],
});

import Type, { type TSchema } from 'typebox';
import { operation } from '../operation.ts';
import { Optionals, Uuid } from '../shape.ts';
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
  summary: 'Follow what happens in an organization, live; resumable with `Last-Event-ID`',
  scope: 'READ',
  target: 'organization',
  query: Optionals({
    kinds: Type.String({
      pattern,
      maxLength: 200,
      description: `Which events, separated by commas: ${streamKinds.join(', ')}. Default: all but the two logs`,
    }),
    projectId: Uuid,
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
  summary: 'Follow a deployment request and its deployment to the end: the log so far, then everything live',
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
  summary: 'Follow the output of a service: its newest lines, then everything live',
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

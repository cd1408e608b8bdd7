import Type from 'typebox';
import { operation } from '../operation.ts';
import { DateTime, Nullable, Optionals, Uuid, Words, Named } from '../shape.ts';
import { eventSubTargets, eventTargets, eventTypes } from '../shared/events.ts';
import { origins } from '../shared/words.ts';

export const OrganizationEvent = Named(
  'OrganizationEvent',
  Type.Object({
    id: Uuid,
    timestamp: DateTime,
    event_type: Words(eventTypes),
    target_id: Nullable(Uuid),
    target_name: Type.String(),
    target_type: Words(eventTargets),
    sub_target_type: Nullable(Words(eventSubTargets)),
    /** JSON of the record after the change, with secrets masked; empty if the record no longer exists. */
    change: Type.String(),
    /** JSON of the record before the change. */
    original_change: Nullable(Type.String()),
    origin: Words(origins),
    triggered_by: Type.String(),
    project_id: Nullable(Uuid),
    project_name: Type.String(),
    environment_id: Nullable(Uuid),
    environment_name: Type.String(),
    user_agent: Nullable(Type.String()),
    /** IP address of the caller; null for actions of Davit itself. */
    address: Nullable(Type.String()),
    /** Id of the operation, for example `createProject`. */
    operation: Nullable(Type.String()),
  }),
);

const range = {
  fromTimestamp: Type.String({ description: 'ISO 8601, or seconds since 1970' }),
  toTimestamp: Type.String({ description: 'ISO 8601, or seconds since 1970' }),
  eventType: Words(eventTypes),
  targetType: Words(eventTargets),
  triggeredBy: Type.String({ description: 'Name of the token' }),
  origin: Words(origins),
};

export const getOrganizationEvents = operation({
  id: 'getOrganizationEvents',
  method: 'GET',
  path: '/organization/{organizationId}/events',
  tag: 'Organization',
  summary: 'Read the audit log: who changed what, when and from where; newest first',
  scope: 'READ',
  target: 'organization',
  query: Optionals({
    ...range,
    pageSize: Type.Integer({ minimum: 1, maximum: 1000, default: 10 }),
    continueToken: Type.String(),
    stepBackToken: Type.String(),
    targetId: Uuid,
    subTargetType: Words(eventSubTargets),
    serviceProjectId: Uuid,
    serviceEnvironmentId: Uuid,
  }),
  status: 200,
  response: Named(
    'OrganizationEventPage',
    Type.Object({
      links: Named(
        'OrganizationEventLinks',
        Optionals({ previous: Type.String({ format: 'uri-reference' }), next: Type.String({ format: 'uri-reference' }) }),
      ),
      /** True if the requested period begins before the retention period of the plan. */
      organization_max_limit_reached: Type.Boolean(),
      events: Type.Array(OrganizationEvent),
    }),
  ),
  errors: [400],
});

export const getOrganizationEventTargets = operation({
  id: 'getOrganizationEventTargets',
  method: 'GET',
  path: '/organization/{organizationId}/targets',
  tag: 'Organization',
  summary: 'List the targets that have events in the audit log, with their latest names',
  scope: 'READ',
  target: 'organization',
  query: Optionals({
    ...range,
    projectId: Uuid,
    environmentId: Uuid,
    targetLevelToFetch: Words(['PROJECT', 'ENVIRONMENT']),
  }),
  status: 200,
  response: Named(
    'OrganizationEventTargets',
    Type.Object({ targets: Type.Array(Named('OrganizationEventTarget', Type.Object({ id: Uuid, name: Type.String() }))) }),
  ),
  errors: [400],
});

import Type from 'typebox';
import { operation } from '../operation.ts';
import { about, DateTime, Named, Nullable, Optionals, Uuid, Words } from '../shape.ts';
import { eventSubTargets, eventTargets, eventTypes } from '../shared/events.ts';
import { origins } from '../shared/deployment-words.ts';

export const OrganizationEvent = Named(
  'OrganizationEvent',
  Type.Object({
    id: about('Identifies it; it never changes.', Uuid),
    timestamp: about('When it was done.', DateTime),
    event_type: Words(eventTypes),
    target_id: about('The record; null if it has none.', Nullable(Uuid)),
    target_name: about('The name of the record at that time.', Type.String()),
    target_type: Words(eventTargets),
    sub_target_type: about('The part of the record; null: the record itself.', Nullable(Words(eventSubTargets))),
    /** JSON of the record after the change, with secrets masked; empty if the record no longer exists. */
    change: about('The record afterwards, as JSON without secrets; empty if it is gone.', Type.String()),
    /** JSON of the record before the change. */
    original_change: about('The record before, as JSON without secrets; null: it was created.', Nullable(Type.String())),
    origin: Words(origins),
    triggered_by: about('The name of the person or API token.', Type.String()),
    project_id: about('The project of the record; null: none.', Nullable(Uuid)),
    project_name: about('The name of the project; may be empty.', Type.String()),
    environment_id: about('The environment of the record; null: none.', Nullable(Uuid)),
    environment_name: about('The name of the environment; may be empty.', Type.String()),
    user_agent: about('The program that was used; null: unknown.', Nullable(Type.String())),
    /** IP address of the caller; null for actions of Davit itself. */
    address: about('The IP address of the caller; null: Davit itself.', Nullable(Type.String())),
    /** Id of the operation, for example `createProject`. */
    operation: about('The operation, such as `createProject`; null: none.', Nullable(Type.String())),
  }),
  'Something that was done: who, what, when and from where.',
);

const range = {
  fromTimestamp: about(
    'Events from then on: ISO 8601, or seconds since 1970.',
    Type.String({ description: 'ISO 8601, or seconds since 1970' }),
  ),
  toTimestamp: about(
    'Events until then: ISO 8601, or seconds since 1970.',
    Type.String({ description: 'ISO 8601, or seconds since 1970' }),
  ),
  eventType: about('Only events of this type.', Words(eventTypes)),
  targetType: about('Only events of this type of record.', Words(eventTargets)),
  triggeredBy: about('Only events by this name of a person or API token.', Type.String({ description: 'Name of the token' })),
  origin: about('Only events that came this way.', Words(origins)),
};

export const getOrganizationEvents = operation({
  id: 'getOrganizationEvents',
  method: 'GET',
  path: '/organization/{organizationId}/events',
  tag: 'Organization',
  summary: 'Read the audit log',
  description: `
    Returns who changed what, when and from where, newest first. Events are kept for 30 days; secrets are masked. Follow
    \`links\` to other pages, or send \`continueToken\` or \`stepBackToken\` from there.

  `,
  scope: 'READ',
  target: 'organization',
  query: Optionals({
    ...range,
    pageSize: about('How many events a page has.', Type.Integer({ minimum: 1, maximum: 1000, default: 10 })),
    continueToken: about('Continues with older events, from `links.next`.', Type.String()),
    stepBackToken: about('Goes back to newer events, from `links.previous`.', Type.String()),
    targetId: about('Only events of this record.', Uuid),
    subTargetType: about('Only events of this part of records.', Words(eventSubTargets)),
    serviceProjectId: about('Only events in this project.', Uuid),
    serviceEnvironmentId: about('Only events in this environment.', Uuid),
  }),
  status: 200,
  response: Named(
    'OrganizationEventPage',
    Type.Object({
      links: Named(
        'OrganizationEventLinks',
        Optionals({
          previous: about('The path of the page with newer events. Absent: none.', Type.String({ format: 'uri-reference' })),
          next: about('The path of the page with older events. Absent: none.', Type.String({ format: 'uri-reference' })),
        }),
        'The pages before and after.',
      ),
      /** True if the requested period begins before the retention period of the plan. */
      organization_max_limit_reached: about(
        'Whether `fromTimestamp` is earlier than the oldest events that are kept.',
        Type.Boolean(),
      ),
      events: about('The events, newest first.', Type.Array(OrganizationEvent)),
    }),
    'A page of the audit log.',
  ),
  errors: [400],
});

export const getOrganizationEventTargets = operation({
  id: 'getOrganizationEventTargets',
  method: 'GET',
  path: '/organization/{organizationId}/targets',
  tag: 'Organization',
  summary: 'List the records in the audit log',
  description: `
    Returns the records that have events, deleted ones included, with their latest names: the choices for a filter of the
    audit log.
  `,
  scope: 'READ',
  target: 'organization',
  query: Optionals({
    ...range,
    projectId: about('Only records in this project.', Uuid),
    environmentId: about('Only records in this environment.', Uuid),
    targetLevelToFetch: about(
      'Return their projects or environments instead.',
      Words({ PROJECT: 'The projects of the records.', ENVIRONMENT: 'The environments of the records.' }),
    ),
  }),
  status: 200,
  response: Named(
    'OrganizationEventTargets',
    Type.Object({
      targets: about(
        'The records, by name.',
        Type.Array(
          Named(
            'OrganizationEventTarget',
            Type.Object({ id: about('The `id` of the record.', Uuid), name: about('Its latest name.', Type.String()) }),
            'A record that has events.',
          ),
        ),
      ),
    }),
    'Records that have events.',
  ),
  errors: [400],
});

import Type from 'typebox';
import { operation } from '../operation.ts';
import { about, DateTime, List, Named, Nullable, Text, Uuid, Words } from '../shape.ts';
import { environmentModes } from '../shared/words.ts';
import { webhookEvents, webhookKinds } from '../shared/events.ts';

export const Webhook = Named(
  'Webhook',
  Type.Object({
    id: about('Identifies it; it never changes.', Uuid),
    created_at: about('When it was created.', DateTime),
    updated_at: Type.Optional(about('When it was last changed.', DateTime)),
    kind: Type.Optional(Words(webhookKinds)),
    target_url: Type.Optional(about('The URL that gets the notifications.', Type.String())),
    target_secret_set: Type.Optional(about('Whether notifications are signed with a secret.', Type.Boolean())),
    description: Type.Optional(about('What it is for; may be empty.', Type.String())),
    enabled: Type.Optional(about('Whether notifications are sent.', Type.Boolean())),
    events: Type.Optional(about('The events that are sent.', Type.Array(Words(webhookEvents)))),
    project_names_filter: Type.Optional(about('Only projects whose name matches one; empty: all.', Type.Array(Type.String()))),
    environment_types_filter: Type.Optional(
      about('Only environments of these modes; empty: all.', Type.Array(Words(environmentModes))),
    ),
  }),
  'A URL that is notified of deployments. Its secret is never shown.',
);

const required = {
  target_url: about(
    'An http or https URL; the operator may forbid private addresses.',
    Type.String({ minLength: 1, maxLength: 2000 }),
  ),
  events: about('The events to send.', Type.Array(Words(webhookEvents), { minItems: 1, maxItems: 100 })),
};
const optional = {
  // The secret is sent as a header.
  target_secret: Type.Optional(
    about(
      'Sent as `Service-Signature`, and signs the body; null or empty: none.',
      Nullable(Type.String({ maxLength: 1000, pattern: '^[\\x21-\\x7e]*$' })),
    ),
  ),
  description: Type.Optional(about('What it is for; null: empty.', Nullable(Text))),
  enabled: Type.Optional(
    about('Whether to send notifications. False also discards those that wait.', Type.Boolean({ default: true })),
  ),
  project_names_filter: Type.Optional(
    about(
      'Only projects whose name matches one, regardless of case; `*` stands for any text. null: all.',
      Nullable(Type.Array(Type.String({ minLength: 1, maxLength: 255 }), { maxItems: 100 })),
    ),
  ),
  environment_types_filter: Type.Optional(
    about('Only environments of these modes; null: all.', Nullable(Type.Array(Words(environmentModes), { maxItems: 100 }))),
  ),
};

const tag = 'Webhook';

export const listOrganizationWebHooks = operation({
  id: 'listOrganizationWebHooks',
  method: 'GET',
  path: '/organization/{organizationId}/webhook',
  tag,
  summary: 'List the webhooks of an organization',
  description: `
    Returns the webhooks, oldest first, with their URLs, events and filters. Secrets are never shown; \`target_secret_set\` says
    whether there is one.
  `,
  scope: 'READ',
  target: 'organization',
  status: 200,
  response: List(Webhook),
  errors: [],
});

export const createOrganizationWebhook = operation({
  id: 'createOrganizationWebhook',
  method: 'POST',
  path: '/organization/{organizationId}/webhook',
  tag,
  summary: 'Create a webhook',
  description: `
    Creates a webhook: a URL that is notified when deployments start and end. With a secret, \`Service-Signature-256\` is the
    hex HMAC-SHA-256 of the body. A notification is sent at least once, and up to ten times over about a day until the
    response is 2xx within 10 seconds.

    | Code | Cause | Remedy |
    |---|---|---|
    | \`VALIDATION_FAILED\` (400) | The URL is private, or has a password. | Use a public URL. |

  `,
  scope: 'WRITE',
  target: 'organization',
  body: Named(
    'WebhookRequest',
    Type.Object({
      ...required,
      kind: Type.Optional(Words(webhookKinds, { default: 'STANDARD' })),
      ...optional,
    }),
    'A webhook to create.',
  ),
  status: 201,
  response: Webhook,
  errors: [400],
});

export const getOrganizationWebhook = operation({
  id: 'getOrganizationWebhook',
  method: 'GET',
  path: '/organization/{organizationId}/webhook/{webhookId}',
  tag,
  summary: 'Read a webhook',
  description: `
    Returns the URL, the events and the filters of the webhook. Its secret is never shown; \`target_secret_set\` says whether
    there is one.
  `,
  scope: 'READ',
  target: 'organization',
  status: 200,
  response: Webhook,
  errors: [],
});

export const editOrganizationWebhook = operation({
  id: 'editOrganizationWebhook',
  method: 'PUT',
  path: '/organization/{organizationId}/webhook/{webhookId}',
  tag,
  summary: 'Edit a webhook',
  description: `
    Replaces the URL, the kind and the events; other fields that you leave out stay. Notifications that wait go to the new
    URL.

    | Code | Cause | Remedy |
    |---|---|---|
    | \`VALIDATION_FAILED\` (400) | The URL changes: a stored secret goes to no other one. | Send \`target_secret\` again. |

  `,
  scope: 'WRITE',
  target: 'organization',
  body: Named(
    'WebhookEditRequest',
    Type.Object({ ...required, kind: Words(webhookKinds), ...optional }),
    'The new fields of a webhook. Optional fields that you leave out stay.',
  ),
  status: 200,
  response: Webhook,
  errors: [400],
});

export const deleteOrganizationWebhook = operation({
  id: 'deleteOrganizationWebhook',
  method: 'DELETE',
  path: '/organization/{organizationId}/webhook/{webhookId}',
  tag,
  summary: 'Delete a webhook',
  description: `
    Deletes the webhook with its list of deliveries. Notifications that wait to be delivered are discarded. This cannot be
    undone.
  `,
  scope: 'WRITE',
  target: 'organization',
  status: 204,
  response: null,
  errors: [],
});

export const listWebhookEvent = operation({
  id: 'listWebhookEvent',
  method: 'GET',
  path: '/organization/{organizationId}/webhook/{webhookId}/event',
  tag,
  summary: 'List the deliveries of a webhook',
  description: `
    Returns each attempt to deliver, newest first, with the request and the response: the place to look when notifications are
    missing. Attempts are kept for 30 days.
  `,
  scope: 'READ',
  target: 'organization',
  status: 200,
  response: List(
    Named(
      'WebhookEvent',
      Type.Object({
        id: about('Identifies it; it never changes.', Uuid),
        created_at: about('When the attempt ended.', DateTime),
        kind: Words(webhookKinds),
        matched_event: Words(webhookEvents),
        target_url_used: about('The URL that was called.', Type.String({ format: 'uri' })),
        /** Headers and body of the request, without the signatures. */
        request: about('Headers and body that were sent, without signatures.', Type.Object({}, { additionalProperties: true })),
        /** 0: no response was received; `target_response_body` gives the reason. */
        target_response_status_code: about('The status of the response; 0: there was none.', Type.Integer()),
        target_response_body: about('The first 4096 bytes of the response, or why there was none.', Nullable(Type.String())),
      }),
      'One attempt to deliver a notification.',
    ),
  ),
  errors: [],
});

export const redeliverWebhookEvent = operation({
  id: 'redeliverWebhookEvent',
  method: 'POST',
  path: '/organization/{organizationId}/webhook/{webhookId}/event/{webhookEventId}/redeliver',
  tag,
  summary: 'Deliver a notification again',
  description: `
    Delivers the event of an attempt again, with ten new attempts and the same \`Service-Delivery\`, by which receivers
    recognize it. A running delivery is not repeated.


    | Code | Cause | Remedy |
    |---|---|---|
    | \`WEBHOOK_DISABLED\` (409) | The webhook is switched off. | Switch it on. |
  `,
  scope: 'WRITE',
  target: 'organization',
  status: 202,
  response: null,
  errors: [409],
});

import Type from 'typebox';
import { operation } from '../operation.ts';
import { DateTime, List, Nullable, Text, Uuid, Words, Named } from '../shape.ts';
import { environmentModes } from '../shared/words.ts';
import { webhookEvents, webhookKinds } from '../shared/events.ts';

export const Webhook = Named(
  'Webhook',
  Type.Object({
    id: Uuid,
    created_at: DateTime,
    updated_at: Type.Optional(DateTime),
    kind: Type.Optional(Words(webhookKinds)),
    target_url: Type.Optional(Type.String()),
    target_secret_set: Type.Optional(Type.Boolean()),
    description: Type.Optional(Type.String()),
    enabled: Type.Optional(Type.Boolean()),
    events: Type.Optional(Type.Array(Words(webhookEvents))),
    project_names_filter: Type.Optional(Type.Array(Type.String())),
    environment_types_filter: Type.Optional(Type.Array(Words(environmentModes))),
  }),
);

const required = {
  target_url: Type.String({ minLength: 1, maxLength: 2000 }),
  events: Type.Array(Words(webhookEvents), { minItems: 1, maxItems: 100 }),
};
const optional = {
  // The secret is sent as a header.
  target_secret: Type.Optional(Nullable(Type.String({ maxLength: 1000, pattern: '^[\\x21-\\x7e]*$' }))),
  description: Type.Optional(Nullable(Text)),
  enabled: Type.Optional(Type.Boolean({ default: true })),
  project_names_filter: Type.Optional(Nullable(Type.Array(Type.String({ minLength: 1, maxLength: 255 }), { maxItems: 100 }))),
  environment_types_filter: Type.Optional(Nullable(Type.Array(Words(environmentModes), { maxItems: 100 }))),
};

const tag = 'Webhook';

export const listOrganizationWebHooks = operation({
  id: 'listOrganizationWebHooks',
  method: 'GET',
  path: '/organization/{organizationId}/webhook',
  tag,
  summary: 'List the webhooks of an organization, without their secrets',
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
  summary: 'Create a webhook: a URL that is notified of deployments',
  scope: 'WRITE',
  target: 'organization',
  body: Named(
    'WebhookRequest',
    Type.Object({ ...required, kind: Type.Optional(Words(webhookKinds, { default: 'STANDARD' })), ...optional }),
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
  summary: 'Read a webhook, without its secret',
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
  summary: 'Edit a webhook; without `target_secret` its secret stays',
  scope: 'WRITE',
  target: 'organization',
  body: Named('WebhookEditRequest', Type.Object({ ...required, kind: Words(webhookKinds), ...optional })),
  status: 200,
  response: Webhook,
  errors: [400],
});

export const deleteOrganizationWebhook = operation({
  id: 'deleteOrganizationWebhook',
  method: 'DELETE',
  path: '/organization/{organizationId}/webhook/{webhookId}',
  tag,
  summary: 'Delete a webhook; its pending deliveries are discarded',
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
  summary: 'List the attempts to deliver to a webhook, newest first',
  scope: 'READ',
  target: 'organization',
  status: 200,
  response: List(
    Named(
      'WebhookEvent',
      Type.Object({
        id: Uuid,
        created_at: DateTime,
        kind: Words(webhookKinds),
        matched_event: Words(webhookEvents),
        target_url_used: Type.String({ format: 'uri' }),
        /** Headers and body of the request, without the signatures. */
        request: Type.Object({}, { additionalProperties: true }),
        /** 0: no response was received; `target_response_body` gives the reason. */
        target_response_status_code: Type.Integer(),
        target_response_body: Nullable(Type.String()),
      }),
    ),
  ),
  errors: [],
});

export const redeliverWebhookEvent = operation({
  id: 'redeliverWebhookEvent',
  method: 'POST',
  path: '/organization/{organizationId}/webhook/{webhookId}/event/{webhookEventId}/redeliver',
  tag,
  summary: 'Deliver the event of an attempt again, with ten new attempts and the same `Service-Delivery`',
  scope: 'WRITE',
  target: 'organization',
  status: 202,
  response: null,
  errors: [409],
});

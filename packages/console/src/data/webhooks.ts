import { ApiError, type CallAnswer, type CallInput } from '@davit/client';
import { queryOptions } from '@tanstack/react-query';
import { api } from '../api.ts';

export type Webhook = CallAnswer<'listOrganizationWebHooks'>['results'][number];
export type WebhookRequest = CallInput<'editOrganizationWebhook'>['body'];
export type Delivery = CallAnswer<'listWebhookEvent'>['results'][number];

export const webhooksOf = (organizationId: string) =>
  queryOptions({
    queryKey: ['webhooks', organizationId],
    queryFn: async ({ signal }) => (await api().call('listOrganizationWebHooks', { params: { organizationId }, signal })).results,
  });

/** The newest attempts to deliver to a webhook. */
export const deliveriesOf = (organizationId: string, webhookId: string) =>
  queryOptions({
    queryKey: ['deliveries', organizationId, webhookId],
    queryFn: async ({ signal }) =>
      (await api().call('listWebhookEvent', { params: { organizationId, webhookId }, signal })).results,
  });

/**
 * Whether the session may edit webhooks: null if it may, otherwise the reason. The server is asked to create a webhook
 * without events: if the session may create one, the server refuses the body, and nothing is created.
 */
export const webhookRefusalIn = (organizationId: string) =>
  queryOptions({
    queryKey: ['webhookRefusal', organizationId],
    staleTime: 60_000,
    queryFn: async ({ signal }): Promise<string | null> => {
      try {
        const body = { target_url: '', events: [] };
        await api().call('createOrganizationWebhook', { params: { organizationId }, body, signal });
        return null;
      } catch (error) {
        if (error instanceof ApiError && error.status === 403) return error.message;
        if (error instanceof ApiError && error.status === 400) return null;
        throw error;
      }
    },
  });

/** Creates a webhook, or edits this one, if nobody else has changed it since it was read. */
export async function saveWebhook(organizationId: string, webhook: Webhook | null, body: WebhookRequest): Promise<void> {
  if (webhook === null) {
    await api().call('createOrganizationWebhook', { params: { organizationId }, body });
    return;
  }
  const { id: webhookId, updated_at: ifUpdatedAt } = webhook;
  const params = { organizationId, webhookId };
  await api().call('editOrganizationWebhook', { params, body, ...(ifUpdatedAt !== undefined && { ifUpdatedAt }) });
}

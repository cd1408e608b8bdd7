import { operations } from '@davit/contract';
import type { Needs } from '../../deps.ts';
import type { Mounting } from '../../http/mount.ts';
import * as webhook from './webhook.ts';

export function mountWebhook(mounting: Mounting, deps: Needs<'database' | 'vault', 'allowPrivateTargets'>): void {
  mounting
    .on(operations.listOrganizationWebHooks, ({ caller, params }) => webhook.listWebhooks(deps, caller, params.organizationId))
    .on(operations.createOrganizationWebhook, ({ caller, params, body, basePath }) =>
      webhook.createWebhook(deps, caller, { ...params, basePath }, body),
    )
    .on(operations.getOrganizationWebhook, ({ caller, params }) => webhook.readWebhook(deps, caller, params))
    .on(operations.editOrganizationWebhook, ({ caller, params, body, basePath }) =>
      webhook.editWebhook(deps, caller, { ...params, basePath }, body),
    )
    .on(operations.deleteOrganizationWebhook, ({ caller, params }) => webhook.deleteWebhook(deps, caller, params))
    .on(operations.redeliverWebhookEvent, ({ caller, params }) => webhook.redeliver(deps, caller, params))
    .on(operations.listWebhookEvent, ({ caller, params }) => webhook.listAttempts(deps, caller, params));
}

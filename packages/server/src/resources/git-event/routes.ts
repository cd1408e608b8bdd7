import { operations } from '@davit/contract';
import type { Needs } from '../../deps.ts';
import type { GitEventDeps } from './deps.ts';
import type { Mounting } from '../../http/mount.ts';
import { listCommits, listContributors } from './commits.ts';
import { deployTag, previewTag } from './image.ts';
import { listOrganizationEvents, listServiceEvents } from './ledger.ts';
import { showWebhook } from './webhook.ts';
import { syncWebhook, webhookStatus } from './webhook-status.ts';

export function mountGitEvent(mounting: Mounting, deps: GitEventDeps): void {
  mounting
    .on(operations.listServiceGitEvents, ({ caller, params }) => listServiceEvents(deps, caller, params.serviceId))
    .on(operations.listOrganizationGitEvents, ({ caller, params }) => listOrganizationEvents(deps, caller, params.organizationId))
    .on(operations.createServiceGitWebhook, ({ caller, params, body }) =>
      showWebhook(deps, caller, params.serviceId, body?.rotate ?? false),
    )
    .on(operations.getServiceGitWebhookStatus, ({ caller, params }) => webhookStatus(deps, caller, params.serviceId))
    .on(operations.syncServiceGitWebhook, ({ caller, params }) => syncWebhook(deps, caller, params.serviceId))
    .on(operations.autoDeployContainerEnvironments, ({ caller, params, body }) =>
      deployTag(deps, caller, { ...params, type: 'CONTAINER', request: body }),
    )
    .on(operations.autoDeployJobEnvironments, ({ caller, params, body }) =>
      deployTag(deps, caller, { ...params, type: 'JOB', request: body }),
    )
    .on(operations.previewContainerEnvironments, ({ caller, params, body }) =>
      previewTag(deps, caller, params.organizationId, body),
    );
  mountCommits(mounting, deps);
}

function mountCommits(mounting: Mounting, deps: Needs<'database' | 'engine'>): void {
  mounting
    .on(operations.listApplicationCommit, ({ caller, params, query }) =>
      listCommits(deps, caller, { id: params.applicationId, type: 'APPLICATION', ...part(query) }),
    )
    .on(operations.listJobCommit, ({ caller, params, query }) =>
      listCommits(deps, caller, { id: params.jobId, type: 'JOB', ...part(query) }),
    )
    .on(operations.listHelmCommit, ({ caller, params, query }) =>
      listCommits(deps, caller, { id: params.helmId, type: 'HELM', ofValues: query.of === 'values' }),
    )
    .on(operations.listTerraformCommit, ({ caller, params, query }) =>
      listCommits(deps, caller, { id: params.terraformId, type: 'TERRAFORM', ...part(query) }),
    )
    .on(operations.listApplicationContributor, ({ caller, params }) => listContributors(deps, caller, params.applicationId));
}

function part({ startId, gitCommitId }: { readonly startId?: string | undefined; readonly gitCommitId?: string | undefined }) {
  return { startId, onlyId: gitCommitId };
}

import { ApiError, type CallAnswer } from '@davit/client';
import { queryOptions } from '@tanstack/react-query';
import { api } from '../api.ts';
import type { Service, ServiceType } from '../words.ts';

export type GitEvent = CallAnswer<'listServiceGitEvents'>['results'][number];
export type GitVerdict = GitEvent['verdicts'][number];
export type WebhookStatus = CallAnswer<'getServiceGitWebhookStatus'>;

/** Returns whether a service is built from a git repository, so that pushes concern it. */
export function hasGitEvents(service: Service): boolean {
  if (service.service_type === 'APPLICATION' || service.service_type === 'TERRAFORM') return true;
  if (service.service_type === 'JOB') return 'docker' in service.source;
  return service.service_type === 'HELM' && service.source.git !== undefined;
}

/** The newest pushes and pull requests of the repository of a service. */
export const gitEventsOf = ({ id, environment }: Service) =>
  queryOptions({
    queryKey: ['gitEvents', environment.id, id],
    queryFn: async ({ signal }) => (await api().call('listServiceGitEvents', { params: { serviceId: id }, signal })).results,
  });

/** Whether the git host reports pushes to Davit; null if the service has no host that could. */
export const webhookStatusOf = ({ id, environment }: Service) =>
  queryOptions({
    queryKey: ['gitWebhookStatus', environment.id, id],
    staleTime: 60_000,
    queryFn: async ({ signal }): Promise<WebhookStatus | null> => {
      try {
        return await api().call('getServiceGitWebhookStatus', { params: { serviceId: id }, signal });
      } catch (error) {
        if (error instanceof ApiError && error.status === 400) return null;
        throw error;
      }
    },
  });

type Deploy = (id: string, git_commit_id: string) => Promise<unknown>;
const deploys: Partial<Record<ServiceType, Deploy>> = {
  APPLICATION: (applicationId, git_commit_id) =>
    api().call('deployApplication', { params: { applicationId }, body: { git_commit_id } }),
  JOB: (jobId, git_commit_id) => api().call('deployJob', { params: { jobId }, body: { git_commit_id } }),
  HELM: (helmId, git_commit_id) => api().call('deployHelm', { params: { helmId }, body: { git_commit_id } }),
  TERRAFORM: (terraformId, git_commit_id) => api().call('deployTerraform', { params: { terraformId }, body: { git_commit_id } }),
};

/** Deploys the commit of a push that did not deploy. */
export async function deployCommit({ id, service_type: type }: Service, commit: string): Promise<void> {
  await deploys[type]?.(id, commit);
}

import { ApiError, type CallAnswer } from '@davit/client';
import { infiniteQueryOptions, MutationCache, notifyManager, QueryCache, QueryClient, queryOptions } from '@tanstack/react-query';
import { api } from '../api.ts';
import { currentSession, forgetSession, onSession } from '../session.ts';
import type { Service, ServiceType } from '../words.ts';

/** A page of the deployments of a service. */
export type ServiceHistory = CallAnswer<'listApplicationDeploymentHistoryV2'>;

/*
 * Everything that pages read. The second part of a key is the id of the record that an event names, so that live events
 * find what they make untrue (live/live.ts).
 */

/** Milliseconds for which answers are collected, so that fifty of them render the page once. */
const collectMilliseconds = 16;
let collected: (() => void)[] = [];
notifyManager.setScheduler((notify) => {
  if (collected.length === 0) setTimeout(notifyAll, collectMilliseconds);
  collected.push(notify);
});

function notifyAll(): void {
  const all = collected;
  collected = [];
  for (const notify of all) notify();
}

function endedBy(error: Error): void {
  // A code of the second factor that is missing or wrong ends no session.
  const isAsked = error instanceof ApiError && error.code === 'SECOND_FACTOR_REQUIRED';
  if (error instanceof ApiError && error.status === 401 && !isAsked) forgetSession(true);
}

export const queries = new QueryClient({
  queryCache: new QueryCache({ onError: endedBy }),
  mutationCache: new MutationCache({ onError: endedBy }),
  defaultOptions: {
    queries: {
      // The stream says when something changes; records without events are read again when the reader comes back.
      staleTime: 10_000,
      networkMode: 'always',
      retry: (count, error) => !(error instanceof ApiError && error.status < 500) && count < 3,
      retryDelay: (count) => Math.min(4000, 500 * 2 ** count),
    },
    mutations: { networkMode: 'always' },
  },
});

/* Another tab, too, may begin the session of another person: nothing that the former one read is shown to the next. */
let session = currentSession();
onSession(() => {
  if (currentSession() === session) return;
  session = currentSession();
  queries.clear();
});

/** Without its organization a page has no stream, so that it asks by itself whether the server answers again. */
const askAgainMilliseconds = 3000;

export const organizations = queryOptions({
  queryKey: ['organizations'],
  refetchInterval: ({ state: { data, status } }: { readonly state: { readonly data: unknown; readonly status: string } }) =>
    data === undefined && status === 'error' ? askAgainMilliseconds : false,
  queryFn: async ({ signal }) => (await api().call('listOrganization', { signal })).results,
});

/** All environments of an organization with their services and their states. */
export const overviewOf = (organizationId: string) =>
  queryOptions({
    queryKey: ['overview', organizationId],
    queryFn: async ({ signal }) => (await api().call('getOrganizationOverview', { params: { organizationId }, signal })).results,
  });

export const projectsOf = (organizationId: string) =>
  queryOptions({
    queryKey: ['projects', organizationId],
    queryFn: async ({ signal }) => (await api().call('listProject', { params: { organizationId }, signal })).results,
  });

export const projectOf = (projectId: string) =>
  queryOptions({
    queryKey: ['project', projectId],
    queryFn: ({ signal }) => api().call('getProject', { params: { projectId }, signal }),
  });

export const environmentsOf = (projectId: string) =>
  queryOptions({
    queryKey: ['environments', projectId],
    queryFn: async ({ signal }) => (await api().call('listEnvironment', { params: { projectId }, signal })).results,
  });

export const environmentOf = (environmentId: string) =>
  queryOptions({
    queryKey: ['environment', environmentId],
    queryFn: ({ signal }) => api().call('getEnvironment', { params: { environmentId }, signal }),
  });

/** The states of an environment, its stages and their services. */
export const detailsOf = (environmentId: string) =>
  queryOptions({
    queryKey: ['details', environmentId],
    queryFn: ({ signal }) => api().call('getEnvironmentStatusesWithStages', { params: { environmentId }, signal }),
  });

export const servicesIn = (environmentId: string) =>
  queryOptions({
    queryKey: ['services', environmentId],
    queryFn: async ({ signal }) =>
      (await api().call('listServicesByEnvironmentId', { params: { environmentId }, signal })).results,
  });

export const linksIn = (environmentId: string) =>
  queryOptions({
    queryKey: ['links', environmentId],
    queryFn: async ({ signal }) =>
      (await api().call('listEnvironmentServicesLinks', { params: { environmentId }, signal })).results,
  });

/** How many deployments a page has. */
const pageSize = 20;
/** The options of a list of deployments that is read by pages. */
const byPages = {
  initialPageParam: 1,
  getNextPageParam: (last: readonly unknown[], all: readonly unknown[]) => (last.length < pageSize ? undefined : all.length + 1),
};

/** The deployments of an environment, newest first, by pages. */
export const historyOf = (environmentId: string) =>
  infiniteQueryOptions({
    queryKey: ['history', environmentId],
    queryFn: async ({ signal, pageParam }) => {
      const query = { pageSize, page: pageParam };
      return (await api().call('listEnvironmentDeploymentHistoryV2', { params: { environmentId }, query, signal })).results;
    },
    ...byPages,
    select: ({ pages }) => withoutRepetition(pages.flat(), ({ identifier }) => identifier.execution_id),
  });

/** The log of one deployment. */
export const deploymentLogOf = (environmentId: string, executionId: string) =>
  queryOptions({
    queryKey: ['deploymentLog', environmentId, executionId],
    queryFn: ({ signal }) =>
      api().call('listEnvironmentLogs', { params: { environmentId }, query: { version: executionId }, signal }),
  });

type ReadHistory = (id: string, query: { pageSize: number; page: number }, signal: AbortSignal) => Promise<ServiceHistory>;
const historyCalls: Readonly<Record<ServiceType, ReadHistory>> = {
  APPLICATION: (applicationId, query, signal) =>
    api().call('listApplicationDeploymentHistoryV2', { params: { applicationId }, query, signal }),
  CONTAINER: (containerId, query, signal) =>
    api().call('listContainerDeploymentHistoryV2', { params: { containerId }, query, signal }),
  DATABASE: (databaseId, query, signal) =>
    api().call('listDatabaseDeploymentHistoryV2', { params: { databaseId }, query, signal }),
  JOB: (jobId, query, signal) => api().call('listJobDeploymentHistoryV2', { params: { jobId }, query, signal }),
  HELM: (helmId, query, signal) => api().call('listHelmDeploymentHistoryV2', { params: { helmId }, query, signal }),
  TERRAFORM: (terraformId, query, signal) =>
    api().call('listTerraformDeploymentHistoryV2', { params: { terraformId }, query, signal }),
};

/** The newest deployments of a service. */
export const serviceHistoryOf = ({ id, service_type: type, environment }: Service) =>
  queryOptions({
    queryKey: ['serviceHistory', environment.id, id],
    queryFn: async ({ signal }) => (await historyCalls[type](id, { pageSize: 50, page: 1 }, signal)).results,
  });

/** All deployments of a service, newest first, by pages. */
export const serviceHistoryPagesOf = ({ id, service_type: type, environment }: Service) =>
  infiniteQueryOptions({
    queryKey: ['serviceHistory', environment.id, id, 'pages'],
    queryFn: async ({ signal, pageParam }) => (await historyCalls[type](id, { pageSize, page: pageParam }, signal)).results,
    ...byPages,
    select: ({ pages }) =>
      withoutRepetition(pages.flat(), (one) => `${one.identifier.execution_id} ${one.auditing_data.created_at}`),
  });

/** Returns the records without those that stand on two pages, since one was added while the pages were read. */
export function withoutRepetition<Item>(records: readonly Item[], keyOf: (record: Item) => string): Item[] {
  return [...new Map(records.map((record) => [keyOf(record), record])).values()];
}

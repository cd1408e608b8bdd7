import { queryOptions } from '@tanstack/react-query';
import { api } from '../api.ts';

/* The records of an organization. No event names them: they are read again after a change of one's own, and when the
 * reader comes back. */

export const registriesOf = (organizationId: string) =>
  queryOptions({
    queryKey: ['registries', organizationId],
    queryFn: async ({ signal }) => (await api().call('listContainerRegistry', { params: { organizationId }, signal })).results,
  });

export const helmRepositoriesOf = (organizationId: string) =>
  queryOptions({
    queryKey: ['helmRepositories', organizationId],
    queryFn: async ({ signal }) => (await api().call('listHelmRepository', { params: { organizationId }, signal })).results,
  });

export const gitTokensOf = (organizationId: string) =>
  queryOptions({
    queryKey: ['gitTokens', organizationId],
    queryFn: async ({ signal }) =>
      (await api().call('listOrganizationGitTokens', { params: { organizationId }, signal })).results,
  });

export const clustersOf = (organizationId: string) =>
  queryOptions({
    queryKey: ['clusters', organizationId],
    queryFn: async ({ signal }) => (await api().call('listOrganizationCluster', { params: { organizationId }, signal })).results,
  });

/** The versions of databases that an environment offers. */
export const databasesIn = (environmentId: string) =>
  queryOptions({
    queryKey: ['databaseVersions', environmentId],
    staleTime: Infinity,
    queryFn: async ({ signal }) =>
      (await api().call('listEnvironmentDatabaseConfig', { params: { environmentId }, signal })).results,
  });

/** The charts of a Helm repository with their versions. */
export const chartsOf = (organizationId: string, helmRepositoryId: string) =>
  queryOptions({
    queryKey: ['charts', organizationId, helmRepositoryId],
    enabled: helmRepositoryId !== '',
    retry: false,
    staleTime: 60_000,
    queryFn: async ({ signal }) =>
      (await api().call('getHelmCharts', { params: { organizationId, helmRepositoryId }, signal })).results,
  });

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

export const membersOf = (organizationId: string) =>
  queryOptions({
    queryKey: ['members', organizationId],
    queryFn: async ({ signal }) => {
      const { results } = await api().call('getOrganizationMembers', { params: { organizationId }, signal });
      return results.map((one) => ({ ...one, name: one.name ?? one.email }));
    },
  });

/** A member, named by its e-mail address if it has no name. */
export type ListedMember = Awaited<ReturnType<NonNullable<ReturnType<typeof membersOf>['queryFn']>>>[number];

export const invitationsOf = (organizationId: string) =>
  queryOptions({
    queryKey: ['invitations', organizationId],
    queryFn: async ({ signal }) => {
      const { results } = await api().call('getOrganizationInvitedMembers', { params: { organizationId }, signal });
      return results.map((one) => ({ ...one, name: one.email }));
    },
  });

export const rolesOf = (organizationId: string) =>
  queryOptions({
    queryKey: ['roles', organizationId],
    queryFn: async ({ signal }) =>
      (await api().call('listOrganizationAvailableRoles', { params: { organizationId }, signal })).results,
  });

export const customRolesOf = (organizationId: string) =>
  queryOptions({
    queryKey: ['customRoles', organizationId],
    queryFn: async ({ signal }) =>
      (await api().call('listOrganizationCustomRoles', { params: { organizationId }, signal })).results,
  });

export const apiTokensOf = (organizationId: string) =>
  queryOptions({
    queryKey: ['apiTokens', organizationId],
    queryFn: async ({ signal }) =>
      (await api().call('listOrganizationApiTokens', { params: { organizationId }, signal })).results,
  });

export const credentialsOf = (organizationId: string) =>
  queryOptions({
    queryKey: ['credentials', organizationId],
    queryFn: async ({ signal }) => {
      const { results } = await api().call('listOrganizationCredentials', { params: { organizationId }, signal });
      return results.map(({ credential, clusters }) => ({ ...credential, clusters }));
    },
  });

export const labelGroupsOf = (organizationId: string) =>
  queryOptions({
    queryKey: ['labelGroups', organizationId],
    queryFn: async ({ signal }) =>
      (await api().call('listOrganizationLabelsGroup', { params: { organizationId }, signal })).results,
  });

export const annotationGroupsOf = (organizationId: string) =>
  queryOptions({
    queryKey: ['annotationGroups', organizationId],
    queryFn: async ({ signal }) =>
      (await api().call('listOrganizationAnnotationsGroup', { params: { organizationId }, signal })).results,
  });

/** The kinds of registries and of Helm repositories, with the credentials that each needs. */
export const registryKinds = queryOptions({
  queryKey: ['registryKinds'],
  staleTime: Infinity,
  queryFn: async ({ signal }) => {
    const [registries, repositories] = await Promise.all([
      api().call('listAvailableContainerRegistry', { signal }),
      api().call('listAvailableHelmRepository', { signal }),
    ]);
    const named = (
      kinds: readonly { readonly kind: string; readonly required_config: Readonly<Record<string, string>> }[],
    ): ReadonlyMap<string, readonly string[]> => new Map(kinds.map((one) => [one.kind, Object.keys(one.required_config)]));
    return { registries: named(registries.results), repositories: named(repositories.results) };
  },
});

/** The log of the checks of a cluster, the newest line first. */
export const clusterLogOf = (organizationId: string, clusterId: string) =>
  queryOptions({
    queryKey: ['clusterLog', organizationId, clusterId],
    queryFn: async ({ signal }) =>
      (await api().call('listClusterLogs', { params: { organizationId, clusterId }, signal })).results.toReversed(),
  });

export const environmentsOn = (clusterId: string) =>
  queryOptions({
    queryKey: ['environmentsOn', clusterId],
    queryFn: async ({ signal }) => {
      const { results } = await api().call('getEnvironmentsByClusterId', { params: { clusterId }, signal });
      return results.map((one) => ({ ...one, id: one.environment_id }));
    },
  });

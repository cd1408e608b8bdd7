import { derivedId } from './derived-id.ts';

/** What built-in variables are computed from. Addresses are the service room's to know. */
export interface BuiltInFacts {
  readonly organizationId: string;
  readonly projectId: string;
  readonly projectCreatedAt: string;
  readonly environmentId: string;
  readonly environmentName: string;
  readonly environmentMode: string;
  readonly environmentCreatedAt: string;
  readonly clusterId: string;
  readonly cloudProvider: string;
  readonly region: string;
  readonly domain: string;
  readonly serviceId: string;
  readonly serviceType: string;
  readonly serviceName: string;
  readonly serviceCreatedAt: string;
  /** Whether its image is built from a repository: only then it has branch and commit. */
  readonly isBuilt: boolean;
  /** null: the repository's default branch. */
  readonly branch: string | null;
  readonly deployedCommitId: string | null;
  readonly internalHost: string;
  /** With the gateway's port unless that is 80; null without a public port. */
  readonly externalHost: string | null;
}

export interface BuiltIn {
  /** The same as long as the service lives. */
  readonly id: string;
  /** Key without the prefix: what aliases remember, as the prefix can be configured. */
  readonly name: string;
  readonly key: string;
  readonly value: string;
  readonly isOfService: boolean;
  readonly createdAt: string;
  /**
   * Known only when the deployment has found its commit: the engine adds it to the process. It is no part of the
   * configuration, as that would be another one after every commit.
   */
  readonly isSetAtStart: boolean;
}

/** All built-in variables that a service sees (semantics 4.6), the general ones first. */
export function builtIns(facts: BuiltInFacts, prefix: string): readonly BuiltIn[] {
  const general = (name: string, value: string, createdAt: string = facts.environmentCreatedAt): BuiltIn => ({
    id: derivedId('built-in', facts.serviceId, name),
    name,
    key: `${prefix}_${name}`,
    value,
    isOfService: false,
    createdAt,
    isSetAtStart: false,
  });
  const ofService = (name: string, value: string): BuiltIn => ({
    ...general(name, value, facts.serviceCreatedAt),
    isOfService: true,
  });
  const own = `${facts.serviceType}_Z${shortId(facts.serviceId).toUpperCase()}`;
  return [
    general('ORGANIZATION_ID', facts.organizationId, facts.projectCreatedAt),
    general('PROJECT_ID', facts.projectId, facts.projectCreatedAt),
    general('ENVIRONMENT_ID', facts.environmentId),
    general('ENVIRONMENT_NAME', facts.environmentName),
    general('ENVIRONMENT_TYPE', facts.environmentMode),
    general('CLOUD_PROVIDER', facts.cloudProvider),
    general('CLOUD_PROVIDER_REGION', facts.region),
    general('KUBERNETES_CLUSTER_NAME', `${prefix.toLowerCase()}-z${shortId(facts.clusterId)}`),
    general('KUBERNETES_NAMESPACE_NAME', `z${shortId(facts.environmentId)}-${facts.environmentName}`),
    general('KUBERNETES_CLUSTER_DOMAIN', facts.domain),
    ofService(`${facts.serviceType}_ID`, facts.serviceId),
    ofService(`${facts.serviceType}_NAME`, facts.serviceName),
    ofService(`${own}_NAME`, facts.serviceName),
    ofService(`${own}_ENVIRONMENT_NAME`, facts.environmentName),
    ...(facts.branch === null ? [] : [ofService(`${own}_GIT_BRANCH`, facts.branch)]),
    ...(facts.isBuilt ? [{ ...ofService(`${own}_GIT_COMMIT_ID`, facts.deployedCommitId ?? ''), isSetAtStart: true }] : []),
    ofService(`${own}_HOST_INTERNAL`, facts.internalHost),
    ...(facts.externalHost === null ? [] : [ofService(`${own}_HOST_EXTERNAL`, facts.externalHost)]),
  ];
}

function shortId(id: string): string {
  return id.slice(0, 8);
}

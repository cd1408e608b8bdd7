import type { Queryable } from '@davit/db';
import type { HostCertificate, HttpChallenge } from '@davit/drivers';
import type { Action, ServiceOutput } from '../model.ts';
import type { ClusterAccess } from './clusters.ts';

/** The certificate of a host or of a wildcard. */
export interface DomainCertificate extends HostCertificate {
  /**
   * The host is Davit's own, or a wildcard above the addresses of services: the certificate is served even if no
   * service has exactly this host. A wildcard redirects the hosts of services below it.
   */
  readonly isOwn?: true;
}

/** Certificates and challenges of the host names of services, and of Davit itself. */
export interface GatewayDomains {
  /**
   * Certificates to serve where a service is reachable under the host. `redirect`: HTTP is redirected, unless the
   * service wants HTTP too.
   */
  readonly certificates: readonly DomainCertificate[];
  readonly challenges: readonly HttpChallenge[];
}

/** Credentials for hosts with these names, and for no other. */
export interface HostCredentials {
  readonly username: string;
  readonly password: string;
  readonly hosts: readonly string[];
}

/**
 * Functions of the resources that the engine calls. They are passed in where the program is composed, so that the
 * engine knows no table of the resources.
 */
export interface EngineHooks {
  /** Returns the values of secret versions by id. Deleted versions are missing in the map. */
  secrets(ids: readonly string[]): Promise<ReadonlyMap<string, string>>;
  /**
   * Returns the credentials that a git host wants for a git token; null if the token was deleted. `url` is the URL of
   * the repository to be read; it determines the host of a token that was never used before. `url` is null if the token
   * is only to be redacted.
   */
  gitCredentials(gitTokenId: string, url: string | null): Promise<HostCredentials | null>;
  /**
   * Returns the credentials of a container registry, with the host that its images are named with (`host` or
   * `host:port`); null if it needs none; undefined if there is no such registry.
   */
  registryCredentials(registryId: string): Promise<HostCredentials | null | undefined>;
  /**
   * Returns the digest of the image that a tag refers to now, which Davit itself queries from the registry; null if
   * there is no such image. `name` is complete: registry and path. The query is anonymous if the host of `registryId`
   * is another one. Fails with AppErrors if the registry cannot be queried. Omitted: digests cannot be queried.
   */
  imageDigest?(registryId: string | null, image: { readonly name: string; readonly tag: string }): Promise<string | null>;
  /**
   * Returns the archive of a chart of a Helm repository. Fails with AppErrors: REMOTE_UNREACHABLE may be transient,
   * others name what the user must correct. Omitted: there are no Helm repositories.
   */
  helmChart?(repositoryId: string, chart: { readonly name: string; readonly version: string }): Promise<Uint8Array>;
  /**
   * Returns the full name of an image of a container registry, as in `registry.example.org/team/web`; undefined if
   * there is no such registry.
   */
  imageName?(registryId: string, name: string): Promise<string | undefined>;
  /**
   * Returns whether a container registry is reached over http; also false if there is no such registry. Omitted: no
   * registry is.
   */
  isPlainRegistry?(registryId: string): Promise<boolean>;
  /**
   * Returns the objections of DNS to the custom domains of a service, one per line, for the log of its deployment.
   * Returns within seconds and never fails.
   */
  domainRemarks?(serviceId: string): Promise<readonly string[]>;
  /** Returns remarks on the deployment of this release, as sentences for the log. Default: none. */
  releaseRemarks?(serviceId: string, releaseId: string): Promise<readonly string[]>;
  /**
   * Returns what gateways must know of domains besides the running services. Called at the start, at each notification
   * on `domainsChannel`, and periodically. Omitted: nothing.
   */
  gatewayDomains?(): Promise<GatewayDomains>;
  /** Called when a deployment leaves the queue, in the transaction that starts it: once for each deployment. */
  deploymentStarted(tx: Queryable, deploymentId: string, action: Action): Promise<void>;
  /**
   * Called when a started deployment ends, in the transaction that ends it, before anything else is removed: once for
   * each deployment.
   */
  deploymentEnded(
    tx: Queryable,
    deploymentId: string,
    action: Action,
    status: 'SUCCEEDED' | 'FAILED' | 'CANCELED',
  ): Promise<void>;
  /**
   * Removes the record of a service that is no longer on its cluster, in the transaction that ends its deployment.
   * Idempotent.
   */
  serviceDeleted(tx: Queryable, serviceId: string): Promise<void>;
  /** Removes the record of an environment that is no longer on its cluster, and all records below it. Idempotent. */
  environmentDeleted(tx: Queryable, environmentId: string): Promise<void>;
  /** Encrypt and decrypt data that the engine stores. The ciphertext is bound to the id of its record. */
  seal(recordId: string, text: string): Uint8Array;
  open(recordId: string, sealed: Uint8Array): string;
  /**
   * Returns the clusters other than this machine's that Davit has credentials of. Called at the start, at each
   * notification on `clustersChannel`, and periodically. Omitted: there are none.
   */
  clusters?(): Promise<readonly ClusterAccess[]>;
  /**
   * Records that a cluster's record stands for the cluster with this identity, and for no other from now on. Returns
   * null on success. If another record already stands for that cluster, returns its name in words (`the cluster rack`)
   * and changes nothing. Idempotent. Omitted: two records of one cluster cannot exist.
   */
  claimCluster?(clusterId: string, identity: string): Promise<string | null>;
  /**
   * Stores the outputs reported by a successful run of a service; they replace those of the previous run. Empty:
   * removes all. Idempotent.
   */
  serviceOutputs(serviceId: string, outputs: readonly ServiceOutput[]): Promise<void>;
}

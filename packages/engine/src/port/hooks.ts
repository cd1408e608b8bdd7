import type { Queryable } from '@davit/db';
import type { HostCertificate, HttpChallenge } from '@davit/drivers';
import type { Action, ServiceOutput } from '../model.ts';
import type { ClusterAccess } from './clusters.ts';

/** Of the host names that services answer under. */
export interface GatewayDomains {
  /** Served where a service answers under the host. `redirect`: unless the service wants HTTP too. */
  readonly certificates: readonly HostCertificate[];
  readonly challenges: readonly HttpChallenge[];
}

/** For hosts of these names, and for no other. */
export interface HostCredentials {
  readonly username: string;
  readonly password: string;
  readonly hosts: readonly string[];
}

/** What the engine asks of the resources; handed in where the program is composed, so that it knows none of their tables. */
export interface EngineHooks {
  /** Values of secret versions by id. One that is gone is missing in the map. */
  secrets(ids: readonly string[]): Promise<ReadonlyMap<string, string>>;
  /**
   * What a git host wants for a git token; null: the token was deleted. `url`: of the repository that it is used for, which decides on the
   * host of a token that was never used before; null: it is only to be hidden.
   */
  gitCredentials(gitTokenId: string, url: string | null): Promise<HostCredentials | null>;
  /** Of a container registry; null: it needs none; undefined: there is no such registry. */
  registryCredentials(registryId: string): Promise<{ readonly username: string; readonly password: string } | null | undefined>;
  /**
   * The digest of the image that a tag means now, asked of the registry by Davit itself; null: there is none such. `name` is whole:
   * registry and path. Fails with AppErrors where the registry cannot be asked. Left out: it cannot.
   */
  imageDigest?(registryId: string | null, image: { readonly name: string; readonly tag: string }): Promise<string | null>;
  /**
   * The archive of a chart of a Helm repository. Fails with AppErrors: REMOTE_UNREACHABLE may pass, others say what is to be corrected. Left
   * out: there are no such repositories.
   */
  helmChart?(repositoryId: string, chart: { readonly name: string; readonly version: string }): Promise<Uint8Array>;
  /** What an image of a container registry is called as a whole, as in `registry.example.org/team/web`; undefined: there is no such registry. */
  imageName?(registryId: string, name: string): Promise<string | undefined>;
  /** Whether a container registry is spoken to over http; false also where there is none. Left out: none is. */
  isPlainRegistry?(registryId: string): Promise<boolean>;
  /**
   * What DNS says against the custom domains of a service, a line each; for the log of its deployment. Answers within seconds and
   * never fails.
   */
  domainRemarks?(serviceId: string): Promise<readonly string[]>;
  /** Remarks on deploying this release, for the log: sentences. Default: none. */
  releaseRemarks?(serviceId: string, releaseId: string): Promise<readonly string[]>;
  /**
   * What gateways must know of domains beside what runs; left out: nothing. Asked for at the start, at each notification on
   * `domainsChannel`, and now and then.
   */
  gatewayDomains?(): Promise<GatewayDomains>;
  /** A deployment leaves the queue. In the transaction that starts it: once for each deployment. */
  deploymentStarted(tx: Queryable, deploymentId: string, action: Action): Promise<void>;
  /** A deployment that was started ends. In the transaction that ends it, before anything else is removed: once. */
  deploymentEnded(
    tx: Queryable,
    deploymentId: string,
    action: Action,
    status: 'SUCCEEDED' | 'FAILED' | 'CANCELED',
  ): Promise<void>;
  /** A service is off its cluster: remove its record. In the transaction that ends its deployment. Idempotent. */
  serviceDeleted(tx: Queryable, serviceId: string): Promise<void>;
  /** An environment is off its cluster: remove its record and what is below. Idempotent. */
  environmentDeleted(tx: Queryable, environmentId: string): Promise<void>;
  /** Encrypts what the engine keeps, and decrypts it; the id of its record belongs to it. */
  seal(recordId: string, text: string): Uint8Array;
  open(recordId: string, sealed: Uint8Array): string;
  /**
   * The clusters beside this machine's that Davit was given credentials of; left out: there are none. Asked for at the start, at each
   * notification on `clustersChannel`, and now and then.
   */
  clusters?(): Promise<readonly ClusterAccess[]>;
  /**
   * Notes that the record of a cluster is the one of the cluster with this identity, and of no other one any more. Null: it is; else, where another
   * record is, which one, in words (`the cluster rack`); nothing is changed then. Idempotent. Left out: there cannot be two.
   */
  claimCluster?(clusterId: string, identity: string): Promise<string | null>;
  /** What a run of a service that succeeded told, in place of what the run before it did; empty: nothing any more. Idempotent. */
  serviceOutputs(serviceId: string, outputs: readonly ServiceOutput[]): Promise<void>;
}

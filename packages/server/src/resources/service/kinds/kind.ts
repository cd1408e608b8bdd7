import type { ServedType } from '@davit/contract';
import type { HistoryServiceView, JobEvent, ReleaseConfig, ReleaseSource } from '@davit/engine/port';
import type { Settings } from '../../../configuration.ts';
import type { Groups } from '../groups.ts';
import type { ServiceRow } from '../rows.ts';
import type { ServiceRecord } from '../shapes/request.ts';
import type { ProcessParts } from './process.ts';
import type { Caps, ServiceSpec, SpecRules } from '../spec.ts';

/**
 * The parts that differ between types of service. All other code is shared by the types and calls these members. A type
 * is written with the types of its own spec and requests, see `defineKind`; the shared code does not know these.
 */
export interface ServiceKind<Spec extends ServiceSpec = ServiceSpec, Create = unknown, Edit = unknown, Deploy = unknown> {
  readonly type: ServedType;
  /** Stage that a new service goes into. */
  readonly stageName: string;
  /** Prefix of the host name inside the environment (semantics 4.6): an application is `app-z1a2b3c4d`. */
  readonly hostPrefix: string;
  /** Returns the spec of a new service, with defaults. Adds errors to `rules.problems`. */
  create(request: Create, rules: SpecRules): Spec;
  /** Returns the spec after an edit. Omitted members stay. */
  edit(request: Edit, former: Spec, rules: SpecRules): Spec;
  /** Returns the contract's record. `groups`: the groups that the spec references. */
  record(row: ServiceRow<Spec>, caps: Caps | null, groups: Groups | undefined, settings: RecordSettings): ServiceRecord;
  /** Returns the parts of the spec about processes and their addresses; empty parts for a type without processes. */
  workload(spec: Spec): ProcessParts;
  /** Returns the source of a release. */
  source(row: SourceRow<Spec>): ReleaseSource;
  /** Returns the members of an entry of the older history beside id, times, name and state. */
  oldHistory?(view: HistoryServiceView): object;
  /** Returns the requested source of a deployment, from a request and its query. Fails with VALIDATION_FAILED. */
  choice(request: Deploy, query?: Readonly<Record<string, unknown>>): DeploySource;
  /** Returns the members of a release that only this kind has, if any. */
  release?(row: SourceRow<Spec>): Partial<ReleaseConfig>;
  /** Prefixes of the request members for repository and image, if these are nested. Used for the paths of problems. */
  readonly requestPrefixes?: { readonly docker: string; readonly image: string };
  /** True if an edit depends on whether the service is installed. */
  readonly mindsInstalled?: boolean;
  /**
   * True if the secrets belong to the environment. Services that were deployed with them, such as clients of a
   * database, must be able to start again after the service was deleted.
   */
  readonly sharesSecrets?: boolean;
  /** Returns the host name inside the environment, if it does not begin with `hostPrefix`. */
  host?(id: string, spec: Spec): string;
  /**
   * Returns the command and environment of the process, if users cannot set them. Such a process has no variables
   * either.
   */
  process?(spec: Spec): OwnProcess;
  /** Returns whether the gateway terminates TLS for clients of its public TCP ports. */
  acceptsTls?(spec: Spec): boolean;
  /** Returns why the service cannot be deployed on this cluster, as a text to follow its name, or null if it can. */
  obstacle?(spec: Spec, driver: string): string | null;
  /**
   * Returns which part of the spec no deployment accepts, as a text to follow the service's name, or null if there is
   * none. Records accept such specs, because the contract does.
   */
  fault?(spec: Spec): string | null;
}

/** The parts of a process that a kind sets instead of its users. */
export type OwnProcess = Pick<ReleaseConfig, 'entrypoint' | 'arguments' | 'environment'>;

/** The parts of this installation's configuration that records show. */
export type RecordSettings = Settings<'gatewayDomain' | 'gatewayHttpsPort' | 'addressCertificates'>;

/** The parts of a row that determine a source. */
export type SourceRow<Spec extends ServiceSpec = ServiceSpec> = Pick<ServiceRow<Spec>, 'spec' | 'registry'>;

/**
 * The release to deploy: an earlier one, or the current configuration after `edit`, at a commit or at the newest one.
 */
export interface DeploySource {
  readonly releaseId: string | null;
  readonly commitId: string | null;
  /** Commit of the repository of a chart's values. */
  readonly valuesCommitId?: string;
  readonly edit?: object;
  /** For Terraform configurations: the action to run instead of an apply. */
  readonly terraformAction?: 'PLAN' | 'FORCE_UNLOCK' | 'MIGRATE_STATE';
  /** For Helm charts: only reports the changes and installs nothing. */
  readonly isDiff?: boolean;
  /** For jobs: the event to run, whatever the action would run. */
  readonly event?: JobEvent;
  /** Throws VALIDATION_FAILED if the wish does not fit the service. */
  readonly check?: (spec: ServiceSpec) => void;
}

/**
 * Returns a kind that is written with its own types. The casts are safe: the HTTP layer has checked requests against
 * the contract, and specs are stored with their type.
 */
export function defineKind<Spec extends ServiceSpec, Create, Edit, Deploy>(
  kind: ServiceKind<Spec, Create, Edit, Deploy>,
): ServiceKind {
  return kind;
}

import type { ServedType } from '@davit/contract';
import type { HistoryServiceView, JobEvent, ReleaseConfig, ReleaseSource } from '@davit/engine/port';
import type { Settings } from '../../../configuration.ts';
import type { Groups } from '../groups.ts';
import type { ServiceRow } from '../rows.ts';
import type { ServiceRecord } from '../shapes/request.ts';
import type { ProcessParts } from './process.ts';
import type { Caps, ServiceSpec, SpecRules } from './spec.ts';

/** The parts that differ between types of service. All other code is shared by the types and calls these members. */
export interface ServiceKind {
  readonly type: ServedType;
  /** Stage that a new service goes into. */
  readonly stageName: string;
  /** Prefix of the host name inside the environment (semantics 4.6): an application is `app-z1a2b3c4d`. */
  readonly hostPrefix: string;
  /** Returns the spec of a new service, with defaults. Adds errors to `rules.problems`. */
  create(request: unknown, rules: SpecRules): ServiceSpec;
  /** Returns the spec after an edit. Omitted members stay. */
  edit(request: unknown, former: ServiceSpec, rules: SpecRules): ServiceSpec;
  /** Returns the contract's record. `groups`: the groups that the spec references. */
  record(row: ServiceRow, caps: Caps | null, groups: Groups | undefined, settings: RecordSettings): ServiceRecord;
  /** Returns the parts of the spec about processes and their addresses; empty parts for a type without processes. */
  workload(spec: ServiceSpec): ProcessParts;
  /** Returns the source of a release. */
  source(row: SourceRow): ReleaseSource;
  /** Returns the members of an entry of the older history beside id, times, name and state. */
  oldHistory?(view: HistoryServiceView): object;
  /** Returns the requested source of a deployment, from a request and its query. Fails with VALIDATION_FAILED. */
  choice(request: unknown, query?: Readonly<Record<string, unknown>>): DeploySource;
  /** Returns the members of a release that only this kind has, if any. */
  release?(row: SourceRow): Partial<ReleaseConfig>;
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
  host?(id: string, spec: ServiceSpec): string;
  /**
   * Returns the command and environment of the process, if users cannot set them. Such a process has no variables
   * either.
   */
  process?(spec: ServiceSpec): OwnProcess;
  /** Returns whether the gateway terminates TLS for clients of its public TCP ports. */
  acceptsTls?(spec: ServiceSpec): boolean;
  /** Returns why the service cannot be deployed on this cluster, as a text to follow its name, or null if it can. */
  obstacle?(spec: ServiceSpec, driver: string): string | null;
  /**
   * Returns which part of the spec no deployment accepts, as a text to follow the service's name, or null if there is
   * none. Records accept such specs, because the contract does.
   */
  fault?(spec: ServiceSpec): string | null;
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

interface TypedKind<Spec extends ServiceSpec, Create, Edit, Deploy> {
  readonly type: ServedType;
  readonly stageName: string;
  readonly hostPrefix: string;
  create(request: Create, rules: SpecRules): Spec;
  edit(request: Edit, former: Spec, rules: SpecRules): Spec;
  record(row: ServiceRow<Spec>, caps: Caps | null, groups: Groups | undefined, settings: RecordSettings): ServiceRecord;
  workload(spec: Spec): ProcessParts;
  source(row: SourceRow<Spec>): ReleaseSource;
  oldHistory?(view: HistoryServiceView): object;
  choice(request: Deploy, query?: Readonly<Record<string, unknown>>): DeploySource;
  release?(row: SourceRow<Spec>): Partial<ReleaseConfig>;
  readonly requestPrefixes?: { readonly docker: string; readonly image: string };
  readonly mindsInstalled?: boolean;
  readonly sharesSecrets?: boolean;
  host?(id: string, spec: Spec): string;
  process?(spec: Spec): OwnProcess;
  acceptsTls?(spec: Spec): boolean;
  obstacle?(spec: Spec, driver: string): string | null;
  fault?(spec: Spec): string | null;
}

/**
 * Returns a kind that is written with its own types. The casts are safe: the HTTP layer has checked requests against
 * the contract, and specs are stored with their type.
 */
export function defineKind<Spec extends ServiceSpec, Create, Edit, Deploy>(
  kind: TypedKind<Spec, Create, Edit, Deploy>,
): ServiceKind {
  return kind;
}

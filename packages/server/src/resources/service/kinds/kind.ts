import type { ServedType } from '@davit/contract';
import type { HistoryServiceView, JobEvent, ReleaseConfig, ReleaseSource } from '@davit/engine/port';
import type { DatabaseCatalogue } from '../../../catalogue/databases.ts';
import type { Configuration } from '../../../main/config.ts';
import type { Problems } from '../../shared/problems.ts';
import type { Groups } from '../groups.ts';
import type { ServiceRow } from '../rows.ts';
import type { AdvancedSettingsSpec } from '../shapes/advanced-settings.ts';
import type { ReservedPorts } from '../shapes/ports.ts';
import type { GroupsSpec } from '../shapes/groups.ts';
import type { ServiceRecord } from '../shapes/request.ts';
import type { ProcessParts } from './process.ts';

/** What the cluster gives to one service at most; null: it does not answer, so nothing is known. */
export interface Caps {
  readonly cpuMillicores: number;
  readonly memoryMiB: number;
}

/** What a request is checked against. */
export interface SpecRules {
  readonly problems: Problems;
  readonly caps: Caps | null;
  readonly reserved: ReservedPorts;
  readonly allowLocalRepositories: boolean;
  /** Whether the cluster is of a kind that can scale by events; if it has what that needs is seen when it is deployed. */
  readonly scalesByEvents: boolean;
  /** Of the environment: what a new service has when its request says nothing. */
  readonly autoPreview: boolean;
  readonly databases: DatabaseCatalogue;
  /** Of an edit: whether the service has something on its cluster, data above all. Known where the kind `minds` it. */
  readonly isInstalled: boolean;
  /** Stores a text encrypted together with the service; gives the id by which its spec names it. */
  readonly newSecret: (text: string) => string;
}

/** What the spec of every service has, whatever its type. */
export interface ServiceSpec extends GroupsSpec {
  readonly icon_uri: string;
  /** Those that somebody set; absent when there are none. */
  readonly advanced_settings?: AdvancedSettingsSpec;
}

/** What one service type has of its own. Everything else is written once for all of them, over this. */
export interface ServiceKind {
  readonly type: ServedType;
  /** Stage that a new service goes into. */
  readonly stageName: string;
  /** `app-z1a2b3c4d` is the name of an application for its neighbours (semantics 4.6). */
  readonly hostPrefix: string;
  /** The spec of a new service, with defaults. What is wrong is added to `rules.problems`. */
  create(request: unknown, rules: SpecRules): ServiceSpec;
  /** The spec after an edit. What is left out stays. */
  edit(request: unknown, former: ServiceSpec, rules: SpecRules): ServiceSpec;
  /** The contract's record. `groups`: those that the spec names. */
  record(row: ServiceRow, caps: Caps | null, groups: Groups | undefined, settings: RecordSettings): ServiceRecord;
  /** What of the spec is about processes and their addresses; nothing of it for a type that has none. */
  workload(spec: ServiceSpec): ProcessParts;
  /** What a release is made of. */
  source(row: SourceRow): ReleaseSource;
  /** What an entry of the older history has beside id, times, name and state. */
  oldHistory?(view: HistoryServiceView): object;
  /** What a request to deploy, with its query, asks for. VALIDATION_FAILED is thrown. */
  wish(request: unknown, query?: Readonly<Record<string, unknown>>): DeployWish;
  /** What of a release only this kind has, where there is something. */
  release?(row: SourceRow): Partial<ReleaseConfig>;
  /** Where its requests name a repository and an image, if not at their top: for the paths of problems. */
  readonly places?: { readonly docker: string; readonly image: string };
  /** Whether an edit must know if the service is installed. */
  readonly mindsInstalled?: boolean;
  /**
   * Its secrets belong to the environment: what else there was deployed with them, as what connects to a database is, must be able
   * to start again when the service is gone.
   */
  readonly sharesSecrets?: boolean;
  /** Its name for its neighbours, where that does not begin with `hostPrefix`. */
  host?(id: string, spec: ServiceSpec): string;
  /** What its process gets, where that does not follow from what a user can set: then also no variables. */
  process?(spec: ServiceSpec): OwnProcess;
  /** Why this one cannot be deployed where it is, to go on after its name; null: it can. */
  obstacle?(spec: ServiceSpec, driver: string): string | null;
  /** What of its spec no deployment takes, to go on after its name; null: nothing. Its records take it, as it is the contract's. */
  fault?(spec: ServiceSpec): string | null;
}

/** What a kind decides of its process instead of its users. */
export type OwnProcess = Pick<ReleaseConfig, 'entrypoint' | 'arguments' | 'environment'>;

/** What of the configuration of this installation records show. */
export type RecordSettings = Pick<Configuration, 'gatewayDomain'>;

/** What of a row a source comes from. */
export type SourceRow<Spec extends ServiceSpec = ServiceSpec> = Pick<ServiceRow<Spec>, 'spec' | 'registry'>;

/** An earlier release, or the configuration of now: at a commit, or at the newest one, edited by `edit` first. */
export interface DeployWish {
  readonly releaseId: string | null;
  readonly commitId: string | null;
  /** Of the repository of a chart's values. */
  readonly valuesCommitId?: string;
  readonly edit?: object;
  /** Of a Terraform configuration: instead of an apply. */
  readonly terraformAction?: 'PLAN' | 'FORCE_UNLOCK' | 'MIGRATE_STATE';
  /** Of a Helm chart: nothing is installed, only told. */
  readonly isDiff?: boolean;
  /** Of a job: the event that is run, whatever the action would run. */
  readonly event?: JobEvent;
  /** Throws VALIDATION_FAILED when what is asked for does not fit the service. */
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
  wish(request: Deploy, query?: Readonly<Record<string, unknown>>): DeployWish;
  release?(row: SourceRow<Spec>): Partial<ReleaseConfig>;
  readonly places?: { readonly docker: string; readonly image: string };
  readonly mindsInstalled?: boolean;
  readonly sharesSecrets?: boolean;
  host?(id: string, spec: Spec): string;
  process?(spec: Spec): OwnProcess;
  obstacle?(spec: Spec, driver: string): string | null;
  fault?(spec: Spec): string | null;
}

/** A kind by its own types: the HTTP layer has checked requests against the contract, and specs are stored with their type. */
export function defineKind<Spec extends ServiceSpec, Create, Edit, Deploy>(
  kind: TypedKind<Spec, Create, Edit, Deploy>,
): ServiceKind {
  return kind;
}

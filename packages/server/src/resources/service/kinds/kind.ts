import type { ServedType } from '@davit/contract';
import type { ReleaseSource } from '@davit/engine/port';
import type { Problems } from '../../shared/problems.ts';
import type { Groups } from '../groups.ts';
import type { ServiceRow } from '../rows.ts';
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
  /** Of the environment: what a new service has when its request says nothing. */
  readonly autoPreview: boolean;
  /** Takes a secret of the request, to be stored with the service. Answers the id that the spec has in its place. */
  secret(value: string): string;
}

/** What the spec of every service has, whatever its type. */
export interface ServiceSpec extends GroupsSpec {
  readonly icon_uri: string;
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
  record(row: ServiceRow, caps: Caps | null, groups?: Groups): ServiceRecord;
  /** What of the spec is about processes and their addresses; nothing of it for a type that has none. */
  process(spec: ServiceSpec): ProcessParts;
  /** What a release is made of. */
  source(row: SourceRow): ReleaseSource;
  /** Why a cluster of that driver cannot run services of this type, to go on after its name; null: it can. Left out: all can. */
  refusal?(driver: string): string | null;
  /** Where a request names the git repository, if not as `git_repository`. */
  readonly repositoryPath?: string;
  /** What a request to deploy asks for. VALIDATION_FAILED is thrown. */
  wish(request: unknown): DeployWish;
}

/** What of a row a source comes from. */
export type SourceRow<Spec extends ServiceSpec = ServiceSpec> = Pick<ServiceRow<Spec>, 'spec' | 'registry'>;

/** An earlier release, or the configuration of now: at a commit, or at the newest one, edited by `edit` first. */
export interface DeployWish {
  readonly releaseId: string | null;
  readonly commitId: string | null;
  readonly edit?: object;
  /** Instead of an apply. */
  readonly terraformAction?: 'PLAN' | 'FORCE_UNLOCK' | 'MIGRATE_STATE';
}

interface TypedKind<Spec extends ServiceSpec, Create, Edit, Deploy> {
  readonly type: ServedType;
  readonly stageName: string;
  readonly hostPrefix: string;
  create(request: Create, rules: SpecRules): Spec;
  edit(request: Edit, former: Spec, rules: SpecRules): Spec;
  record(row: ServiceRow<Spec>, caps: Caps | null, groups?: Groups): ServiceRecord;
  process(spec: Spec): ProcessParts;
  source(row: SourceRow<Spec>): ReleaseSource;
  refusal?(driver: string): string | null;
  readonly repositoryPath?: string;
  wish(request: Deploy): DeployWish;
}

/** A kind by its own types: the HTTP layer has checked requests against the contract, and specs are stored with their type. */
export function defineKind<Spec extends ServiceSpec, Create, Edit, Deploy>(
  kind: TypedKind<Spec, Create, Edit, Deploy>,
): ServiceKind {
  return kind;
}

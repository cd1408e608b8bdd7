import type { ContainerRegistryKind, EnvironmentMode } from '@davit/contract';
import type { ReleaseCommit } from '@davit/engine/port';
import type { DatabaseFacts } from '../variable/index.ts';
import type { ServiceSpec } from './kinds/kind.ts';

/** A container registry, as the services that use it show it. */
export interface RegistryDetails {
  readonly id: string;
  readonly name: string;
  readonly url: string;
  readonly kind: ContainerRegistryKind;
}

/** What a Helm chart names, as its record shows it. */
export interface ChartDetails {
  readonly repository: { readonly id: string; readonly name: string; readonly url: string } | null;
  /** Of the git token for its values. */
  readonly values_token_name: string | null;
}

/** A service as its record shows it. */
export interface ServiceRow<Spec extends ServiceSpec = ServiceSpec> {
  readonly id: string;
  readonly organization_id: string;
  readonly environment_id: string;
  readonly type: string;
  readonly name: string;
  readonly spec: Spec;
  readonly created_at: string;
  readonly updated_at: string;
  /** Kind of cluster that it is on. */
  readonly driver: string;
  readonly git_token_name: string | null;
  /** Of services whose image comes from one. */
  readonly registry: RegistryDetails | null;
  /** Of Helm charts. */
  readonly chart: ChartDetails | null;
  /** Of the release that is deployed. */
  readonly deployed_commit: ReleaseCommit | null;
}

/** A service with all around it that a release or an action needs. */
export interface ServiceFacts extends ServiceRow {
  readonly project_id: string;
  readonly project_created_at: string;
  readonly environment_name: string;
  readonly environment_mode: EnvironmentMode;
  readonly environment_created_at: string;
  readonly environment_deleting: boolean;
  readonly cluster_id: string;
  readonly cloud_provider: string;
  readonly region: string;
  readonly stage_id: string;
  readonly stage_name: string;
  readonly stage_position: number;
  readonly is_skipped: boolean;
  /** Of its environment. */
  readonly databases: readonly DatabaseFacts[];
  readonly deleting: boolean;
  /** Hosts of its custom domains that are proven to be its organization's, sorted. */
  readonly domains: readonly string[];
}

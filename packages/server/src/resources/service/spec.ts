import type { DatabaseCatalogue } from '../../catalogue/databases.ts';
import type { Problems } from '../shared/problems.ts';
import type { AdvancedSettingsSpec } from './shapes/advanced-settings.ts';
import type { GroupsSpec } from './shapes/groups.ts';
import type { ReservedPorts } from './shapes/ports.ts';

/** The most that the cluster gives to one service; null: the cluster has never responded. */
export interface Caps {
  readonly cpuMillicores: number;
  readonly memoryMiB: number;
}

/** The facts that a request is checked against. */
export interface SpecRules {
  readonly problems: Problems;
  readonly caps: Caps | null;
  readonly reserved: ReservedPorts;
  readonly allowLocalRepositories: boolean;
  /**
   * True if this kind of cluster can scale by events. The deployment checks whether the cluster has the components for
   * it.
   */
  readonly scalesByEvents: boolean;
  /** Setting of the environment: the default of a new service's `auto_preview`. */
  readonly autoPreview: boolean;
  readonly databases: DatabaseCatalogue;
  /**
   * For edits: true if the service has resources on its cluster, above all data. Only set for kinds with
   * `mindsInstalled`.
   */
  readonly isInstalled: boolean;
  /** Stores a text encrypted together with the service, and returns the id by which the spec references the text. */
  readonly newSecret: (text: string) => string;
}

/** Members of the spec of every service, whatever its type. */
export interface ServiceSpec extends GroupsSpec {
  readonly icon_uri: string;
  /** Settings that were changed; absent if there are none. */
  readonly advanced_settings?: AdvancedSettingsSpec;
}

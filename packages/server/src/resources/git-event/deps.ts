import type { Needs } from '../../deps.ts';
import type { ReleaseSettings } from '../service/index.ts';

export type GitEventDeps = Needs<
  'database' | 'engine' | 'vault' | 'databases',
  | keyof ReleaseSettings
  | 'allowHttpRegistries'
  | 'allowLocalRepositories'
  | 'allowPrivateTargets'
  | 'gatewayHttpsPort'
  | 'gitDeployForcePushes'
  | 'host'
  | 'port'
  | 'previewForks'
  | 'previewHours'
  | 'previewsPerEnvironment'
  | 'publicUrl'
>;

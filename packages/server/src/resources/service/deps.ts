import type { Needs } from '../../deps.ts';
import type { ReleaseSettings } from './release.ts';

export type ServiceDeps = Needs<
  'database' | 'engine' | 'vault' | 'databases',
  keyof ReleaseSettings | 'allowLocalRepositories' | 'gatewayHttpsPort' | 'port'
>;

import type { Database } from '@davit/db';
import type { EnginePort } from '@davit/engine/port';
import type { Sessions } from './auth/sessions.ts';
import type { Catalogue } from './catalogue/catalogue.ts';
import type { DatabaseCatalogue } from './catalogue/databases.ts';
import type { LifecycleTemplates } from './catalogue/lifecycle-templates.ts';
import type { Configuration } from './configuration.ts';
import type { PlatformCounts } from './metrics/counts.ts';
import type { DockerfileFacts } from './dockerfile.ts';
import type { Vault } from './secrets/vault.ts';

/** Dependencies of rules. Every rule gets them; they are created in `main/api.ts` and in tests. */
export interface Deps {
  readonly database: Database;
  readonly engine: EnginePort;
  readonly vault: Vault;
  readonly config: Configuration;
  readonly catalogue: Catalogue;
  readonly databases: DatabaseCatalogue;
  readonly lifecycleTemplates: LifecycleTemplates;
  /** Parses a Dockerfile without building it. */
  readonly readDockerfile: (content: string) => DockerfileFacts;
  /** The cache of valid tokens. A rule that revokes a token, a membership or a right must call `forget`. */
  readonly tokens: { forget(): void };
  readonly sessions: Sessions;
  readonly counts: PlatformCounts;
}

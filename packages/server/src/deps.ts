import type { Database } from '@davit/db';
import type { EnginePort } from '@davit/engine/port';
import type { Sessions } from './auth/sessions.ts';
import type { Catalogue } from './catalogue/catalogue.ts';
import type { DatabaseCatalogue } from './catalogue/databases.ts';
import type { LifecycleTemplates } from './catalogue/lifecycle-templates.ts';
import type { Configuration } from './main/config.ts';
import type { PlatformCounts } from './metrics/counts.ts';
import type { DockerfileFacts } from './dockerfile.ts';
import type { Streams } from './resources/stream/index.ts';
import type { Vault } from './secrets/vault.ts';

/** What rules need. Handed to every rule; made in `main/compose.ts` and in tests. */
export interface Deps {
  readonly database: Database;
  readonly engine: EnginePort;
  readonly vault: Vault;
  readonly config: Configuration;
  readonly catalogue: Catalogue;
  readonly databases: DatabaseCatalogue;
  readonly lifecycleTemplates: LifecycleTemplates;
  /** What a Dockerfile says, without building it. */
  readonly readDockerfile: (content: string) => DockerfileFacts;
  /** Tokens that were found good lately; a rule that takes a token, membership or right away says so. */
  readonly tokens: { forget(): void };
  readonly sessions: Sessions;
  readonly streams: Streams;
  readonly counts: PlatformCounts;
}

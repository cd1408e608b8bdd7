import type { Database } from '@davit/db';
import type { EnginePort } from '@davit/engine/port';
import type { IssuerClients } from './auth/issuer-clients.ts';
import type { Passwords } from './auth/passwords.ts';
import type { Sessions } from './auth/sessions.ts';
import type { SignInStates } from './auth/sign-in-states.ts';
import type { Catalogue } from './catalogue/catalogue.ts';
import type { DatabaseCatalogue } from './catalogue/databases.ts';
import type { LifecycleTemplates } from './catalogue/lifecycle-templates.ts';
import type { Configuration, Settings } from './configuration.ts';
import type { PlatformCounts } from './metrics/counts.ts';
import type { DockerfileFacts } from './dockerfile.ts';
import type { Vault } from './secrets/vault.ts';
import type { Vocabulary } from './vocabulary/vocabulary.ts';

/** The dependencies of all rules, created in `main/api.ts` and in tests. A rule asks for `Needs`, not for all. */
export interface Deps {
  readonly database: Database;
  readonly engine: EnginePort;
  readonly vault: Vault;
  readonly config: Configuration;
  /** Words of clients that are served under an own base path; null: none. */
  readonly vocabulary: Vocabulary | null;
  readonly catalogue: Catalogue;
  readonly databases: DatabaseCatalogue;
  readonly lifecycleTemplates: LifecycleTemplates;
  /** Parses a Dockerfile without building it. */
  readonly readDockerfile: (content: string) => DockerfileFacts;
  /** The cache of valid tokens. A rule that revokes a token, a membership or a right must call `forget`. */
  readonly tokens: { forget(): void };
  readonly sessions: Sessions;
  readonly passwords: Passwords;
  readonly signInStates: SignInStates;
  readonly issuerClients: IssuerClients;
  readonly counts: PlatformCounts;
}

/**
 * The dependencies of a rule, by name, and the settings of the operator that it reads:
 * `Needs<'database' | 'engine', 'publicUrl'>`.
 */
export type Needs<Name extends Exclude<keyof Deps, 'config'>, Setting extends keyof Configuration = never> = Pick<Deps, Name> &
  ([Setting] extends [never] ? unknown : { readonly config: Settings<Setting> });

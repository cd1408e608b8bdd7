import type { Changes, FailureRecord } from '@davit/engine/port';
import type { Deps } from '../../deps.ts';
import { TryAgain } from './attempt.ts';
import type { CandidateRow } from './store.ts';

/** A repository as one of its services reaches it. */
type Reached = Pick<CandidateRow, 'url' | 'git_token_id' | 'driver'>;

/** Two commits; see the driver. */
interface Compared {
  readonly base: string;
  readonly head: string;
  readonly sinceParting: boolean;
}

/**
 * Looks at one repository for several services: each comparison is made once. TryAgain where the host does not answer, or has not
 * what was pushed, as some tell of a push before they serve it.
 */
export class RepositoryLook {
  readonly #deps: Deps;
  readonly #reached: Reached;
  readonly #known = new Map<string, Promise<Changes>>();

  constructor(deps: Deps, services: readonly Reached[]) {
    this.#deps = deps;
    // Any that brings a token sees at least what one without does.
    const reached = services.find(({ git_token_id }) => git_token_id !== null) ?? services[0];
    if (reached === undefined) throw new Error('a repository is looked at for at least one service');
    this.#reached = reached;
  }

  changes({ base, head, sinceParting }: Compared): Promise<Changes> {
    const key = `${base} ${head} ${sinceParting}`;
    const known = this.#known.get(key) ?? this.#ask({ base, head, sinceParting });
    this.#known.set(key, known);
    return known;
  }

  async #ask(compared: Compared): Promise<Changes> {
    return orAgain(await this.#deps.engine.source.changes({ ...this.#question(null), ...compared }));
  }

  /** Branches with their newest commits, and the default one. */
  async heads() {
    return orAgain(await this.#deps.engine.source.heads(this.#question(null)));
  }

  #question(branch: string | null) {
    const { driver, url, git_token_id: gitTokenId } = this.#reached;
    return { driver, url, gitTokenId, branch };
  }
}

function orAgain<Answer extends object>(answer: Answer | { readonly failure: FailureRecord }): Answer {
  if (!('failure' in answer)) return answer;
  throw new TryAgain(answer.failure.message);
}

import type { Changes, FailureRecord } from '@davit/engine/port';
import type { Needs } from '../../deps.ts';
import { TryAgain } from './attempt.ts';
import type { CandidateRow } from './store.ts';

/** Access to a repository, as one of its services has it. */
type Reached = Pick<CandidateRow, 'url' | 'git_token_id' | 'driver'>;

/** Two commits to compare; see the driver. */
interface Compared {
  readonly base: string;
  readonly head: string;
  readonly sinceParting: boolean;
}

/**
 * Reads one repository on behalf of several services. Each comparison is made only once. Fails with TryAgain if the git
 * host is unreachable, or if it does not have the pushed commits yet. Some hosts announce a push before they serve it.
 */
export class RepositoryLook {
  readonly #deps: Needs<'engine'>;
  readonly #reached: Reached;
  readonly #known = new Map<string, Promise<Changes>>();

  constructor(deps: Needs<'engine'>, services: readonly Reached[]) {
    this.#deps = deps;
    // A service with a token sees at least as much as one without.
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

  /** Returns the branches with their newest commits, and the default branch. */
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

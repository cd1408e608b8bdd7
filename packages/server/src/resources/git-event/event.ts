/*
 * What git hosts tell, in one form for all of them.
 */

/** A branch that moved, came or went. */
export interface PushEvent {
  readonly kind: 'PUSH';
  readonly branch: string;
  /** null: the branch is new. */
  readonly before: string | null;
  /** null: the branch is gone. */
  readonly after: string | null;
  /** Whether history was rewritten; null: the host does not tell. */
  readonly isForced: boolean | null;
  /** null: the host does not tell. */
  readonly defaultBranch: string | null;
  readonly author: string;
}

/** Where a pull request comes from or goes to. */
export interface RequestEnd {
  readonly branch: string;
  /** Some hosts shorten it. null: the host does not tell. */
  readonly commit: string | null;
  /** https URL of the repository; null: the host does not tell. */
  readonly url: string | null;
}

export interface PullRequestEvent {
  readonly kind: 'PULL_REQUEST';
  /** OPEN: it is open, with these commits, whether for the first time or not. */
  readonly action: 'OPEN' | 'CLOSED';
  readonly number: string;
  readonly title: string;
  readonly source: RequestEnd;
  readonly target: RequestEnd;
  /** It comes from another repository. */
  readonly isFork: boolean;
  readonly isMerged: boolean;
  readonly author: string;
}

/** What changes no branch, or nothing that is of interest. */
export interface OtherEvent {
  readonly kind: 'OTHER';
  readonly summary: string;
  /** Why nothing is done. */
  readonly reason: string;
}

export type GitEvent = PushEvent | PullRequestEvent | OtherEvent;

/** What happened, in a sentence. */
export function summaryOf(event: GitEvent): string {
  switch (event.kind) {
    case 'PUSH': {
      const by = event.author === '' ? '' : ` by ${event.author}`;
      return event.after === null
        ? `The branch ${event.branch} was deleted${by}.`
        : `${event.after.slice(0, 12)} was pushed to ${event.branch}${by}.`;
    }
    case 'PULL_REQUEST': {
      const became = event.action === 'OPEN' ? 'is open' : event.isMerged ? 'was merged' : 'was closed';
      return `Pull request ${event.number} (${event.source.branch} to ${event.target.branch}) ${became}: ${event.title}`;
    }
    default:
      return event.summary;
  }
}

/*
 * The events of all git hosts, in one common form.
 */

/** A branch that was created, moved or deleted. */
export interface PushEvent {
  readonly kind: 'PUSH';
  readonly branch: string;
  /** Null: the branch is new. */
  readonly before: string | null;
  /** Null: the branch was deleted. */
  readonly after: string | null;
  /** Whether history was rewritten. Null: the host does not report it. */
  readonly isForced: boolean | null;
  /** Null: the host does not report it. */
  readonly defaultBranch: string | null;
  readonly author: string;
}

/** The source or the target of a pull request. */
export interface RequestEnd {
  readonly branch: string;
  /** The commit id, which some hosts abbreviate. Null: the host does not report it. */
  readonly commit: string | null;
  /** HTTPS URL of the repository. Null: the host does not report it. */
  readonly url: string | null;
}

export interface PullRequestEvent {
  readonly kind: 'PULL_REQUEST';
  /** OPEN: the request is open with these commits, either newly opened or updated. */
  readonly action: 'OPEN' | 'CLOSED';
  readonly number: string;
  readonly title: string;
  readonly source: RequestEnd;
  readonly target: RequestEnd;
  /** Whether the request comes from another repository. */
  readonly isFork: boolean;
  readonly isMerged: boolean;
  readonly author: string;
}

/** An event that changes no branch or has no consequences. */
export interface OtherEvent {
  readonly kind: 'OTHER';
  readonly summary: string;
  /** The reason why the event is ignored. */
  readonly reason: string;
}

export type GitEvent = PushEvent | PullRequestEvent | OtherEvent;

/** Returns a description of the event, in one sentence. */
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

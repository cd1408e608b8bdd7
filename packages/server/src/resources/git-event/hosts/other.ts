import type { OtherEvent } from '../event.ts';

/*
 * Events of git hosts without consequences. They are only recorded, with the reason.
 */

export function nothing(summary: string, reason: string): OtherEvent {
  return { kind: 'OTHER', summary, reason };
}

export function pushedTag(name: string): OtherEvent {
  return nothing(`The tag ${name} was pushed.`, 'tags trigger no deployments: services follow branches');
}

/** Returns the event for a push of a reference for which `branchOf` returns null. */
export function notABranch(ref: string): OtherEvent {
  const tag = 'refs/tags/';
  return ref.startsWith(tag)
    ? pushedTag(ref.slice(tag.length))
    : nothing(`${ref || 'Something'} was pushed.`, 'it is not a branch');
}

/** Returns the branch of `refs/heads/<branch>`. Null for any other reference. */
export function branchOf(ref: string): string | null {
  return /^refs\/heads\/(.+)$/.exec(ref)?.[1] ?? null;
}

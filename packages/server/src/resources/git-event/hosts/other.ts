import type { OtherEvent } from '../event.ts';

/*
 * What git hosts tell and nothing follows from: it is only kept, with the reason.
 */

export function nothing(summary: string, reason: string): OtherEvent {
  return { kind: 'OTHER', summary, reason };
}

export function pushedTag(name: string): OtherEvent {
  return nothing(`The tag ${name} was pushed.`, 'tags deploy nothing: services follow branches');
}

/** The push of a reference that `branchOf` gives nothing for. */
export function notABranch(ref: string): OtherEvent {
  const tag = 'refs/tags/';
  return ref.startsWith(tag) ? pushedTag(ref.slice(tag.length)) : nothing(`${ref || 'Something'} was pushed.`, 'it is no branch');
}

/** Of `refs/heads/<branch>`; null: it is another reference. */
export function branchOf(ref: string): string | null {
  return /^refs\/heads\/(.+)$/.exec(ref)?.[1] ?? null;
}

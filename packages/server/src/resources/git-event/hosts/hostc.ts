import type { GitEvent, RequestEnd } from '../event.ts';
import { notABranch, nothing, pushedTag } from './other.ts';
import { commitId, list, numberText, partOf, text, type Part } from './payload.ts';

const open = new Set(['pullrequest:created', 'pullrequest:updated']);
const closed = new Set(['pullrequest:fulfilled', 'pullrequest:rejected']);

/**
 * Reads the events of HOSTC, which reports all branches of a push in one delivery. `name`: name of the event, from the
 * header.
 */
export function readHostC(name: string, payload: unknown): readonly GitEvent[] {
  const whole = partOf(payload);
  if (name === 'repo:push') {
    const author = text(partOf(whole, 'actor')['nickname']) || text(partOf(whole, 'actor')['display_name']);
    return list(partOf(whole, 'push')['changes']).map((change) => readChange(partOf(change), author));
  }
  if (open.has(name) || closed.has(name)) return [readPullRequest(name, whole)];
  return [nothing(`The git host sent the event ${name}.`, 'Davit acts on pushes and pull requests only')];
}

function readChange(change: Part, author: string): GitEvent {
  const former = partOf(change, 'old');
  const present = partOf(change, 'new');
  const one = text(present['name']) === '' ? former : present;
  const name = text(one['name']);
  if (text(one['type']) === 'tag') return pushedTag(name);
  if (name === '') return notABranch('');
  return {
    kind: 'PUSH',
    branch: name,
    before: commitId(partOf(former, 'target')['hash']),
    after: commitId(partOf(present, 'target')['hash']),
    isForced: typeof change['forced'] === 'boolean' ? change['forced'] : null,
    defaultBranch: null,
    author,
  };
}

function readPullRequest(name: string, payload: Part): GitEvent {
  const request = partOf(payload, 'pullrequest');
  return {
    kind: 'PULL_REQUEST',
    action: closed.has(name) ? 'CLOSED' : 'OPEN',
    number: numberText(request['id']),
    title: text(request['title']),
    source: endOf(partOf(request, 'source')),
    target: endOf(partOf(request, 'destination')),
    isFork: nameOf(partOf(request, 'source')) !== nameOf(partOf(request, 'destination')),
    isMerged: name === 'pullrequest:fulfilled',
    author: text(partOf(request, 'author')['nickname']) || text(partOf(request, 'author')['display_name']),
  };
}

function endOf(end: Part): RequestEnd {
  const page = text(partOf(end, 'repository', 'links', 'html')['href']);
  return {
    branch: text(partOf(end, 'branch')['name']),
    commit: commitId(partOf(end, 'commit')['hash']),
    url: page === '' ? null : `${page}.git`,
  };
}

function nameOf(end: Part): string {
  return text(partOf(end, 'repository')['full_name']).toLowerCase();
}

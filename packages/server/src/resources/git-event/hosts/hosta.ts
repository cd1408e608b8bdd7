import type { GitEvent, RequestEnd } from '../event.ts';
import { branchOf, notABranch, nothing } from './other.ts';
import { commitId, numberText, partOf, text, textOrNull, type Part } from './payload.ts';

/*
 * HOSTA, servers with a compatible API (which spell two words differently), and generic servers.
 */

/** `name`: name of the event, from the header. */
export function readHostA(name: string, payload: unknown): readonly GitEvent[] {
  if (name === 'push') return [readPush(partOf(payload))];
  if (name === 'pull_request') return [readPullRequest(partOf(payload))];
  if (name === 'ping')
    return [nothing('The git host sent a ping.', 'the webhook works; Davit acts on pushes and pull requests only')];
  return [nothing(`The git host sent the event ${name}.`, 'Davit acts on pushes and pull requests only')];
}

function readPush(payload: Part): GitEvent {
  const ref = text(payload['ref']);
  const branch = branchOf(ref);
  if (branch === null) return notABranch(ref);
  return {
    kind: 'PUSH',
    branch,
    before: commitId(payload['before']),
    after: payload['deleted'] === true ? null : commitId(payload['after']),
    isForced: typeof payload['forced'] === 'boolean' ? payload['forced'] : null,
    defaultBranch: textOrNull(partOf(payload, 'repository')['default_branch']),
    author: text(partOf(payload, 'pusher')['name']) || text(partOf(payload, 'pusher')['login']),
  };
}

const open = new Set(['opened', 'reopened', 'synchronize', 'synchronized', 'edited', 'ready_for_review']);

function readPullRequest(payload: Part): GitEvent {
  const action = text(payload['action']);
  if (!open.has(action) && action !== 'closed') {
    return nothing(`A pull request was ${action}.`, 'this changes neither its commits nor whether it is open');
  }
  const request = partOf(payload, 'pull_request');
  const source = endOf(partOf(request, 'head'));
  const target = endOf(partOf(request, 'base'));
  return {
    kind: 'PULL_REQUEST',
    action: action === 'closed' ? 'CLOSED' : 'OPEN',
    number: numberText(request['number']) || numberText(payload['number']),
    title: text(request['title']),
    source,
    target,
    isFork: nameOf(partOf(request, 'head')) !== nameOf(partOf(request, 'base')),
    isMerged: request['merged'] === true,
    author: text(partOf(request, 'user')['login']),
  };
}

function endOf(end: Part): RequestEnd {
  return { branch: text(end['ref']), commit: commitId(end['sha']), url: textOrNull(partOf(end, 'repo')['clone_url']) };
}

// A deleted fork has no repository. A repository that is unknown counts as a different one.
function nameOf(end: Part): string {
  return text(partOf(end, 'repo')['full_name']).toLowerCase();
}

import type { GitEvent } from '../event.ts';
import { branchOf, notABranch, nothing } from './other.ts';
import { commitId, numberText, partOf, text, textOrNull, type Part } from './payload.ts';

/** Reads the events of HOSTB, whose payload also contains the type of the event. */
export function readHostB(payload: unknown): readonly GitEvent[] {
  const whole = partOf(payload);
  const kind = text(whole['object_kind']);
  if (kind === 'push') return [readPush(whole)];
  if (kind === 'tag_push') return [notABranch(text(whole['ref']))];
  if (kind === 'merge_request') return [readMergeRequest(whole)];
  return [nothing(`The git host sent the event ${kind || '(none)'}.`, 'Davit acts on pushes and merge requests only')];
}

function readPush(payload: Part): GitEvent {
  const ref = text(payload['ref']);
  const branch = branchOf(ref);
  if (branch === null) return notABranch(ref);
  return {
    kind: 'PUSH',
    branch,
    before: commitId(payload['before']),
    after: commitId(payload['after']),
    isForced: null,
    defaultBranch: textOrNull(partOf(payload, 'project')['default_branch']),
    author: text(payload['user_username']),
  };
}

const actions: Readonly<Record<string, 'OPEN' | 'CLOSED'>> = {
  open: 'OPEN',
  reopen: 'OPEN',
  update: 'OPEN',
  close: 'CLOSED',
  merge: 'CLOSED',
};

function readMergeRequest(payload: Part): GitEvent {
  const request = partOf(payload, 'object_attributes');
  const word = text(request['action']);
  const action = actions[word];
  if (action === undefined) {
    return nothing(`A merge request: ${word || 'something'}.`, 'this changes neither its commits nor whether it is open');
  }
  return {
    kind: 'PULL_REQUEST',
    action,
    number: numberText(request['iid']),
    title: text(request['title']),
    source: {
      branch: text(request['source_branch']),
      commit: commitId(partOf(request, 'last_commit')['id']),
      url: textOrNull(partOf(request, 'source')['git_http_url']),
    },
    target: {
      branch: text(request['target_branch']),
      commit: null,
      url: textOrNull(partOf(request, 'target')['git_http_url']),
    },
    isFork: typeof request['source_project_id'] !== 'number' || request['source_project_id'] !== request['target_project_id'],
    isMerged: word === 'merge',
    author: text(partOf(payload, 'user')['username']),
  };
}

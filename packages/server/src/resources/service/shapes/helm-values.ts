import { hasControlCharacter } from '@davit/base';
import type { Body, operations } from '@davit/contract';
import { leavesRoot, type Problems } from '../../shared/problems.ts';
import { toGitRepository, type GitRepositorySpec } from './git.ts';
import { refuseDuplicates } from './identity.ts';

type ValuesRequest = NonNullable<Body<(typeof operations)['createHelm']>['values_override']>;
type FileRequest = NonNullable<ValuesRequest['file']>;

/** `[name, value]` */
export type Pair = readonly string[];

/** The overrides of a chart's values, as stored. At most one member of `file` is set. */
export interface HelmValuesSpec {
  readonly set: readonly Pair[];
  readonly set_string: readonly Pair[];
  readonly set_json: readonly Pair[];
  readonly file: {
    readonly raw: { readonly values: readonly { readonly name: string; readonly content: string }[] } | null;
    readonly git: { readonly git_repository: GitRepositorySpec; readonly paths: readonly string[] } | null;
  } | null;
}

/** The facts that values are checked against. */
interface ValueRules {
  readonly problems: Problems;
  readonly allowLocalRepositories: boolean;
}

const lists = ['set', 'set_string', 'set_json'] as const;

/** Returns the values after a request. An omitted list stays; null empties it. */
export function toHelmValues(request: ValuesRequest, former: HelmValuesSpec, rules: ValueRules): HelmValuesSpec {
  const [set, setString, setJson] = lists.map((name) => (request[name] === undefined ? former[name] : (request[name] ?? [])));
  const values = {
    set: set ?? [],
    set_string: setString ?? [],
    set_json: setJson ?? [],
    file: request.file === undefined ? former.file : request.file && toFile(request.file, former, rules),
  };
  for (const name of lists) {
    values[name].forEach((pair, index) => checkPair(pair, name, `values_override.${name}.${index}`, rules.problems));
  }
  return values;
}

function checkPair([name = '', value = '']: Pair, list: (typeof lists)[number], at: string, problems: Problems): void {
  if (name.trim() === '' || hasControlCharacter(name)) {
    problems.add(`${at}.0`, 'must be the name of a value, as in image.tag, without control characters');
  }
  if (list === 'set_json' && !isJson(value)) problems.add(`${at}.1`, 'must be JSON, as in {"a": [1, 2]} or "text"');
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

function toFile(request: FileRequest, former: HelmValuesSpec, rules: ValueRules): HelmValuesSpec['file'] {
  const { problems } = rules;
  const at = 'values_override.file';
  const { raw, git } = request;
  if (raw && git) problems.add(at, 'must have at most one of raw and git; both are set');
  if (raw) {
    raw.values.forEach(({ name }, index) => {
      if (name.includes('/') || name.startsWith('-') || hasControlCharacter(name) || leavesRoot(name)) {
        problems.add(`${at}.raw.values.${index}.name`, 'must be the name of a file, as in values.yaml, without a folder');
      }
    });
    refuseDuplicates(
      raw.values.map(({ name }) => name),
      (index, first) => problems.add(`${at}.raw.values.${index}.name`, `is the name of raw.values.${first} already`),
    );
    return { raw: { values: raw.values }, git: null };
  }
  if (!git) return null;
  git.paths.forEach((path, index) => {
    if (path.startsWith('-') || leavesRoot(path) || hasControlCharacter(path)) {
      problems.add(`${at}.git.paths.${index}`, 'must be a file inside the repository, without .. and control characters');
    }
  });
  const repository = { problems, allowLocal: rules.allowLocalRepositories, at: `${at}.git.git_repository` };
  const before = former.file?.git?.git_repository ?? null;
  return { raw: null, git: { git_repository: toGitRepository(git.git_repository, before, repository), paths: git.paths } };
}

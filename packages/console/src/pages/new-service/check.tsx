import { ApiError } from '@davit/client';
import { useMutation } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { send } from '../../data/send.ts';
import { Button } from '../../parts/button.tsx';
import { filled } from '../../parts/values.ts';
import type { FormState } from '../../parts/entry-form.tsx';
import { State } from '../../parts/state.tsx';
import type { ServiceType } from '../../words.ts';
import { isList, valueAt, type Json } from '../../data/paths.ts';
import { chosenSource } from './entries.ts';

/** How a source is checked: the operation, its body, and where the paths of its errors are in the form. */
interface Check {
  readonly words: string;
  readonly operation: 'checkDockerfile' | 'checkContainerImage' | 'checkHelmRepository';
  readonly body: Json;
  /** Path that comes before those of the errors. */
  readonly prefix: string;
}

function checkOf(type: ServiceType, values: Json): Check | null {
  const isImage = type === 'CONTAINER' || (type === 'JOB' && valueAt(values, chosenSource) === 'image');
  if (isImage) {
    const prefix = type === 'JOB' ? 'source.image.' : '';
    const [registry_id, image_name, tag] = ['registry_id', 'image_name', 'tag'].map((one) => valueAt(values, `${prefix}${one}`));
    const body = filled({ registry_id, image_name, tag });
    return { words: 'Check the image', operation: 'checkContainerImage', body, prefix };
  }
  if (type === 'APPLICATION' || type === 'JOB') {
    const prefix = type === 'JOB' ? 'source.docker.' : '';
    const git_repository = valueAt(values, `${prefix}git_repository`);
    const body = filled({ git_repository, dockerfile_path: valueAt(values, `${prefix}dockerfile_path`) });
    return { words: 'Check the repository', operation: 'checkDockerfile', body, prefix };
  }
  if (type === 'HELM' && valueAt(values, chosenSource) === 'git') {
    const body = filled({ git_repository: valueAt(values, 'source.git_repository') });
    return { words: 'Check the repository', operation: 'checkHelmRepository', body, prefix: 'source.' };
  }
  return null;
}

interface SourceCheckProps {
  readonly environmentId: string;
  readonly type: ServiceType;
  readonly form: FormState;
  readonly refusal: string | null;
}

/** Reads the source before the service is created. What is wrong stands at the fields. */
export function SourceCheck({ environmentId, type, form: { values, set, setWrong }, refusal }: SourceCheckProps): ReactNode {
  const check = checkOf(type, values);
  const asked = JSON.stringify(check?.body);
  const action = useMutation({
    mutationFn: async (one: Check) => ({ asked, answer: await send(one.operation, { environmentId }, one.body) }),
    onMutate: () => setWrong(null),
    onError: (error, { prefix }) => setWrong(withPrefix(error, prefix)),
  });
  if (check === null) return null;
  const found = action.data?.asked === asked ? action.data.answer : undefined;
  const ports = listAt(found, 'ports');
  const known = valueAt(values, 'ports');
  return (
    <div className="source-check" role="status">
      <Button refusal={refusal ?? (action.isPending ? 'The server is asked.' : null)} onClick={() => action.mutate(check)}>
        {check.words}
      </Button>
      {action.isPending && <State shape="go">Reading it</State>}
      {found !== undefined && (
        <span>
          <State shape="ok">{check.operation === 'checkDockerfile' ? 'The Dockerfile can be built' : 'It is there'}</State>
          <Found words="Builds on" items={listAt(found, 'repositories')} />
          <Found words="Takes the arguments" items={listAt(found, 'arg')} />
          <Found words="Listens on" items={ports} />
        </span>
      )}
      {type === 'APPLICATION' && ports.length > 0 && isList(known) && known.length === 0 && (
        <Button isSmall onClick={() => set('ports', ports.map(publicPort))}>
          Use the ports
        </Button>
      )}
    </div>
  );
}

function publicPort(port: string): Json {
  return { internal_port: Number(port), protocol: 'HTTP', publicly_accessible: true };
}

function Found({ words, items }: { readonly words: string; readonly items: readonly string[] }): ReactNode {
  if (items.length === 0) return null;
  return (
    <span className="under block">
      {words} <bdi className="mono">{items.join(', ')}</bdi>
    </span>
  );
}

function listAt(answer: unknown, name: string): string[] {
  const list: unknown = typeof answer === 'object' && answer !== null ? Reflect.get(answer, name) : undefined;
  return Array.isArray(list) ? list.map(String) : [];
}

/** Returns the error with the paths of the form. */
function withPrefix(error: Error, prefix: string): Error {
  if (!(error instanceof ApiError) || prefix === '') return error;
  const errors = error.errors.map((one) => ({ ...one, path: `${prefix}${one.path}` }));
  return new ApiError({ status: error.status, code: error.code, message: error.message, errors });
}

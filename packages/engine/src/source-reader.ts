import { randomUUID } from 'node:crypto';
import { Sensitive } from '@davit/base';
import { DriverError, type GitSource } from '@davit/drivers';
import type { EngineParts } from './parts.ts';
import type { EnginePort, SourceQuestion } from './port.ts';
import { toFailure } from './run/failure.ts';
import { Semaphore } from './run/semaphore.ts';

// Whoever asks waits for the answer; a repository that takes longer can still be deployed.
const timeoutMilliseconds = 60_000;
// Each is a process and a folder; deployments go first.
const readsAtOnce = 4;

/** Looks into repositories for the API. */
export function createSourceReader(parts: Pick<EngineParts, 'drivers' | 'hooks' | 'log'>): EnginePort['readSource'] {
  const places = new Semaphore(readsAtOnce);
  return (question) =>
    places.use(async () => {
      const signal = AbortSignal.timeout(timeoutMilliseconds);
      try {
        return await read(parts, question, signal);
      } catch (error) {
        if (signal.aborted) return { failure: toFailure(tooSlow(question), '') };
        const reference = randomUUID();
        const failure = toFailure(error, reference);
        if (failure.code === 'INTERNAL') parts.log.error({ err: error, reference }, 'a repository could not be looked into');
        return { failure };
      }
    });
}

async function read(
  { drivers, hooks }: Pick<EngineParts, 'drivers' | 'hooks'>,
  question: SourceQuestion,
  signal: AbortSignal,
): ReturnType<EnginePort['readSource']> {
  const set = drivers[question.driver];
  if (set === undefined) {
    throw new DriverError({
      cause: 'ENGINE_UNREACHABLE',
      message: `This process has no cluster of the kind ${question.driver}.`,
    });
  }
  const credentials = question.gitTokenId === null ? null : await hooks.gitCredentials(question.gitTokenId);
  const source: GitSource = {
    url: question.url,
    ...(question.branch === null ? {} : { branch: question.branch }),
    ...(credentials === null
      ? {}
      : { credentials: { username: credentials.username, password: new Sensitive(credentials.password) } }),
  };
  const context = { signal, log: () => undefined };
  const commitId = await set.source.resolve(source, context);
  return { commitId, files: await set.source.files({ ...source, commit: commitId }, question, context) };
}

function tooSlow({ url }: SourceQuestion): DriverError {
  const seconds = timeoutMilliseconds / 1000;
  return new DriverError({
    cause: 'GIT_UNREACHABLE',
    message: `The git repository ${url} did not answer within ${seconds} seconds.`,
  });
}

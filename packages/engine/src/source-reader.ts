import { randomUUID } from 'node:crypto';
import { Sensitive } from '@davit/base';
import { DriverError, type CallContext, type GitSource, type SourceDriver } from '@davit/drivers';
import type { EngineParts } from './shared/parts.ts';
import type { EnginePort, RepositoryQuestion, SourceReader } from './port.ts';
import { toFailure } from './shared/failure.ts';
import { Semaphore } from './shared/semaphore.ts';

// The caller waits for the result. A repository that takes longer can still be deployed.
const timeoutMilliseconds = 60_000;
// Each read uses a process and a folder. Deployments have priority.
const readsAtOnce = 4;

type Parts = Pick<EngineParts, 'drivers' | 'hooks' | 'log'>;

/** Creates a reader of repositories for the API. */
export function createSourceReader(parts: Parts): SourceReader & Pick<EnginePort, 'readSource'> {
  const slots = new Semaphore(readsAtOnce);
  const ask = <Answer>(question: RepositoryQuestion, look: Look<Answer>) => slots.use(() => read(parts, question, look));
  return {
    readSource: (question) =>
      ask(question, async ({ driver, source, context }) => {
        const commitId = await driver.resolve(source, context);
        return { commitId, files: await driver.files({ ...source, commit: commitId }, question, context) };
      }),
    list: (question) =>
      ask(question, async ({ driver, source, context }) => {
        const heads = await driver.heads(source, context);
        // Without a branch, or for a name that git finds in another way, as a deployment does.
        const commitId = await driver.resolve(source, context);
        return { commitId, heads, ...(await driver.list({ ...source, commit: commitId }, question, context)) };
      }),
    heads: (question) => ask(question, ({ driver, source, context }) => driver.heads(source, context)),
    changes: (question) => ask(question, ({ driver, source, context }) => driver.changes(source, question, context)),
    history: (question) =>
      ask(question, async ({ driver, source, context }) => ({
        commits: await driver.history(source, question.limit, context),
      })),
  };
}

interface Reading {
  readonly driver: SourceDriver;
  readonly source: GitSource;
  readonly context: CallContext;
}
type Look<Answer> = (reading: Reading) => Promise<Answer>;

async function read<Answer>(parts: Parts, question: RepositoryQuestion, look: Look<Answer>) {
  const signal = AbortSignal.timeout(timeoutMilliseconds);
  try {
    return await look(await reading(parts, question, signal));
  } catch (error) {
    if (signal.aborted) return { failure: toFailure(tooSlow(question), '') };
    const reference = randomUUID();
    const failure = toFailure(error, reference);
    if (failure.code === 'INTERNAL') parts.log.error({ err: error, reference }, 'a repository could not be read');
    return { failure };
  }
}

async function reading({ drivers, hooks }: Parts, question: RepositoryQuestion, signal: AbortSignal): Promise<Reading> {
  // A repository does not depend on the cluster. It is read even if this process cannot reach the cluster.
  const set = drivers[question.driver] ?? Object.values(drivers)[0];
  if (set === undefined) {
    throw new DriverError({
      cause: 'ENGINE_UNREACHABLE',
      message: `This process has no cluster of the kind ${question.driver}.`,
    });
  }
  const credentials = question.gitTokenId === null ? null : await hooks.gitCredentials(question.gitTokenId, question.url);
  const source: GitSource = {
    url: question.url,
    ...(question.branch === null ? {} : { branch: question.branch }),
    ...(credentials === null ? {} : { credentials: { ...credentials, password: new Sensitive(credentials.password) } }),
  };
  return { driver: set.source, source, context: { signal, log: () => undefined } };
}

function tooSlow({ url }: RepositoryQuestion): DriverError {
  const seconds = timeoutMilliseconds / 1000;
  return new DriverError({
    cause: 'GIT_UNREACHABLE',
    message: `The git repository ${url} did not answer within ${seconds} seconds.`,
  });
}

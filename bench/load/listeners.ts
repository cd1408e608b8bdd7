import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

const program = fileURLToPath(new URL('listener.ts', import.meta.url));

/** Streams of one server: as many for each token. */
export interface ListenerPlan {
  readonly port: number;
  readonly path: string;
  readonly tokens: readonly string[];
  readonly perToken: number;
}

export interface Listeners {
  /** Closes the streams. Returns the bytes that each has received. */
  close(): Promise<readonly number[]>;
}

/** Opens streams in a separate process. Resolves once the server has answered all of them. */
export async function openListeners(plan: ListenerPlan): Promise<Listeners> {
  const child = fork(program, { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
  const exited = once(child, 'exit').then(() => Promise.reject(new Error('the clients of the streams have ended')));
  const answer = async (): Promise<unknown> => {
    const [message]: unknown[] = await Promise.race([once(child, 'message'), exited]);
    return message;
  };
  // The process ends after its last answer, which is no failure.
  exited.catch(() => undefined);
  const opened = answer();
  child.send(plan);
  await opened;
  return {
    close: async () => {
      const received = answer();
      child.send('close');
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- our own program's words
      return (await received) as number[];
    },
  };
}

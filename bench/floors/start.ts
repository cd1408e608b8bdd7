import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

/** A floor. It runs as a separate process, like Davit. */
export interface Floor {
  readonly child: ChildProcess;
  readonly pid: number;
  /** The first message of the program. */
  readonly greeting: unknown;
  stop(): Promise<void>;
}

/** Starts `bench/floors/<name>.ts` and waits until it reports that it is ready. */
export async function startFloor(name: string, options: readonly string[]): Promise<Floor> {
  const program = fileURLToPath(new URL(`${name}.ts`, import.meta.url));
  const child = fork(program, options, { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
  const ended = once(child, 'exit');
  const greeting: unknown = await Promise.race([
    once(child, 'message').then(([message]: unknown[]) => message),
    ended.then(() => Promise.reject(new Error(`the floor ${name} ended before it was ready`))),
  ]);
  return {
    child,
    pid: child.pid ?? 0,
    greeting,
    stop: async () => {
      if (child.connected) child.disconnect();
      await ended;
    },
  };
}

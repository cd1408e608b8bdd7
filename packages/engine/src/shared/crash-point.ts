import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { pause } from '@davit/base';

/*
 * Crash points for tests. With `DAVIT_TEST_ORDERS=<file>` the process reads that file at each of its points and
 * executes the order in it once:
 * - `<point> kill`: the process kills itself with SIGKILL, as if the machine had lost power;
 * - `<point> hold`: the process waits while `<file>.held` exists, so that the test can change the world meanwhile.
 *
 * The points are `<step>:before`, `<step>:after` (done, not yet recorded), `<step>:recorded`, `undo-<step>:before`,
 * `undo-<step>:after`, and those outside of steps: `finish:before`, `finish:after`, and `end:before`, `end:drained` and
 * `end:after` of former instances.
 */
const file = process.env['DAVIT_TEST_ORDERS'];

/**
 * Called at each point with the name of the point. The point is passed when the promise resolves, and fails when it
 * rejects.
 */
export type Interruption = (point: string) => Promise<void>;

let interruption: Interruption | null = null;

/**
 * Sets the interruption for tests whose engine runs in the test's process. They cannot kill the engine, but they can
 * stop it at its points.
 */
export function interruptAtPoints(action: Interruption | null): void {
  interruption = action;
}

export async function crashPoint(point: string): Promise<void> {
  await interruption?.(point);
  if (file === undefined || !existsSync(file)) return;
  const [wanted, order] = readFileSync(file, 'utf8').trim().split(' ');
  if (wanted !== point) return;
  rmSync(file);
  if (order === 'kill') {
    process.kill(process.pid, 'SIGKILL');
    await new Promise(() => undefined);
  }
  const held = `${file}.held`;
  writeFileSync(held, point);
  while (existsSync(held)) await pause(20);
}

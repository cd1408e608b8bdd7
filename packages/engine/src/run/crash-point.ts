import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';

/*
 * For the tests of crashes. With `DAVIT_TEST_ORDERS=<file>` the process looks at that file at each of its points, and does what it
 * says there once: `<point> kill` makes it kill itself with SIGKILL, as if the machine had lost power; `<point> hold` makes it wait,
 * while `<file>.held` is there, for what is done to the world meanwhile.
 *
 * Points are `<step>:before`, `<step>:after` (done, not yet recorded), `<step>:recorded`, `undo-<step>:before`,
 * `undo-<step>:after`, and those of what is no step.
 */
const file = process.env['DAVIT_TEST_ORDERS'];

/** Called at each point with its name; the point is passed when it resolves, and fails with what it throws. */
export type Interruption = (point: string) => Promise<void>;

let interruption: Interruption | null = null;

/** The same for tests whose engine runs in their own process: they cannot kill it, but they can stop it at its points. */
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

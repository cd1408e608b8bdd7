/**
 * For the crash tests: with `DAVIT_TEST_CRASH=<point>` the process kills itself with SIGKILL when it comes to that point, as if
 * the machine had lost power there. Points are `<step>:before`, `<step>:after` (done, not yet recorded) and `<step>:recorded`.
 */
const wanted = process.env['DAVIT_TEST_CRASH'];

export async function crashPoint(point: string): Promise<void> {
  if (wanted === undefined || wanted !== point) return;
  process.kill(process.pid, 'SIGKILL');
  await new Promise(() => undefined);
}

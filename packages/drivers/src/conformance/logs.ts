import type { ClusterDriver } from '../driver.ts';
import type { LogLine } from '../workload.ts';
import { never, type Suite, type Test, until } from './setup.ts';

/** Tests the output of instances. */
export function logTests(test: Test, expect: Suite['expect']): void {
  const texts = (lines: readonly LogLine[], stream: LogLine['stream']): string[] =>
    lines.filter((line) => line.stream === stream).map(({ text }) => text);

  test('gives the lines of both streams, and ends when the instance ends', async (setup) => {
    const workload = setup.workload('SERVES');
    const [id = ''] = await setup.run(workload);
    const lines: LogLine[] = [];
    const following = setup.driver.followLogs(id, null, (line) => void lines.push(line), never());
    await until(() => lines.length >= 2);
    await setup.driver.retire({ rollout: workload.rollout }, 1, setup.context());
    await following;
    // The order of two merged streams is not defined.
    const merges = setup.traits.mergesStreams === true;
    expect(texts(lines, 'stdout').slice(0, 2).toSorted()).toEqual(merges ? ['careful', 'hello'] : ['hello']);
    expect(texts(lines, 'stderr').slice(0, 1)).toEqual(merges ? [] : ['careful']);
    for (const { timestamp } of lines) expect(timestamp).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/);
  });

  test('resumes after a line without repeating or losing one', async (setup) => {
    const workload = setup.workload('SERVES');
    const [id = ''] = await setup.run(workload);
    const all = await linesOf(setup.driver, { id, since: null, count: 2 });
    const rest = await linesOf(setup.driver, { id, since: all[0]?.timestamp ?? '', count: 1 });
    expect(rest).toEqual(all.slice(1));
  });

  test('follows nothing, without a fault, for an instance that is gone', async (setup) => {
    const workload = setup.workload('SERVES');
    const [id = ''] = await setup.run(workload);
    await setup.driver.retire({ rollout: workload.rollout }, 1, setup.context());
    await setup.driver.followLogs(id, null, () => undefined, never());
  });

  test('follows and watches nothing, without a fault, when that was ended before it began', async (setup) => {
    const [id = ''] = await setup.run(setup.workload('SERVES'));
    await setup.driver.followLogs(id, null, () => undefined, AbortSignal.abort());
    await setup.driver.watch(() => undefined, AbortSignal.abort());
  });
}

async function linesOf(
  driver: ClusterDriver,
  { id, since, count }: { readonly id: string; readonly since: string | null; readonly count: number },
): Promise<LogLine[]> {
  const lines: LogLine[] = [];
  const stop = new AbortController();
  const onLine = (line: LogLine): void => {
    lines.push(line);
    if (lines.length >= count) stop.abort();
  };
  await driver.followLogs(id, { at: since }, onLine, stop.signal);
  return lines;
}

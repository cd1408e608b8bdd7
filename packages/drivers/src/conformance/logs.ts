import type { ClusterDriver } from '../driver.ts';
import type { LogLine } from '../workload.ts';
import { never, type Suite, type Test, until } from './stage.ts';

/** Tests the output of instances. */
export function logTests(test: Test, expect: Suite['expect']): void {
  const texts = (lines: readonly LogLine[], stream: LogLine['stream']): string[] =>
    lines.filter((line) => line.stream === stream).map(({ text }) => text);

  test('gives the lines of both streams, and ends when the instance ends', async (stage) => {
    const workload = stage.workload('SERVES');
    const [id = ''] = await stage.run(workload);
    const lines: LogLine[] = [];
    const following = stage.driver.followLogs(id, null, (line) => void lines.push(line), never());
    await until(() => lines.length >= 2);
    await stage.driver.retire({ rollout: workload.rollout }, 1, stage.context());
    await following;
    // The order of two merged streams is not defined.
    const merges = stage.traits.mergesStreams === true;
    expect(texts(lines, 'stdout').slice(0, 2).toSorted()).toEqual(merges ? ['careful', 'hello'] : ['hello']);
    expect(texts(lines, 'stderr').slice(0, 1)).toEqual(merges ? [] : ['careful']);
    for (const { timestamp } of lines) expect(timestamp).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/);
  });

  test('resumes after a line without repeating or losing one', async (stage) => {
    const workload = stage.workload('SERVES');
    const [id = ''] = await stage.run(workload);
    const all = await linesOf(stage.driver, { id, since: null, count: 2 });
    const rest = await linesOf(stage.driver, { id, since: all[0]?.timestamp ?? '', count: 1 });
    expect(rest).toEqual(all.slice(1));
  });

  test('follows nothing, without a fault, for an instance that is gone', async (stage) => {
    const workload = stage.workload('SERVES');
    const [id = ''] = await stage.run(workload);
    await stage.driver.retire({ rollout: workload.rollout }, 1, stage.context());
    await stage.driver.followLogs(id, null, () => undefined, never());
  });

  test('follows and watches nothing, without a fault, when that was ended before it began', async (stage) => {
    const [id = ''] = await stage.run(stage.workload('SERVES'));
    await stage.driver.followLogs(id, null, () => undefined, AbortSignal.abort());
    await stage.driver.watch(() => undefined, AbortSignal.abort());
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

import { expect, test } from 'vitest';
import type { Outlet } from './outlet.ts';
import { translatedOutlet } from './stream-route.ts';

test('the data of events with words of a vocabulary are translated, and everything else is written as it is', async () => {
  const written: string[] = [];
  const outlet: Outlet = {
    gone: new AbortController().signal,
    write: (text) => Promise.resolve(void written.push(text.toString())),
    end: (text) => void written.push(text),
  };
  const translate = (data: unknown): unknown => (data === null ? data : { ...data, origin: 'THEIRS' });
  const translated = translatedOutlet(outlet, new Map([['DEPLOYMENT', translate]]));
  const other = 'id: 2\nevent: LOG\ndata: {"origin":"OURS"}\n\n';
  await translated.write(`retry: 1000\nid: 1\nevent: DEPLOYMENT\ndata: {"id":"a","origin":"OURS"}\n\n${other}`);
  await translated.write(': heartbeat\n\n');
  expect(written).toEqual([
    `retry: 1000\nid: 1\nevent: DEPLOYMENT\ndata: {"id":"a","origin":"THEIRS"}\n\n${other}`,
    ': heartbeat\n\n',
  ]);
  expect(translatedOutlet(outlet, new Map())).toBe(outlet);
});

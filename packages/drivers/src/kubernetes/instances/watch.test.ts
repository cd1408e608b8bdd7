import type { Event, Pod } from 'kubernetes-types/core/v1.js';
import { expect, test, vi } from 'vitest';
import type { InstanceEvent } from '../../driver.ts';
import { label } from '../names/labels.ts';
import { startTestApi } from '../testing/api-server.ts';
import { watchInstances } from './watch.ts';

const pod: Pod = {
  metadata: { name: 'shop-x', namespace: 'davit-a', uid: 'u', labels: { [label.instance]: 'shop', [label.service]: 's' } },
};
const involvedObject = { kind: 'Pod', name: 'shop-x', uid: 'u' };
const kill: Event = {
  metadata: { uid: 'k', resourceVersion: '2' },
  involvedObject,
  reason: 'Killing',
  message: 'Container main failed liveness probe, will be restarted',
};
const attempt: Event = { metadata: {}, involvedObject, reason: 'Unhealthy', message: 'Liveness probe failed: no' };

test('a restart for the liveness probe is reported with its attempts, also after events could not be read once', async () => {
  let failures = 1;
  const served = await startTestApi((request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '', 'https://localhost');
    const isOfPods = pathname.endsWith('/pods');
    const answer = (items: readonly object[]): void => {
      response.end(JSON.stringify({ metadata: { resourceVersion: '1' }, items }));
    };
    if (searchParams.get('watch') === 'true') {
      response.flushHeaders();
      if (!isOfPods) response.write(`${JSON.stringify({ type: 'ADDED', object: kill })}\n`);
    } else if (isOfPods) {
      answer([pod]);
    } else if (pathname.includes('/namespaces/')) {
      answer([attempt]);
    } else if (failures > 0) {
      failures -= 1;
      response.statusCode = 500;
      response.end('{"message":"no"}');
    } else {
      answer([]);
    }
  });
  const end = new AbortController();
  const events: InstanceEvent[] = [];
  const watching = watchInstances({ api: served.api, installation: 'i' }, (event) => void events.push(event), end.signal);
  try {
    await vi.waitFor(() => expect(events).not.toEqual([]), { timeout: 20_000 });
    expect(events).toEqual([
      { type: 'NOT_LIVE', service: 's', instance: 'davit-a/shop', attempts: ['Liveness probe failed: no'] },
    ]);
  } finally {
    end.abort();
    await watching;
    served.close();
  }
});

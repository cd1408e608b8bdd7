import { expect, test } from 'vitest';
import { anonymous, type Caller } from '../../auth/caller.ts';
import type { Outlet } from '../../http/outlet.ts';
import type { Snapshot } from './position.ts';
import type { EventRow } from './store.ts';
import { Subscription, type SubscriptionParts } from './subscription.ts';

const snapshot: Snapshot = { xmin: 1, xmax: 1, underway: [] };
const boundary = (serial: number) => ({ snapshot, serial });
const [organization, kept, lost] = ['organization', 'kept', 'lost'];

/** Returns a person with a custom role that sees the environments of these projects. */
function viewerOf(...projects: readonly string[]): Caller {
  const seen = projects.map((id) => [id, { isAdmin: false, permissions: { DEVELOPMENT: 'VIEWER' } }] as const);
  const rights = { id: 'role', name: 'role', clusters: {}, projects: Object.fromEntries(seen) };
  return { ...anonymous, organizationId: organization, access: { kind: 'custom', rights } };
}

const row = (sequence: number, project_id: string): EventRow => ({
  sequence,
  organization_id: organization,
  project_id,
  environment_id: project_id,
  mode: 'DEVELOPMENT',
  service_id: 'service',
  deployment_id: null,
  kind: 'STEP',
  fact: {},
  at: '2026-01-01T00:00:00Z',
});

test('who loses the right to an environment while reading a page gets no more of it', async () => {
  const events = [row(1, lost), row(2, kept), row(3, lost), row(4, kept)];
  let caller = viewerOf(kept, lost);
  const written: string[] = [];
  const gone = new AbortController();
  // Long enough that each event is written by itself.
  const textOf = ({ sequence, project_id }: EventRow): string => `${project_id} ${sequence} ${'x'.repeat(40_000)}`;
  const hub = {
    follow: () => () => undefined,
    headBehind: () => Promise.resolve(boundary(0)),
    batchAfter: ({ serial }: { serial: number }) => {
      if (serial === 0) return { from: boundary(0), to: boundary(1), events };
      gone.abort();
      return 'head';
    },
  };
  const reader = {
    page: (_watch: object, { within }: { within?: { sequence: number } }) =>
      Promise.resolve({
        events: events.filter(({ sequence }) => sequence >= (within?.sequence ?? 0)),
        from: snapshot,
        upTo: snapshot,
        isWhole: true,
        to: boundary(1),
      }),
    environmentTexts: () => [].values(),
    texts: async function* (_watch: object, one: EventRow) {
      yield await Promise.resolve({
        text: textOf(one),
        position: { seen: snapshot, within: { upTo: snapshot, sequence: one.sequence + 1, parts: 0 } },
      });
    },
  };
  const log = {
    warn: ({ err }: { err: unknown }) => {
      throw err;
    },
  };
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the parts that this stream uses
  const parts = {
    hub,
    reader,
    deps: {},
    heartbeatMilliseconds: 10_000,
    patienceMilliseconds: 10_000,
    log,
  } as unknown as SubscriptionParts;
  const watch = { organizationId: organization, kinds: new Set(['STEP'] as const) };
  const admit = () => Promise.resolve({ caller, expiresAt: Date.now() + 100_000 });
  const subscription = new Subscription(parts, { watch, caller, position: null, admit }, () => undefined);
  const outlet: Outlet = {
    gone: gone.signal,
    write: (text) => {
      written.push(...(/^(?:kept|lost) \d/.exec(text.toString()) ?? []));
      if (written.length === 1) {
        caller = viewerOf(kept);
        subscription.recheck();
      }
      return Promise.resolve();
    },
    end: () => undefined,
  };
  await subscription.run(outlet);
  expect(written).toEqual(['lost 1', 'kept 2', 'kept 4']);
});

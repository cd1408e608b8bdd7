import { pause } from '@davit/base';
import type { Received } from '@davit/client';
import { statement, type Queryable } from '@davit/db';

/** Collects events in the background until closed. */
export class TestSubscriber {
  readonly received: Received[] = [];
  readonly #leave = new AbortController();
  readonly ended: Promise<void>;

  constructor(follow: (signal: AbortSignal) => AsyncGenerator<Received>) {
    this.ended = this.#listen(follow(this.#leave.signal));
  }

  async #listen(events: AsyncGenerator<Received>): Promise<void> {
    try {
      for await (const one of events) this.received.push(one);
    } catch (error) {
      if (!this.#leave.signal.aborted) throw error;
    }
  }

  async until(condition: (received: readonly Received[]) => boolean): Promise<void> {
    const end = Date.now() + 20_000;
    while (!condition(this.received)) {
      if (Date.now() > end) throw new Error(`waited in vain; heard ${JSON.stringify(this.received.slice(-20))}`);
      await pause(2);
    }
  }

  async close(): Promise<void> {
    this.#leave.abort();
    await this.ended;
  }
}

/** Returns a condition that holds once an event with these members was received. */
export const has =
  (event: string, data: object = {}) =>
  (received: readonly Received[]): boolean =>
    received.some(
      (one) => one.event === event && Object.entries(data).every(([key, value]) => Reflect.get(one.data, key) === value),
    );

export interface TestEnvironmentIds {
  readonly organizationId: string;
  readonly projectId: string;
  readonly environmentId: string;
}

const fact = { execution_number: null, action: 'DEPLOY', status: 'QUEUED', origin: 'API', change: 'QUEUED' };
const insert = statement(
  'test_stream_event',
  `insert into stream_event (organization_id, project_id, environment_id, kind, fact) values ($1, $2, $3, 'QUEUE', $4)`,
);

/** Writes an event with a recognizable name, as a trigger would. */
export async function write(
  db: Queryable,
  { organizationId, projectId, environmentId }: TestEnvironmentIds,
  name: string,
): Promise<void> {
  await db.run(insert, [organizationId, projectId, environmentId, { ...fact, triggered_by: name }]);
}

/** Returns the names of the received events that `write` wrote. */
export function namesOf(received: readonly Received[]): string[] {
  return received.flatMap(({ event, data }) => (event === 'QUEUE' ? [data.triggered_by] : []));
}
